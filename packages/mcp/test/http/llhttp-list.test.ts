// llhttp's own cases, at both ends: no request of them reaches a handler, and no response of them passes for an answer.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Server } from "../../src/server/server.js";
import { linkTo } from "../http-client/transport-fixture.js";
import { rawServer } from "../http-client/raw-server.js";
import { publicList } from "../support/public-list.js";
import { sampled } from "../support/soak.js";
import { raw, startOnce, statuses } from "./http-fixture.js";

interface Case {
  readonly name: string;
  readonly bytes: Buffer;
}

const folder = publicList("llhttp");

function casesOf(kind: "request" | "response"): Case[] {
  if (folder === undefined) return [];
  const place = join(folder, "test", kind);
  return readdirSync(place).flatMap((file) => {
    const blocks = readFileSync(join(place, file), "utf8").matchAll(/^```http\n([\s\S]*?)\n```$/gm);
    return [...blocks].map(([, text = ""], index) => ({ name: `${file} ${index + 1}`, bytes: bytesOf(text) }));
  });
}

/** Their notation: lines end in CRLF, a backslash joins lines or writes a character. */
function bytesOf(text: string): Buffer {
  const characters: Record<string, string> = { r: "\r", n: "\n", t: "\t", f: "\f" };
  const written = text
    .replace(/\\\n/g, "")
    .replace(/\n/g, "\r\n")
    .replace(/\\([rntf])/g, (_, name: string) => characters[name] ?? "")
    .replace(/\\x([0-9a-fA-F]{1,2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\([0-7]{1,3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(written, "latin1");
}

describe.skipIf(folder === undefined)("llhttp's cases", () => {
  const server = new Server({ name: "t", version: "1" });
  let calls = 0;
  server.tool("count", { run: () => ++calls });
  const served = startOnce(server);
  const requests = casesOf("request");
  const responses = casesOf("response");

  it("are there", () => {
    expect(requests.length).toBeGreaterThan(100);
    expect(responses.length).toBeGreaterThan(50);
  });

  it("as requests are refused, at our address too", async () => {
    const { host } = new URL(served.url);
    for (const { name, bytes } of sampled(requests, 3)) {
      const text = bytes.toString("latin1");
      const ours = text.replace(/^([A-Z]+) \S+ /, "$1 /mcp ").replace(/^Host: .*$/im, `Host: ${host}`);
      for (const each of [text, ours]) {
        const { text: said } = await raw(served.url, Buffer.from(each, "latin1"), { end: true });
        for (const status of statuses(said))
          expect([400, 403, 404, 405, 406, 413, 415, 417, 431, 501, 505], name).toContain(status);
      }
    }
    expect(calls).toBe(0);
  });

  it("as responses are no answer to a call, and each call ends", async () => {
    for (const { name, bytes } of sampled(responses, 3)) {
      const { url, close } = await rawServer((socket) => socket.end(bytes));
      const { link, ask } = await linkTo(url);
      const { message, error } = await ask("ping");
      expect([name, message]).toEqual([name, undefined]);
      expect(error?.code).toMatch(/^[A-Z_]+$/);
      await link.close();
      await close();
    }
  });
});
