// Reviews what mounted servers offer, item by item: what its texts try to do, and what is not as a person approved it.
import { hash } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Change, Items } from "@secure-local/inspection/drift";
import type { Finding, Offering, Peer, RawItem } from "@secure-local/inspection/finding";
import type { Client } from "@secure-local/mcp/client";
import { itemFault, mountedName, type Offer, readOffer } from "@secure-local/mcp/gateway";
import { ExactNumber, LocalError } from "@secure-local/mcp/jsonrpc";
import type { Work } from "../audit/encoded-secrets.js";
import { makeFolder, readShortFile } from "../audit/owned-files.js";
import { holdsKnownDigits } from "../audit/number-secrets.js";
import {
  atOnce,
  inTurns,
  knowsSecrets,
  MOST_LOOKED_AT,
  replacingKnown,
  secretsVersion,
} from "../audit/secret-shapes.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { keepShortNames, noteShortNames, type ShortName } from "../policy/host-matcher.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { changesOf, type LockedPlugin, type PluginLock, readLock, serverLockFile } from "./plugin-lock.js";
import { CHANGED } from "./server-health.js";
import { serverLaunch } from "./server-launch.js";

// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.

/** Kinds of items whose lists a server has, and the key that names each. */
const LISTS = [
  ["tool", "tools", "name"],
  ["prompt", "prompts", "name"],
  ["resource", "resources", "uri"],
  ["template", "resourceTemplates", "uriTemplate"],
] as const;

/** By what was looked through already: which values were known then. */
const lookedThrough = new WeakMap<object, number>();

/** A value with the names of known secrets instead of their values, in its texts and in the names of its members. */
export function withoutSecrets<T>(value: T): T {
  return atOnce(withoutSecretsInParts(value));
}

/** The same in parts: a server's lists may be long. */
function* withoutSecretsInParts<T>(value: T): Work<T> {
  if (!knowsSecrets()) return value;
  const version = secretsVersion();
  if (typeof value === "object" && value !== null && lookedThrough.get(value) === version) return value;
  const cleaned = (yield* withNames(value)) as T;
  if (typeof cleaned === "object" && cleaned !== null) lookedThrough.set(cleaned, version);
  return cleaned;
}

function* withNames(value: unknown): Work<unknown> {
  if (typeof value === "string") return yield* replacingKnown(value);
  if (typeof value === "number") return holdsKnownDigits(value) ? 0 : value;
  if (value instanceof ExactNumber) return holdsKnownDigits(value.toString()) ? 0 : value;
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  yield A_MEMBER;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const each of value as readonly unknown[]) list.push(yield* withNames(each));
    return list;
  }
  const members: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value))
    members.push([yield* replacingKnown(key), yield* withNames(member)]);
  return Object.fromEntries(members);
}

/** What a list or an object costs, as characters are counted that secrets are looked for in. */
const A_MEMBER = 16;

/**
 * All that a person approves of a server: each item whole, what it says of itself, and how it is started. A secret that a server puts
 * into its definitions is in none of it: it would stand in the lock, on screens and in every list.
 */
export function serverItems(said: Offer, launch: unknown): Items {
  const offer = withoutSecrets(said);
  const items = new Map<string, unknown>([
    ["launch", launch],
    ["server", { capabilities: offer.capabilities, instructions: offer.instructions, ...saidOfItself(offer) }],
  ]);
  for (const [kind, member, key] of LISTS) {
    for (const item of offer[member] as readonly unknown[]) {
      const name = `${kind} ${nameOf(item, key)}`;
      const before = items.get(name);
      // Which of them a call would reach is the server's to choose: a person is shown all, and none is offered.
      if (before === undefined) items.set(name, item);
      else items.set(name, { [TWICE]: isTwice(before) ? [...before[TWICE], item] : [before, item] });
    }
  }
  return items;
}

/** What holds things of one name, which has no name itself. */
const TWICE = "offered more than once";
type Twice = { readonly [TWICE]: readonly unknown[] };

function isTwice(item: unknown): item is Twice {
  return isObject(item) && Array.isArray(item[TWICE]) && Object.keys(item).length === 1;
}

