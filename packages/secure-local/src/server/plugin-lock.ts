// The lock of plugins: what a person approved of each, kept beside the policy. Written whole or not at all, for its owner only.
import { hash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { canonicalJson, type Change, driftOf, type Items } from "@secure-local/inspection/drift";
import { readShortFile, whyUnread } from "../audit/owned-files.js";

/** What is locked of one plugin. */
export interface LockedPlugin {
  /** By kind and name, and `launch`. */
  readonly approved: Items;
  /** Once approved, gone when the lock was written last: what comes back under such a name is approved anew. */
  readonly removed: Items;
}

/** By the plugin's name. */
export type PluginLock = ReadonlyMap<string, LockedPlugin>;

/** A lock that cannot be read; the message says what to do. */
export class LockError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LockError";
  }
}

/** A hundred plugins with a hundred tools each. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of another version means: what was approved is hashed in another way, so it says nothing of what is started now. */
const VERSION = 2;

type Json = Readonly<Record<string, unknown>>;

export function lockFileOf(policyFile: string): string {
  return `${policyFile}.lock`;
}

/** That of the policy's servers: beside the one of its plugins, and in the same form. */
export function serverLockFile(policyFile: string): string {
  return `${policyFile}.servers.lock`;
}

/** Undefined where there is none: then nothing is locked. @throws LockError */
export function readLock(file: string): PluginLock | undefined {
  const text = lockText(file);
  return text === undefined ? undefined : parseLock(file, text);
}

/** What stands in the file; undefined where there is none. @throws LockError */
export function lockText(file: string): string | undefined {
  try {
    const text = readShortFile(file, MAX_BYTES);
    if (text !== undefined) return text;
    throw new LockError(
      `${file} is no regular file, or longer than ${MAX_BYTES} bytes; look at it, or ${lockAdvice(file)}.`,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error instanceof LockError
      ? error
      : new LockError(`${file} cannot be read: ${whyUnread(error)}; look at it, or ${lockAdvice(file)}.`);
  }
}

/** The command that approves what is beside a policy, and of that a plugin where one is named. */
export function lockCommand(policyFile: string, plugin = ""): string {
  const file = /^[\w@%+=:,./\\-]*$/.test(policyFile) ? policyFile : JSON.stringify(policyFile);
  return `mcp-secure-local plugins lock ${plugin === "" ? "" : `${plugin} `}--policy ${file}`;
}

/** The one that writes a lock anew. */
export function lockCommandFor(lockFile: string): string {
  return lockCommand(lockFile.slice(0, -lockFileOf("").length));
}

/** The end of the name of what was approved of servers. */
const OF_SERVERS = lockFileOf(".servers");

/** What a person does about a lock that cannot be used. That of servers is only written where it can be read. */
function lockAdvice(lockFile: string): string {
  if (!lockFile.endsWith(OF_SERVERS)) return `write it anew: ${lockCommandFor(lockFile)}`;
  const policyFile = lockFile.slice(0, -OF_SERVERS.length);
  const review = lockCommand(policyFile).replace("plugins lock", "servers review");
  return `move it away and approve the servers anew: ${review}`;
}

/** @throws LockError naming `file` */
export function parseLock(file: string, text: string): PluginLock {
  try {
    const read = mapping(JSON.parse(text));
    const { version } = read;
    if (typeof version === "number" && version >= 1 && version < VERSION)
      throw new LockError(
        `${file} was written by an earlier version, whose hashes did not cover all of a plugin; look at it, or ${lockAdvice(file)}.`,
      );
    if (version !== VERSION) throw new TypeError("it has another version");
    const plugins = Object.entries(mapping(read["plugins"]));
    return new Map(plugins.map(([name, locked]) => [name, lockedPlugin(mapping(locked))]));
  } catch (error) {
    if (error instanceof LockError) throw error;
    const reason = (error as Error).message;
    throw new LockError(`${file} is damaged (${reason}); look at it, or ${lockAdvice(file)}.`);
  }
}

/** @throws the system's errors */
export function writeLock(file: string, lock: PluginLock): void {
  const plugins = Object.fromEntries(
    [...lock].map(([name, { approved, removed }]) => [name, { approved: sealed(approved), removed: sealed(removed) }]),
  );
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  const fd = fs.openSync(draft, "wx", 0o600);
  try {
    fs.writeFileSync(fd, `${JSON.stringify({ version: VERSION, plugins }, null, 2)}\n`);
    fs.fsyncSync(fd);
    fs.renameSync(draft, file);
  } finally {
    fs.closeSync(fd);
    fs.rmSync(draft, { force: true });
  }
}

/** SHA-256 over the canonical JSON (RFC 8785) of a value, in hexadecimal. */
export function itemDigest(value: unknown): string {
  return hash("sha256", canonicalJson(value));
}

/** What is locked once this is approved: what is gone is remembered. `only`: of all that is offered these items alone are approved. */
export function relocked(before: LockedPlugin | undefined, offered: Items, only?: ReadonlySet<string>): LockedPlugin {
  const [removed, approved] = [[...(before?.removed ?? [])], [...(before?.approved ?? [])]];
  if (only === undefined || only.size === 0)
    return { approved: offered, removed: new Map([...removed, ...approved].filter(([item]) => !offered.has(item))) };
  const isAgreed = ([item]: readonly [string, unknown]): boolean => only.has(item);
  const fresh = new Map([...offered].filter(isAgreed));
  const gone = approved.filter((each) => isAgreed(each) && !offered.has(each[0]));
  return {
    approved: new Map([...approved.filter((each) => !gone.includes(each)), ...fresh]),
    removed: new Map([...removed.filter(([item]) => !fresh.has(item)), ...gone]),
  };
}

/** What differs from the lock: items, and how it is started. */
export function changesOf(locked: LockedPlugin | undefined, items: Items, launch: unknown): readonly Change[] {
  const offered = new Map([...items, ["launch", launch] as const]);
  if (locked === undefined) return driftOf(new Map(), offered);
  const removed = new Map([...locked.removed].filter(([item]) => offered.has(item)));
  const returned = driftOf(removed, offered).filter(({ item }) => removed.has(item));
  return driftOf(locked.approved, offered).map((change) => {
    const back = returned.find(({ item }) => item === change.item);
    if (change.kind !== "added" || !removed.has(change.item)) return change;
    return { ...change, lines: ["it was approved once, was removed, and is back", ...(back?.lines ?? [])] };
  });
}

function sealed(items: Items): Json {
  return Object.fromEntries([...items].map(([item, content]) => [item, { sha256: itemDigest(content), content }]));
}

function lockedPlugin(locked: Json): LockedPlugin {
  return { approved: opened(mapping(locked["approved"])), removed: opened(mapping(locked["removed"])) };
}

function opened(items: Json): Items {
  return new Map(
    Object.entries(items).map(([item, value]) => {
      const { sha256, content } = mapping(value);
      if (itemDigest(content) !== sha256) throw new TypeError(`the digest of ${item} does not fit`);
      return [item, content];
    }),
  );
}

function mapping(value: unknown): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new TypeError("it is no mapping where one has to be");
}
