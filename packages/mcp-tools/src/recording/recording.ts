// The file of a recorded conversation: JSON lines, the first of which says what it is.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { LocalError } from "@secure-local/mcp/client/node";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import type { Message } from "../remote/text-link.js";
import { whyUnread } from "../remote/configured-servers.js";

export type Side = "client" | "server";

/** The first line of a recording. */
interface Head {
  readonly format: "mcp-recording";
  readonly version: 1;
  /** What was recorded, for people. */
  readonly target: string;
  readonly startedAt: string;
  /** Names the conversation in its lines; absent in what older versions recorded. */
  readonly session?: string;
}

/** Every further line. `message` where that says all there is, else the `line` as it was. */
export interface RecordedLine {
  /** Milliseconds since the beginning. */
  readonly at: number;
  readonly from: Side;
  readonly message?: unknown;
  readonly line?: string;
  /** The line went on, but was too long to be kept. */
  readonly cut?: true;
}

/** An entry as it stands in the file: a client that starts a command again has two that write at the same time. */
interface StoredLine extends RecordedLine {
  /** That of its head. Where older versions wrote none, it is that of the head before it. */
  readonly session?: string;
}

/** What each recording begins with. */
const START = '{"format":"mcp-recording"';
/** What each entry begins with. */
const ENTRY = '{"at":';
const OWNER_ONLY = 0o600;
/** Bytes of a session's name: two that write to one file at the same time never draw the same. */
const SESSION_BYTES = 9;
/** Longest line kept: twice what most peers take for a message. */
const LONGEST_LINE = 8 * 1024 * 1024;
/** Longest recording read. */
const MOST_BYTES = 256 * 1024 * 1024;

/** What becomes of a recording that is there already. Without a word about it, it stays as it is, and nothing is recorded. */
type Existing = "keep" | "append" | "replace";

export class RecordingFile {
  readonly #descriptor: number;
  readonly #startedAt: number = performance.now();
  readonly #session: string = randomBytes(SESSION_BYTES).toString("base64url");