function nameOf(item: unknown, key: string): string {
  const name = isObject(item) ? item[key] : undefined;
  return typeof name === "string" ? name : `(no ${key}: ${JSON.stringify(name) ?? "there is none"})`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Why something of a server's lists can be offered to nobody, as the end of a sentence; undefined where it can. */
function unfitReason(item: string, content: unknown): string | undefined {
  const kind = LISTS.find(([each]) => item.startsWith(`${each} `))?.[0];
  if (kind === undefined) return undefined;
  if (isTwice(content)) return "its server offers more than one of this name";
  const fault = itemFault(kind, content);
  return fault && `it is none that could be listed (${fault})`;
}

/** What was approved of what a server calls itself. */
interface ApprovedInfo {
  readonly info?: Omit<NonNullable<Offer["server"]>, "version">;
}

/** What it calls itself, but for its version: a remote server has another one with each mend, and its things are held one by one. */
function saidOfItself({ server }: Offer): ApprovedInfo {
  if (server === undefined) return {};
  const { version: _, ...info } = server;
  return { info };
}

/** The tools of other servers, by their own names and those outside: what texts of this one must not speak of. */
export function serverPeers(approved: ReadonlyMap<string, Items>, own: string): Peer[] {
  return [...approved].flatMap(([server, items]) => (server === own ? [] : [peerOf(server, items)]));
}

/** Each is a peer of all the others: made once. */
const peersMade = new WeakMap<Items, Peer>();

function peerOf(server: string, items: Items): Peer {
  const known = peersMade.get(items);
  if (known?.server === server) return known;
  const tools = [...items].flatMap(([item, content]) => {
    if (!item.startsWith("tool ")) return [];
    const name = item.slice("tool ".length);
    const { description } = isObject(content) ? content : {};
    const about = typeof description === "string" ? description : undefined;
    return [name, `${server}__${name}`].map((each) => ({ name: each, description: about }));
  });
  const peer = { server, tools };
  peersMade.set(items, peer);
  return peer;
}

/** What was approved does not change: it is put together once. */
const offersMade = new WeakMap<Items, Offer>();

/** What was approved, as it is offered: nothing has to be started for it. */
export function approvedOffer(approved: Items): Offer {
  const known = offersMade.get(approved) ?? madeOffer(approved);
  offersMade.set(approved, known);
  return known;
}

function madeOffer(approved: Items): Offer {
  const { capabilities = {}, instructions, info } = (approved.get("server") ?? {}) as Partial<Offer> & ApprovedInfo;
  const listed = (kind: string): unknown[] =>
    [...approved].flatMap(([name, item]) =>
      name.startsWith(`${kind} `) && unfitReason(name, item) === undefined ? [item] : [],
    );
  return {
    tools: listed("tool") as Offer["tools"],
    prompts: listed("prompt") as Offer["prompts"],
    resources: listed("resource") as Offer["resources"],
    resourceTemplates: listed("template") as Offer["resourceTemplates"],
    capabilities,
    instructions,
    server: info === undefined ? undefined : { ...info, version: "" },
    hints: { ttlMs: 0, cacheScope: "private" },
  };
}

/** As an inspection reads it. */
export function serverOffering(server: string, said: Offer): Offering {
  const offer = withoutSecrets(said);
  const raw = (items: readonly unknown[]): readonly RawItem[] => items.filter(isObject);
  return {
    server,
    prefixed: true,
    instructions: offer.instructions,
    tools: raw(offer.tools),
    prompts: raw(offer.prompts),
    resources: raw(offer.resources),
    resourceTemplates: raw(offer.resourceTemplates),
  };
}

/**
 * What was approved of the servers of a policy; empty where nothing was. Whoever decides about a tool of a server knows it from here,
 * and so both of its names from then on. @throws LockError
 */
export function approvedServers({ file }: Policy): PluginLock {
  if (file === undefined) return new Map();
  const lock: PluginLock = readLock(serverLockFile(file)) ?? new Map();
  noteShortNames(serverLockFile(file), shortNames(lock));
  return lock;
}

/** Nothing but this is served by a policy any more: rules know no other names. */
export function forgetOtherNames({ file }: Policy, approved: PluginLock): void {
  if (file !== undefined) keepShortNames(serverLockFile(file), shortNames(approved));
}

function shortNames(lock: PluginLock): ShortName[] {
  return [...lock].flatMap(([server, { approved }]) =>
    [...approved.keys()].flatMap((item): ShortName[] => {
      const [, , own] = NAMED_OUTSIDE.exec(item) ?? [];
      const names = own === undefined ? undefined : ([mountedName(server, own), `${server}__${own}`] as const);
      return names === undefined || names[0] === names[1] ? [] : [names];
    }),
  );
}

/** Items that have a name outside, and not their own one. */
const NAMED_OUTSIDE = /^(tool|prompt) (.*)$/s;

/** By the kind and name outside, as in `tool notes__read`: the items of a server that would be called so. */
function itemsOutside(server: string, items: Iterable<string>): Map<string, string[]> {
  const outside = new Map<string, string[]>();
  for (const item of new Set(items)) {
    const [, kind, own] = NAMED_OUTSIDE.exec(item) ?? [];
    if (own === undefined) continue;
    const name = `${kind} ${mountedName(server, own)}`;
    outside.set(name, [...(outside.get(name) ?? []), item]);
  }
  return outside;
}

/**
 * What has the name outside that another of its server has, by item. None of them is offered: rules could not tell them apart. But
 * what was approved is not taken away by what was not.
 */
export function calledAlike(
  server: string,
  items: Iterable<string>,
  isApproved: (item: string) => boolean,
): Map<string, string> {
  const alike = new Map<string, string>();
  for (const [name, same] of itemsOutside(server, items)) {
    if (same.length === 1) continue;
    for (const item of same) {
      const other = same.find((each) => each !== item && (isApproved(each) || !isApproved(item)));
      if (other !== undefined) alike.set(item, `${other} would be called the same outside, ${name.split(" ")[1]}`);
    }
  }
  return alike;
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
const FOR_OTHERS = "its server does not offer it any more, or not to a client that declares no ";

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

type Inspected = (server: string, offer: Offer, peers?: readonly Peer[]) => readonly Finding[];

/** What finds something in an offer, loaded with its first use: of what was approved the findings are kept, and all want to start fast. */
export async function offerInspection(): Promise<Inspected> {
  const { inspectOffering } = await import("@secure-local/inspection/inspect");
  return (server, offer, peers) => inspectOffering(serverOffering(server, offer), peers);
}

/** Compares what a server offers now with what was approved of it. */
export function reviewServer(
  grant: ServerGrant,
  offer: Offer,
  given: {
    readonly locked: LockedPlugin | undefined;
    /** How it was started. Default: as it would be now. */
    readonly launch?: unknown;
    /** What the inspection found in this offer; see `offerInspection`. */
    readonly found: readonly Finding[];
    /** What it may ask and this connection does not declare; default: nothing. */
    readonly lacking?: readonly string[];
  },
): ServerReview {
  const { locked, found: all, launch = serverLaunch(grant), lacking = [] } = given;
  const missing = lacking.length === 0 ? NOT_OFFERED : offeredToOthers(lacking);
  const items = serverItems(offer, launch);
  const accepted = new Set(grant.accept);
  const findings = all.filter(({ id }) => !accepted.has(id));
  const changes = changesOf(locked, items, launch);
  const withheld = new Map<string, string>();
  const isApproved = (item: string): boolean => locked?.approved.has(item) === true;
  const alike = calledAlike(grant.name, [...items.keys(), ...(locked?.approved.keys() ?? [])], isApproved);
  const whole = changes.find(({ item, kind }) => (item === "launch" || item === "server") && kind !== "removed");
  for (const item of items.keys()) {
    const change = changes.find((each) => each.item === item && each.kind !== "removed") ?? whole;
    const found = findings.find(({ tier, kind, item: name }) => tier === "hard" && `${kind} ${name}` === item);
    const own = item.slice(item.indexOf(" ") + 1);
    const unfit = unfitReason(item, items.get(item)) ?? alike.get(item);
    if (unfit !== undefined) withheld.set(item, unfit);
    else if (item.includes(" ") && (own === "" || cleanLine(own) !== own)) withheld.set(item, UNCLEAN);
    else if (change !== undefined) withheld.set(item, `${CHANGED} (${change.item} was ${change.kind})`);
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

/** Rejects with what reading them rejects with, and with UNCOMPARED where it takes longer, or too much to look for secrets in them. */
export async function comparedOffer(server: string, client: Client): Promise<Offer> {
  const offer = await withinTime(server, readOffer(client));
  try {
    return await inTurns(withoutSecretsInParts(offer), MOST_LOOKED_AT);
  } catch (error) {
    throw uncompared(server, "what it offers is too much to look for secrets in", error);
  }
}

function uncompared(server: string, why: string, cause?: unknown): LocalError {
  const brief = `${why}, so it could not be compared with what was approved; its connection is closed, and the next call starts another`;
  return notUsed(server, brief, cause);
}

/** Why a server that was started is not used, which its callers may know. */
export function notUsed(server: string, brief: string, cause?: unknown): LocalError {
  return new LocalError("UNCOMPARED", `${server}: ${brief}`, { brief, cause });
}

async function withinTime<T>(server: string, reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const reason = `it did not list all that it offers within ${READ_MS / 1_000} seconds`;
    timer = setTimeout(() => reject(uncompared(server, reason)), READ_MS);
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
const MOST_BYTES = 1024 * 1024;

/** What is inspected of one server: what was approved of it, and the tools of those beside it. */
export interface Inspectable {
  readonly offer: Offer;
  readonly peers: readonly Peer[];
}

/** What was approved of the servers that the policy has, each with the tools of the others. */
export function besideEachOther(policy: Policy, approved: PluginLock): ReadonlyMap<string, Inspectable> {
  const all = [...approved].filter(([name]) => policy.servers.get(name)?.enabled === true);
  const peers = all.map(([name, its]) => peerOf(name, its.approved));
  return new Map(
    all.map(([name, its], at) => [name, { offer: approvedOffer(its.approved), peers: peers.toSpliced(at, 1) }]),
  );
}

/** By the server's name. */
export type FindingsOf = ReadonlyMap<string, readonly Finding[]>;

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

  /**
   * What the inspection finds in what servers offer beside each other. One file has it for all of them: each is judged by what stands
   * beside it, so that what was found in one holds as long as none of the others changes.
   */
  async of(servers: ReadonlyMap<string, Inspectable>): Promise<FindingsOf> {
    if (this.#folder === undefined) return inspected(servers);
    const file = `${this.#folder}/${this.#key(servers)}.json`;
    const kept = this.#read(file, servers);
    if (kept !== undefined) return kept;
    const found = await inspected(servers);
    this.#write(file, found);
    return found;
  }

  /** In another order of keys it is found anew. Each is a peer of all others, and is written once. */
  #key(servers: ReadonlyMap<string, Inspectable>): string {
    const numbers = new Map<Peer, number>();
    const lines = [this.#program];
    for (const [name, { offer, peers }] of servers) {
      for (const peer of peers) {
        if (numbers.has(peer)) continue;
        numbers.set(peer, numbers.size);
        lines.push(JSON.stringify(peer));
      }
      lines.push(JSON.stringify([serverOffering(name, offer), peers.map((peer) => numbers.get(peer))]));
    }
    // Texts without line ends.
    return hash("sha256", lines.join("\n"));
  }

  #read(file: string, servers: ReadonlyMap<string, Inspectable>): FindingsOf | undefined {
    try {
      const kept = new Map(Object.entries(JSON.parse(unsealed(file, readShortFile(file, MOST_BYTES) ?? "")) as object));
      for (const name of servers.keys()) if (!Array.isArray(kept.get(name))) return undefined;
      return kept as FindingsOf;
    } catch {
      // There is none, or it is none.
      return undefined;
    }
  }

  /** Nobody needs it: what cannot be kept is found anew. */
  #write(file: string, found: FindingsOf): void {
    const text = sealed(file, JSON.stringify(Object.fromEntries(found)));
    if (Buffer.byteLength(text) > MOST_BYTES) return;
    try {
      makeFolder(dirname(file));
      this.#sweep(dirname(file));
      const draft = `${file}.${process.pid}`;
      fs.rmSync(draft, { force: true });
      fs.writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
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

/** In front of what is kept, in a line: a file that was damaged, or belongs to other texts, could hold back a finding. */
function sealed(file: string, text: string): string {
  return `${hash("sha256", `${basename(file)}\n${text}`)}\n${text}`;
}

/** @throws where it is not as it was written */
function unsealed(file: string, whole: string): string {
  const text = whole.slice(whole.indexOf("\n") + 1);
  if (sealed(file, text) !== whole) throw new Error("it is not as it was written");
  return text;
}

async function inspected(servers: ReadonlyMap<string, Inspectable>): Promise<FindingsOf> {
  const inspect = await offerInspection();
  return new Map([...servers].map(([name, { offer, peers }]) => [name, inspect(name, offer, peers)]));
}
