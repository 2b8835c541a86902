// One cell of the compatibility matrix: a server, over a transport, in a revision, with all the features it has there.
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect, type NodeConnectTarget } from "../../src/serve/connect-node.js";
import { soaking } from "../support/soak.js";
import { ANSWERING, type Feature, use } from "./features.js";

export const HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const STATELESS = "2026-07-28";
/** Without a pin; the client finds out. */
export const FOUND = "found out";

/** True in `npm run matrix` and with SOAK=1: cells that only repeat what another one shows are run as well. */
export const WHOLE = process.env["MCP_MATRIX"] === "whole" || soaking;

export interface Row {
  readonly server: string;
  /** As the matrix shows it: `stdio`, `http`, `http, JSON` … */
  readonly transport: string;
  readonly kind: "stdio" | "http" | "sse" | "memory";
  /** What the client finds out by itself. */
  readonly newest: string;
  /** What it can be pinned to. */
  readonly revisions: readonly string[];
  features(revision: string): readonly Feature[];
}

export interface Opened {
  readonly url: string;
  close(): Promise<void>;
}

/** Tests of every cell of a row; `target` is asked for each of them. */
export function row(about: Row, target: () => NodeConnectTarget | Promise<NodeConnectTarget>): void {
  const { server, transport, kind, newest, revisions } = about;
  describe(`${server} over ${transport}`, () => {
    it.each([FOUND, ...revisions])("%s", async (pin) => {
      const options = pin === FOUND ? ANSWERING : { ...ANSWERING, revision: pin };
      const client = await connect(await target(), options);
      try {
        const revision = pin === FOUND ? newest : pin;
        expect([client.revision, client.transport]).toEqual([revision, kind]);
        await use(client, about.features(revision));
      } finally {
        await client.close();
      }
    });
  });
}

/**
 * Pins of a row: all of them in the whole matrix, else what no other row shows. Each revision is spoken to every server
 * over one transport at least; those over stdio cost a process each.
 */
export function someOf(revisions: readonly string[], ...usual: readonly string[]): readonly string[] {
  return WHOLE ? revisions : usual;
}

/** A program of these tests over stdio. */
export function program(name: string): NodeConnectTarget {
  return { command: process.execPath, args: [fileURLToPath(new URL(`servers/${name}`, import.meta.url))] };
}

/** Closes a client whatever comes of `work`. */
export async function withClient<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
