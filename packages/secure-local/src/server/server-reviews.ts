// Reviews what mounted servers offer: what its texts try to do, and what is not as a person approved it.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "@secure-local/mcp/client";
import { type Offer, readOffer } from "@secure-local/mcp/gateway";
import { inTurns, MOST_LOOKED_AT } from "../audit/secret-shapes.js";
import { makeFolder } from "../audit/make-folder.js";
import { canonicalJson, type Change } from "@secure-local/inspection/drift";
import type { Finding, Peer } from "@secure-local/inspection/finding";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { inspectOffering } from "@secure-local/inspection/inspect";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { type LockedPlugin, type PluginLock, readLock } from "./plugin-lock.js";
import { changesOf } from "./plugin-reviews.js";
import { serverItems, serverOffering, unfitReason, withoutSecretsInParts } from "./server-items.js";
import { serverLaunch } from "./server-launch.js";

/** Beside the policy, like the lock of its plugins and in the same form. */
export function serverLockFile(policyFile: string): string {
  return `${policyFile}.servers.lock`;
}

/** What was approved of the servers of a policy; empty where nothing was. @throws LockError */
export function approvedServers({ file }: Policy): PluginLock {
  return (file === undefined ? undefined : readLock(serverLockFile(file))) ?? new Map();
}

export interface ServerReview {
  readonly server: string;
  /** Without those the policy accepts. */
  readonly findings: readonly Finding[];
  readonly changes: readonly Change[];
  /** What is not offered, by kind and its server's own name as in `tool create_issue`, and why, as the end of a sentence. */
  readonly withheld: ReadonlyMap<string, string>;
}

/** Cleaned, it would be called like something else. */
const UNCLEAN = "its name is empty or holds characters that nobody sees";

/** Of what was approved and is in none of its lists: some servers list less to clients that can be asked less. */
const NOT_OFFERED = "its server does not offer it to this client, or not any more";
const FOR_OTHERS = "its server does not offer it to a client that declares no ";

/** The same of one that is missing where less is declared than at its review. */
function offeredToOthers(lacking: readonly string[]): string {
  return FOR_OTHERS + lacking.join(" and no ");
}

/** Whether the reason is that something is in no list: nobody has changed it. */
export function isMissing(reason: string): boolean {
  return reason === NOT_OFFERED || dependsOnClient(reason);
}

/** Whether the reason is what the client declares, about which nobody has to do anything. */
export function dependsOnClient(reason: string): boolean {
  return reason.startsWith(FOR_OTHERS);
}

/** Compares what a server offers now with what was approved of it. */
export function reviewServer(
  grant: ServerGrant,
  offer: Offer,
  given: {
    readonly locked: LockedPlugin | undefined;
    /** How it was started. Default: as it would be now. */
    readonly launch?: unknown;
    readonly peers?: readonly Peer[];
    /** What the inspection found in this offer. Default: it is inspected now. */
    readonly found?: readonly Finding[];
    /** What it may ask and this connection does not declare; default: nothing. */
    readonly lacking?: readonly string[];
  },
): ServerReview {
  const { locked, peers = [], launch = serverLaunch(grant), lacking = [] } = given;
  const missing = lacking.length === 0 ? NOT_OFFERED : offeredToOthers(lacking);
  const { found = inspectOffering(serverOffering(grant.name, offer), peers) } = given;
  const items = serverItems(offer, launch);
  const accepted = new Set(grant.accept);
  const findings = found.filter(({ id }) => !accepted.has(id));
  const changes = changesOf(locked, items, launch);
  const withheld = new Map<string, string>();
  const whole = changes.find(({ item, kind }) => (item === "launch" || item === "server") && kind !== "removed");
  for (const item of items.keys()) {
    const change = changes.find((each) => each.item === item && each.kind !== "removed") ?? whole;
    const found = findings.find(({ tier, kind, item: name }) => tier === "hard" && `${kind} ${name}` === item);
    const own = item.slice(item.indexOf(" ") + 1);
    const unfit = unfitReason(item, items.get(item));
    if (unfit !== undefined) withheld.set(item, unfit);
    else if (item.includes(" ") && (own === "" || cleanLine(own) !== own)) withheld.set(item, UNCLEAN);
    else if (change !== undefined)
      withheld.set(item, `it is not as it was approved (${change.item} was ${change.kind})`);
    else if (found !== undefined) withheld.set(item, `its description looks like an attack on the model (${found.id})`);
  }
  for (const { item, kind } of changes)
    if (kind === "removed") withheld.set(item, unfitReason(item, locked?.approved.get(item)) ?? missing);
  return { server: grant.name, findings, changes, withheld };
}