  /** Throws a LocalError USAGE for a file that is there and is no recording, or is one that nobody said may be written to. */
  constructor(path: string, target: string, existing: Existing = "keep") {
    this.#descriptor = opened(path);
    try {
      prepare(this.#descriptor, path, existing);
    } catch (error) {
      fs.closeSync(this.#descriptor);
      throw error;
    }
    const startedAt = new Date().toISOString();
    this.#write({ format: "mcp-recording", version: 1, target, startedAt, session: this.#session });
  }

  take(from: Side, line: string): void {
    const at = Math.round(performance.now() - this.#startedAt);
    const session = this.#session;
    if (line.length > LONGEST_LINE) this.#write({ at, from, line: line.slice(0, LONGEST_LINE), cut: true, session });
    else this.#write({ at, from, ...contentOf(line), session });
  }

  close(): void {
    fs.closeSync(this.#descriptor);
  }

  #write(line: Head | StoredLine): void {
    // A recorder that was killed may have left half a line, to which nothing of this one belongs.
    const before = isCutShort(this.#descriptor) ? "\n" : "";
    fs.writeSync(this.#descriptor, `${before}${escapeUnseen(JSON.stringify(line))}\n`);
  }
}

/**
 * The conversations of a file, of which it holds several when it was added to. What a recorder wrote whose recording was replaced
 * meanwhile belongs to none, nor does the half of an entry that one wrote as it was killed. Throws a LocalError USAGE that says which
 * line is no part of a recording.
 */
export function readSessions(path: string): RecordedLine[][] {
  const lines = textOf(path).split("\n");
  const values = lines.map((line, at) => (line.trim() === "" ? undefined : parsedLine(line, `${path}:${at + 1}`)));
  if (!values.some(isHead)) throw new LocalError("USAGE", `${path} is no recording: make one with record`);
  const sessions: RecordedLine[][] = [];
  const named = new Map<string, RecordedLine[]>();
  for (const [at, value] of values.entries()) {
    if (value === undefined) continue;
    if (isHead(value)) {
      const entries: RecordedLine[] = [];
      sessions.push(entries);
      if (value.session !== undefined) named.set(value.session, entries);
    } else if (isEntry(value)) {
      const { session, ...entry } = value;
      (session === undefined ? sessions.at(-1) : named.get(session))?.push(entry);
    } else
      throw new LocalError(
        "USAGE",
        `${path}:${at + 1}: an entry has at, from, and message or line; record the conversation again`,
      );
  }
  return sessions;
}

/** All that is in a file, in its order. Throws as `readSessions` does. */
export function readRecording(path: string): RecordedLine[] {
  return readSessions(path).flat();
}

/** The messages of an entry: several for a batch, none for what is no message. */
export function messagesOf({ message }: RecordedLine): Message[] {
  const list: unknown[] = Array.isArray(message) ? message : [message];
  return list.filter((each): each is Message => typeof each === "object" && each !== null && !Array.isArray(each));
}

function contentOf(line: string): Pick<RecordedLine, "message" | "line"> {
  try {
    const message = JSON.parse(line) as unknown;
    return JSON.stringify(message) === line ? { message } : { message, line };
  } catch {
    return { line };
  }
}

/** Neither a pipe nor a device under this name is waited for or written to. */
function opened(path: string): number {
  const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK } = fs.constants;
  let descriptor: number;
  try {
    descriptor = fs.openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, OWNER_ONLY);
  } catch (error) {
    throw new LocalError("USAGE", `${path} cannot be written: ${whyUnread(error)}; name another file`);
  }
  if (fs.fstatSync(descriptor).isFile()) return descriptor;
  fs.closeSync(descriptor);
  throw new LocalError("USAGE", `${path} is no regular file: name another one`);
}

/** Whether a file ends in the middle of a line. */
function isCutShort(descriptor: number): boolean {
  const { size } = fs.fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && fs.readSync(descriptor, last, 0, 1, size - 1) === 1 && last.toString() !== "\n";
}

/** Judges and changes the open file, which nobody can exchange any more. */
function prepare(descriptor: number, path: string, existing: Existing): void {
  const { size } = fs.fstatSync(descriptor);
  const start = Buffer.alloc(START.length);
  fs.readSync(descriptor, start, 0, START.length, 0);
  if (size > 0 && start.toString() !== START)
    throw new LocalError("USAGE", `${path} is there and is no recording: name another file`);
  if (size > 0 && existing === "keep")
    throw new LocalError(
      "USAGE",
      `${path} holds a recording already: name another file, or add --append to go on in it, or --force to replace it`,
    );
  try {
    // It may be an older one that others could read.
    fs.fchmodSync(descriptor, OWNER_ONLY);
  } catch (error) {
    throw new LocalError(
      "USAGE",
      `${path} cannot be kept from others (${(error as Error).message}): name another file`,
    );
  }
  if (existing === "replace") fs.ftruncateSync(descriptor, 0);
}

/** Neither a pipe, which may never end, nor a device is waited for. */
function textOf(path: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const status = fs.fstatSync(descriptor);
    if (!status.isFile()) throw new Error("it is no regular file; of a pipe, keep what comes in a file first");
    if (status.size <= MOST_BYTES) return fs.readFileSync(descriptor, "utf8");
  } catch (error) {
    throw new LocalError("USAGE", `${path} cannot be read: ${whyUnread(error)}; name a recording that record has made`);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
  throw new LocalError("USAGE", `${path} is longer than ${MOST_BYTES} bytes; record a shorter conversation`);
}

/** Undefined for half an entry. */
function parsedLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    if (line.startsWith(ENTRY)) return undefined;
    throw new LocalError("USAGE", `${place}: not JSON (${(error as Error).message}); record the conversation again`);
  }
}

function isHead(value: unknown): value is Head {
  const { format, version } = (value ?? {}) as Partial<Head>;
  return format === "mcp-recording" && version === 1;
}

function isEntry(value: unknown): value is StoredLine {
  const { at, from, message, line } = (value ?? {}) as Partial<StoredLine>;
  return (
    typeof at === "number" &&
    (from === "client" || from === "server") &&
    (message !== undefined || typeof line === "string")
  );
}

// Says where two answers differ, beyond what differs each time: times and random ids.

const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g;
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi;
/** Enough to see what is wrong. */
const MOST = 10;
const SHOWN = 80;

/** Sentences with the path of each difference; the first ones, if there are many. */
export function messageDifferences(expected: unknown, actual: unknown): string[] {
  const found: string[] = [];
  compare({ path: "", expected, actual }, found);
  return found;
}

interface Pair {
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

function compare({ path, expected, actual }: Pair, found: string[]): void {
  if (found.length >= MOST) return;
  if (isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const inner = Array.isArray(expected) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      compare({ path: inner, expected: expected[key], actual: actual[key] }, found);
    }
  } else if (steady(expected) !== steady(actual))
    found.push(`${path}: ${text(expected)} was recorded, ${text(actual)} came`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function steady(value: unknown): unknown {
  if (typeof value === "string") return value.replace(TIME, "<time>").replace(UUID, "<uuid>");
  return isObject(value) ? JSON.stringify(value) : value;
}

function text(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length > SHOWN ? `${json.slice(0, SHOWN)}…` : json;
}

// Reads a recording as exchanges: each request of the client with all that the server did about it.

export interface Exchange {
  readonly request: Message;
  /** What the server sent until and with its answer, in order; the answer is the last, where there was one. */
  readonly steps: Message[];
}

/** In the order of the requests. What the server said outside of any request is with the latest one. */
export function exchangesOf(entries: readonly RecordedLine[]): Exchange[] {
  const exchanges: Exchange[] = [];
  const open = new Map<unknown, Exchange>();
  for (const entry of entries) {
    for (const message of messagesOf(entry)) {
      if (entry.from === "client") {
        if (!isRequest(message)) continue;
        const exchange = { request: message, steps: [] };
        exchanges.push(exchange);
        open.set(message["id"], exchange);
      } else placeOf(message, open, exchanges)?.steps.push(message);
    }
  }
  return exchanges;
}

export function isRequest({ id, method }: Message): boolean {
  return typeof method === "string" && id !== undefined;
}

export function isResponse({ id, method }: Message): boolean {
  return method === undefined && id !== undefined;
}

/** What makes two requests the same: method and params, whatever their `_meta` and the order of members. */
export function keyOf({ method, params }: Message): string {
  // Whoever says hello is answered: the recorded client need not be the one that replays.
  if (method === "initialize") return "initialize";
  const { _meta, ...rest } = (params ?? {}) as Message;
  return `${String(method)} ${canonical(rest)}`;
}

/** JSON with the members of each object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function placeOf(message: Message, open: Map<unknown, Exchange>, all: readonly Exchange[]): Exchange | undefined {
  if (isResponse(message)) {
    const exchange = open.get(message["id"]);
    open.delete(message["id"]);
    return exchange;
  }
  const token = (message["params"] as Message | undefined)?.["progressToken"];
  const reported = [...open.values()].find(({ request }) => token !== undefined && progressTokenOf(request) === token);
  return reported ?? [...open.values()].at(-1) ?? all.at(-1);
}

/** The token a request asks for progress under. */
export function progressTokenOf({ params }: Message): unknown {
  return ((params as Message | undefined)?.["_meta"] as Message | undefined)?.["progressToken"];
}
