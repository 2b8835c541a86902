// The file of a recorded conversation: JSON lines, the first of which says what it is.
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { LocalError } from "@secure-local/mcp/client/node";

export type Message = Readonly<Record<string, unknown>>;
export type Side = "client" | "server";

/** The first line of a recording. */
interface Head {
  readonly format: "mcp-recording";
  readonly version: 1;
  /** What was recorded, for people. */
  readonly target: string;
  readonly startedAt: string;
}

/** Every further line. `message` where that says all there is, else the `line` as it was. */
export interface Entry {
  /** Milliseconds since the beginning. */
  readonly at: number;
  readonly from: Side;
  readonly message?: unknown;
  readonly line?: string;
  /** The line went on, but was too long to be kept. */
  readonly cut?: true;
}

/** What each recording begins with. */
const START = '{"format":"mcp-recording"';
const OWNER_ONLY = 0o600;
/** Longest line kept: twice what most peers take for a message. */
const LONGEST_LINE = 8 * 1024 * 1024;
/** Longest recording read. */
const MOST_BYTES = 256 * 1024 * 1024;

export class RecordingFile {
  readonly #descriptor: number;
  readonly #startedAt: number = performance.now();

  /** Throws a LocalError USAGE for a file that is there and is no recording: that one is not overwritten. */
  constructor(path: string, target: string) {
    refuseOther(path);
    try {
      this.#descriptor = openSync(path, "w", OWNER_ONLY);
    } catch (error) {
      throw new LocalError("USAGE", `${path} cannot be written: ${(error as Error).message}`);
    }
    const head: Head = { format: "mcp-recording", version: 1, target, startedAt: new Date().toISOString() };
    this.#write(head);
  }

  take(from: Side, line: string): void {
    const at = Math.round(performance.now() - this.#startedAt);
    if (line.length > LONGEST_LINE) this.#write({ at, from, line: line.slice(0, LONGEST_LINE), cut: true });
    else this.#write({ at, from, ...contentOf(line) });
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #write(line: Head | Entry): void {
    writeSync(this.#descriptor, `${JSON.stringify(line)}\n`);
  }
}

/** Throws a LocalError USAGE that says which line is no part of a recording. */
export function readRecording(path: string): Entry[] {
  const lines = textOf(path).split("\n");
  const [head, ...rest] = lines.map((line, at) =>
    line.trim() === "" ? undefined : parsedLine(line, `${path}:${at + 1}`),
  );
  if (head === undefined || !isHead(head))
    throw new LocalError("USAGE", `${path} is no recording: make one with record`);
  return rest.flatMap((entry, at) => {
    if (entry === undefined) return [];
    if (isEntry(entry)) return [entry];
    throw new LocalError("USAGE", `${path}:${at + 2}: an entry has at, from, and message or line`);
  });
}

/** The messages of an entry: several for a batch, none for what is no message. */
export function messagesOf({ message }: Entry): Message[] {
  const list: unknown[] = Array.isArray(message) ? message : [message];
  return list.filter((each): each is Message => typeof each === "object" && each !== null && !Array.isArray(each));
}

function contentOf(line: string): Pick<Entry, "message" | "line"> {
  try {
    const message = JSON.parse(line) as unknown;
    return JSON.stringify(message) === line ? { message } : { message, line };
  } catch {
    return { line };
  }
}

function refuseOther(path: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return;
  }
  const start = Buffer.alloc(START.length);
  const length = readSync(descriptor, start, 0, START.length, 0);
  closeSync(descriptor);
  if (length === 0 || start.toString() === START) return;
  throw new LocalError("USAGE", `${path} is there and is no recording: name another file`);
}

function textOf(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length <= MOST_BYTES) return bytes.toString("utf8");
  } catch (error) {
    throw new LocalError("USAGE", `${path} cannot be read: ${(error as Error).message}`);
  }
  throw new LocalError("USAGE", `${path} is longer than ${MOST_BYTES} bytes`);
}

function parsedLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    throw new LocalError("USAGE", `${place}: not JSON: ${(error as Error).message}`);
  }
}

function isHead(value: unknown): value is Head {
  const { format, version } = value as Partial<Head>;
  return format === "mcp-recording" && version === 1;
}

function isEntry(value: unknown): value is Entry {
  const { at, from, message, line } = (value ?? {}) as Partial<Entry>;
  return (
    typeof at === "number" &&
    (from === "client" || from === "server") &&
    (message !== undefined || typeof line === "string")
  );
}