// Reads what a server lists, to be compared with what was approved of it: within a time, and without the values of secrets.

/**
 * All of a server's lists, every page. Each request has a time limit of its own, but a server decides how many pages there are, and
 * until the last one is read it is taken for what it was before. Honest servers of a thousand tools take a second.
 */
const READ_MS = 30_000;

/** @throws Error when it takes longer, or more than may be done to look for secrets in it */
export async function comparedOffer(server: string, client: Client): Promise<Offer> {
  const offer = await withinTime(server, readOffer(client));
  return inTurns(withoutSecretsInParts(offer), MOST_LOOKED_AT);
}

async function withinTime<T>(server: string, reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const reason = `${server} did not list all that it offers within ${READ_MS / 1_000} seconds, so it could not be compared with what was approved; its connection is closed`;
    timer = setTimeout(() => reject(new Error(reason)), READ_MS);
    timer.unref();
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Keeps what the inspection found in texts that were approved: they are read at each start, and reading them costs more than
// all the rest of it.

/** A file that was not used for so long is of a text or a program there is no more. */
const IDLE_MS = 30 * 24 * 60 * 60_000;
/** More findings than this are found anew each time. */
const MOST_BYTES = 256 * 1024;

/** Findings by the very texts and the very program that found them, in a folder that no tool reaches. */
export class KeptFindings {
  readonly #folder: string | undefined;
  readonly #program: string;
  #swept = false;

  /** `folder`: undefined keeps nothing. `version`: of the program; what its file is like counts too, so that no build trusts another. */
  constructor(folder: string | undefined, version: string) {
    this.#folder = folder;
    const status = fs.statSync(process.argv[1] ?? "", { throwIfNoEntry: false });
    this.#program = JSON.stringify([version, status?.size, status?.mtimeMs, status?.ino]);
  }

  /** What the inspection finds in what a server offers beside others. */
  of(server: string, offer: Offer, peers: readonly Peer[] = []): readonly Finding[] {
    const offering = serverOffering(server, offer);
    if (this.#folder === undefined) return inspectOffering(offering, peers);
    const key = createHash("sha256")
      .update(`${this.#program}\n${canonicalJson(offering)}\n${canonicalJson(peers)}`)
      .digest("hex");
    const file = join(this.#folder, `${key}.json`);
    const kept = this.#read(file);
    if (kept !== undefined) return kept;
    const found = inspectOffering(offering, peers);
    this.#write(file, found);
    return found;
  }

  #read(file: string): readonly Finding[] | undefined {
    try {
      const kept = JSON.parse(fs.readFileSync(file, "utf8")) as unknown;
      return Array.isArray(kept) ? (kept as Finding[]) : undefined;
    } catch {
      // There is none, or it is none.
      return undefined;
    }
  }

  /** Nobody needs it: what cannot be kept is found anew. */
  #write(file: string, found: readonly Finding[]): void {
    const text = JSON.stringify(found);
    if (text.length > MOST_BYTES) return;
    try {
      makeFolder(dirname(file));
      this.#sweep(dirname(file));
      const draft = `${file}.${process.pid}`;
      fs.writeFileSync(draft, text, { mode: 0o600 });
      fs.renameSync(draft, file);
    } catch {
      // A full disk, or a folder that cannot be made.
    }
  }

  #sweep(folder: string): void {
    if (this.#swept) return;
    this.#swept = true;
    for (const name of fs.readdirSync(folder)) {
      const path = join(folder, name);
      const { mtimeMs = Date.now() } = fs.statSync(path, { throwIfNoEntry: false }) ?? {};
      if (Date.now() - mtimeMs > IDLE_MS) fs.rmSync(path, { force: true });
    }
  }
}
