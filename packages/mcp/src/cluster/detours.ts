// Ways to processes to which no socket leads: letters in what they share carry the bytes of a connection. That is slower and no less
// safe: each letter is numbered, and what it holds is encrypted for its connection alone. And what goes on where the store fails.
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { randomBytes } from "node:crypto";
import { Duplex } from "node:stream";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { StreamBounds, StreamPiece } from "../http/server/exchange.js";
import { AWAY } from "../http/server/resumable-stream.js";
import { isFinal } from "../protocol/extensions/tasks.js";
import { nodeOf } from "../server/subscription.js";
import type { TaskPage, TaskRecord, TaskStore } from "../server/tasks/task-store.js";
import { type Bus, lateAfter, type SharedStores, type StreamStore } from "./stores.js";

/** Bytes in one letter: beyond them nothing else in the store should wait. */
const LETTER_BYTES = 64 * 1024;
/** Bytes that may be on their way to a process that has not said that it has them. */
const WINDOW_BYTES = 512 * 1024;
/** Ways by letters at once, those that others opened among them: as many processes, twice. */
const MOST_DETOURS = 200;
/** Milliseconds the other process may take to say that it reads its letters: a few round trips to the store. */
const ANSWER_MS = 200;
/** Milliseconds for which a process that said so is taken to do it still: less than `IDLE_MS`. */
const READY_MS = 30_000;
/** Milliseconds without any way by letters after which letters are not read any more. */
const IDLE_MS = 60_000;
/** Milliseconds between two letters of a way on which nothing is said, so that a lost one is noticed. */
const HEARTBEAT_MS = 3_000;
/** Milliseconds of silence after which a way has ended. */
const SILENT_MS = 10_000;

type LetterKind = "open" | "data" | "has" | "end" | "none" | "ready";

interface Letter {
  readonly from: string;
  readonly kind: LetterKind;
  readonly way: string;
  readonly number: number;
  readonly content: string;
}

/** Bytes to another process and back, by letters: each side numbers its own, and a missing one ends it. */
export class Detour extends Duplex {
  readonly peer: string;
  readonly way: string;
  /** When the last letter came. */
  heard: number = performance.now();
  readonly #post: (kind: LetterKind, number: number, content: string) => Promise<void>;
  #posted: Promise<void> = Promise.resolve();
  #sent = 0;
  #expected = 0;
  #bytesSent = 0;
  #bytesTaken = 0;
  #bytesRead = 0;
  #told = 0;
  #room: (() => void) | undefined;

  constructor(about: Pick<Letter, "way"> & { readonly peer: string; readonly post: Detours["post"] }) {
    super({ allowHalfOpen: false });
    const { peer, way, post } = about;
    this.peer = peer;
    this.way = way;
    this.#post = (kind, number, content) => post(peer, { kind, way, number, content });
  }

  say(kind: LetterKind, content = ""): Promise<void> {
    const number = this.#sent++;
    const before = this.#posted;
    this.#posted = before.then(() => this.#post(kind, number, content));
    this.#posted.catch((error: unknown) => this.destroy(error as Error));
    return this.#posted;
  }

  /** Says that we are there, and how far we have read. */
  heartbeat(): void {
    this.#told = this.#bytesRead;
    void this.say("has", String(this.#bytesRead)).catch(() => undefined);
  }

  hear({ kind, number, content }: Letter): void {
    // What came before is a letter that somebody put back.
    if (number < this.#expected) return;
    if (number > this.#expected) return void this.destroy(new Error("A letter was lost"));
    this.#expected++;
    this.heard = performance.now();
    if (kind === "end") return void this.destroy();
    if (kind === "has") return this.#taken(Number(content));
    // Whatever has the place of bytes and holds none leaves a call without its answer.
    if (kind !== "data") return void (number > 0 && this.destroy(new Error("A letter makes no sense")));
    const bytes = Buffer.from(content, "base64");
    this.#bytesRead += bytes.length;
    this.push(bytes);
    if (this.#bytesRead - this.#told > WINDOW_BYTES / 4) this.heartbeat();
  }

  #taken(bytes: number): void {
    if (!(bytes >= this.#bytesTaken && bytes <= this.#bytesSent))
      return void this.destroy(new Error("A letter makes no sense"));
    this.#bytesTaken = bytes;
    this.#room?.();
  }

  override _read(): void {
    // Letters come by themselves.
  }

  override _write(chunk: Buffer, _encoding: string, written: (error?: Error | null) => void): void {
    this._writev([{ chunk }], written);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], written: (error?: Error | null) => void): void {
    const sending = this.#sendAll(Buffer.concat(chunks.map(({ chunk }) => chunk)));
    void sending.then(
      () => written(),
      (error: unknown) => written(error as Error),
    );
  }

  override _destroy(cause: Error | null, destroyed: (error?: Error | null) => void): void {
    this.#room?.();
    void this.say("end").catch(() => undefined);
    destroyed(cause);
  }

  async #sendAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length && !this.destroyed; at += LETTER_BYTES) {
      while (this.#bytesSent - this.#bytesTaken > WINDOW_BYTES && !this.destroyed)
        await new Promise<void>((resolve) => (this.#room = resolve));
      const piece = bytes.subarray(at, at + LETTER_BYTES);
      this.#bytesSent += piece.length;
      await this.say("data", piece.toString("base64"));
    }
  }
}

/** What ways by letters need. */
export interface DetourOptions {
  readonly node: string;
  readonly mail: Bus;
  /** Asks a process, where all hear it, to read its letters. */
  readonly knock: (node: string) => Promise<void>;
  /** Told of a way that another process has opened. */
  readonly accept: (way: Duplex) => void;
}

/** The ways by letters of one process. Its letters are read only while it has any. */
export class Detours {
  readonly #options: DetourOptions;
  readonly #ways = new Map<string, Detour>();
  /** When each process last said that it reads its letters. */
  readonly #ready = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #reading: Promise<() => void> | undefined;
  #used = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: DetourOptions) {
    this.#options = options;
  }

  /** Opens a way to a process. Rejects when that does not read its letters, or the store cannot be reached. */
  async connect(node: string): Promise<Duplex> {
    if (this.#ways.size >= MOST_DETOURS) throw new LocalError("FULL", "There are too many ways by letters");
    await this.#read();
    if (performance.now() - (this.#ready.get(node) ?? Number.NEGATIVE_INFINITY) > READY_MS) await this.#called(node);
    const detour = this.#begin(node, randomBytes(12).toString("hex"));
    await detour.say("open");
    return detour;
  }

  /** Another process asks us to read our letters. */
  async knocked(node: string): Promise<void> {
    await this.#read();
    await this.post(node, { kind: "ready", way: "-", number: 0, content: "" });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const detour of [...this.#ways.values()]) detour.destroy();
    void this.#reading?.then((stop) => stop()).catch(() => undefined);
    this.#reading = undefined;
  }

  readonly post = (to: string, { kind, way, number, content }: Omit<Letter, "from">): Promise<void> => {
    const { node, mail } = this.#options;
    return mail.publish(node, [node, kind, way, number, content].join(" "), to);
  };

  /** Resolves once a process has said that it reads its letters. */
  async #called(node: string): Promise<void> {
    const waiting = this.#waiting.get(node) ?? new Set();
    this.#waiting.set(node, waiting);
    let ready = (): void => undefined;
    const answered = new Promise<void>((resolve) => waiting.add((ready = resolve)));
    let late: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<never>((_, reject) => {
      const error = new LocalError("UNREACHABLE", `The process ${node} does not read its letters`);
      late = setTimeout(() => reject(error), ANSWER_MS);
    });
    try {
      await Promise.race([this.#options.knock(node).then(() => answered), silent]);
    } finally {
      clearTimeout(late);
      waiting.delete(ready);
    }
  }

  #begin(peer: string, way: string): Detour {
    const detour = new Detour({ peer, way, post: this.post });
    this.#ways.set(way, detour);
    // Who waits for it is told by its end.
    detour.on("error", () => undefined);
    detour.on("close", () => this.#ways.delete(way));
    return detour;
  }

  async #read(): Promise<void> {
    this.#used = performance.now();
    this.#timer ??= setInterval(() => this.#tick(), HEARTBEAT_MS);
    this.#timer.unref();
    this.#reading ??= this.#options.mail.listen(
      {
        hear: (_, text) => this.#hear(text),
        missed: () => {
          for (const detour of [...this.#ways.values()]) detour.destroy(new Error("A letter was lost"));
        },
      },
      this.#options.node,
    );
    const reading = this.#reading;
    await reading.catch((error: unknown) => {
      if (this.#reading === reading) this.#reading = undefined;
      throw error;
    });
  }

  #hear(text: string): void {
    const [from = "", kind = "", way = "", number = "", content = ""] = text.split(" ");
    const letter = { from, kind: kind as LetterKind, way, number: Number(number), content };
    if (kind === "ready") return this.#heardReady(from);
    const known = this.#ways.get(way);
    if (kind === "none") return void (known?.peer === from && known.destroy());
    if (known !== undefined) return void (known.peer === from && known.hear(letter));
    if (kind === "open" && this.#ways.size < MOST_DETOURS) {
      const detour = this.#begin(from, way);
      detour.hear(letter);
      return this.#options.accept(detour);
    }
    // Of a process of this name that was here before, or of a way that has ended.
    if (kind !== "end") void this.post(from, { kind: "none", way, number: 0, content: "" }).catch(() => undefined);
  }

  #heardReady(node: string): void {
    this.#ready.set(node, performance.now());
    if (this.#ready.size > MOST_DETOURS) this.#ready.delete(this.#ready.keys().next().value as string);
    for (const ready of this.#waiting.get(node) ?? []) ready();
    this.#waiting.delete(node);
  }

  #tick(): void {
    const now = performance.now();
    for (const detour of [...this.#ways.values()]) {
      if (now - detour.heard > SILENT_MS) detour.destroy(new Error("The other process is silent"));
      else detour.heartbeat();
    }
    if (this.#ways.size > 0) this.#used = now;
    if (now - this.#used > IDLE_MS) {
      this.close();
      this.#timer = undefined;
    }
  }
}

/** Stores of one's own whose methods throw at once reject instead: who asks them goes on without in one way only. */
export function allStores(stores: SharedStores): SharedStores {
  return rejecting(stores);
}

function rejecting<T extends object>(part: T): T {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === "function")
        return async (...args: unknown[]): Promise<unknown> => Reflect.apply(value, target, args);
      return typeof value === "object" && value !== null ? rejecting(value) : value;
    },
  });
}

// What the operator is told of the store, and of the other processes.

/** Signs of life in a row after which a store that was full has room: it takes some while it is full, too. */
const ROOM_BEATS = 10;

/** Knows by the signs of life whether the store is there, and tells of it once when it goes and once when it is back. */
export class Presence {
  readonly #name: string;
  readonly #report: (text: string) => void;
  /** Since when it is away, by `performance.now()`. */
  #since: number | undefined;
  /** Signs of life that it has to take before it counts as back. */
  #due = 0;

  constructor(name: string, report: (text: string) => void) {
    this.#name = name;
    this.#report = report;
  }

  gone({ message, cause }: Error): void {
    const isFull = cause instanceof Error && cause.message.startsWith("OOM ");
    this.#due = isFull || this.#due > 0 ? ROOM_BEATS : 0;
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    const why = message.includes(this.#name) ? message : `${this.#name} cannot be used: ${message}`;
    this.#report(`${why}; what this process has goes on without it`);
  }

  back(): void {
    if (this.#since === undefined || --this.#due > 0) return;
    this.#due = 0;
    const seconds = Math.round((performance.now() - this.#since) / 1_000);
    this.#since = undefined;
    this.#report(`${this.#name} is reached again, after ${seconds} s`);
  }
}

/** How another process is reached from now on. */
export interface WayChange {
  readonly node: string;
  readonly way: "letters" | "socket" | "none";
  readonly address: string;
  /** Processes that are reached by letters now. */
  readonly byLetters: number;
}

/** The same in a sentence. `name`: that of the store. */
export function wayWords({ node, way, address }: Omit<WayChange, "byLetters">, name: string): string {
  return {
    letters: `The process ${node} cannot be reached at ${address}: what goes there goes through ${name}, which is slower; check the address there`,
    socket: `The process ${node} is reached again without ${name}`,
    none: `The process ${node}, which could not be reached at ${address}, has ended`,
  }[way];
}

// What one process keeps of its streams for the others.

/** Milliseconds an event waits to be kept before it is sent without: far beyond a good network. */
const KEPT_MS = 1_000;
/** Streams whose length is remembered. */
const MOST_KEPT = 100_000;

/** Keeps streams where that is possible; where it is not, they go on without. */
export class StreamKeep {
  readonly #store: StreamStore;
  /** The streams this process has written to, the longest silent first: when the last of it ends, and its characters. */
  readonly #written = new Map<string, { readonly ends: number; readonly bytes: number }>();
  #bytes = 0;
  /** Nothing is kept until somebody has heard of the store again. */
  away = false;

  constructor(store: StreamStore) {
    this.#store = store;
  }

  /** Resolves with false where another process has ended the stream, else with true. Undefined while nothing can be kept. */
  keep(stream: string, piece: StreamPiece, bounds: StreamBounds): Promise<boolean> | undefined {
    if (this.away) return undefined;
    this.#count(stream, piece, bounds);
    return new Promise((resolve) => {
      const miss = (): void => {
        this.away = true;
        resolve(true);
      };
      const inTime = lateAfter(KEPT_MS, miss);
      this.#store.append(stream, piece, bounds).then(resolve, miss).finally(inTime);
    });
  }

  /** Forgets what was silent for longest where all of it is too much. */
  #count(stream: string, { events }: StreamPiece, { allBytes, lifeMs }: StreamBounds): void {
    const now = performance.now();
    const length = events.reduce((sum, { text }) => sum + text.length, 0);
    const bytes = (this.#written.get(stream)?.bytes ?? 0) + length;
    this.#written.delete(stream);
    this.#written.set(stream, { ends: now + lifeMs, bytes });
    this.#bytes += length;
    const much: string[] = [];
    for (const [oldest, { ends, bytes: its }] of this.#written) {
      if (oldest === stream || (ends > now && this.#bytes <= allBytes && this.#written.size <= MOST_KEPT)) break;
      this.#written.delete(oldest);
      this.#bytes -= its;
      if (ends > now) much.push(oldest);
    }
    if (much.length > 0) void this.#store.delete(much).catch(() => undefined);
  }
}

// Tasks that live in one process, which may end.

/** Where the store is away, rejects with what the client is told: that is nothing unexpected, and other parts have said it. */
async function told<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof LocalError) || error.code !== "UNREACHABLE") throw error;
    throw new RpcError(ErrorCode.InternalError, AWAY);
  }
}

const SILENT =
  "The process that ran this task does not answer any more. Whether the task ended is not known: look before you call the tool again";

export class LeasedTasks implements TaskStore {
  readonly #store: TaskStore;
  readonly #isGone: (node: string) => Promise<boolean>;
  readonly #said: (record: TaskRecord) => void;

  /** `isGone`: whether a process has surely lost its lease. `said` is told of tasks that are given up for that. */
  constructor(store: TaskStore, isGone: (node: string) => Promise<boolean>, said: (record: TaskRecord) => void) {
    this.#store = store;
    this.#isGone = isGone;
    this.#said = said;
  }

  put(record: TaskRecord): Promise<void> {
    return told(async () => this.#store.put(record));
  }

  get(taskId: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    return told(async () => {
      const record = await this.#store.get(taskId, principal);
      return record && this.#now(record);
    });
  }

  list(principal: string | undefined, page: TaskPage): Promise<readonly TaskRecord[]> {
    return told(async () => Promise.all((await this.#store.list(principal, page)).map((record) => this.#now(record))));
  }

  delete(taskId: string): Promise<void> {
    return told(async () => this.#store.delete(taskId));
  }

  async #now(record: TaskRecord): Promise<TaskRecord> {
    const { task, principal } = record;
    const owner = nodeOf(task.taskId);
    if (isFinal(task.status) || owner === undefined || !(await this.#isGone(owner))) return record;
    const ended = {
      ...task,
      status: "failed" as const,
      statusMessage: SILENT,
      lastUpdatedAt: new Date().toISOString(),
    };
    // A record that has ended is never replaced, so that of an end that came first nothing is lost.
    const error = { code: ErrorCode.InternalError, message: SILENT, data: { outcome: "unknown" } };
    await this.#store.put({ ...record, task: ended, error });
    const kept = (await this.#store.get(task.taskId, principal)) ?? record;
    if (isFinal(kept.task.status)) this.#said(kept);
    return kept;
  }
}

// Addresses of processes.

/** Milliseconds to connect: a process on the same network answers in one. */
const CONNECT_MS = 1_000;
/** Bytes of a path of a socket: what is longer is cut, and another file is made. */
const PATH_BYTES = process.platform === "linux" ? 107 : 103;
/** Nobody can connect to all addresses of a machine. */
const ALL_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "0", "[::]"]);

/** Throws BAD_SHARE for what nobody can be reached at. */
export function addressOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isTcp = url?.protocol === "tcp:" && url.port !== "" && url.hostname !== "";
  if (url === undefined || !(isTcp || url.protocol === "unix:"))
    throw bad(address, "must be tcp://host:port or unix:///path, where the other processes reach this one");
  if (url.username !== "" || url.search !== "" || url.hash !== "" || (isTcp && !["", "/"].includes(url.pathname)))
    throw bad(address, "has more than a host and a port, or a file: leave the rest out");
  if (isTcp && ALL_ADDRESSES.has(url.hostname))
    throw bad(address, "is every address of this machine: name the one at which the other processes reach it");
  if (url.protocol === "unix:" && (url.host !== "" || url.pathname === "/" || url.pathname === ""))
    throw bad(
      address,
      "must begin with three slashes and name a file by its whole path, as in unix:///run/mcp/one.sock",
    );
  if (Buffer.byteLength(pathOf(url) ?? "") > PATH_BYTES)
    throw bad(address, `is too long for a socket: choose a path of at most ${PATH_BYTES} bytes`);
  return url;
}

function bad(address: string, what: string): LocalError {
  return new LocalError("BAD_SHARE", `share: address "${address}" ${what}`);
}

/** Why an address cannot be listened on, and what to change. */
export function unheardAt(listen: URL, { code, message }: NodeJS.ErrnoException): LocalError {
  const path = pathOf(listen);
  if (path === undefined) {
    if (code === "EADDRINUSE")
      return bad(
        listen.href,
        `is taken: end the process that listens there, or choose another port (0: one that is free)`,
      );
    if (code === "EACCES") return bad(listen.href, "may not be listened on by you: choose a port above 1023");
    return bad(listen.href, "is no address of this machine: choose one that it has");
  }
  if (code === "EADDRINUSE")
    return bad(listen.href, "is taken: end the process that listens there, or remove the file where none does");
  // Node says that it has no rights there, too.
  if (!existsSync(dirname(path)))
    return bad(listen.href, "is in a folder that is not there: make it, or choose another");
  if (code === "EACCES") return bad(listen.href, "may not be made by you: choose a folder that you may write to");
  return bad(listen.href, `cannot be listened on (${message}): choose another`);
}

/** The file of a socket. */
export function pathOf(address: URL): string | undefined {
  return address.protocol === "unix:" ? decodeURIComponent(address.pathname) : undefined;
}

export function connected(address: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const path = pathOf(address);
    const where = path === undefined ? { host: bare(address.hostname), port: Number(address.port) } : { path };
    const socket = connect(where, () => {
      inTime();
      socket.off("error", reject);
      resolve(socket);
    });
    const inTime = lateAfter(CONNECT_MS, () => socket.destroy(new Error("No connection in time")));
    // Nobody else listens until the greeting begins: an error of that moment would end the program.
    socket.on("error", inTime).once("error", reject);
  });
}

/** An IPv6 address stands in brackets in a URL. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

// What a process remembers of the others.

/** Sessions that have moved or ended, and processes that have, of which that is remembered: one more lookup for those beyond it. */
const MOST_REMEMBERED = 10_000;

/** Remembers so many names, the last of them. */
export function remember(names: Set<string>, name: string): void {
  names.add(name);
  trim(names);
}

/** Forgets the oldest where there are too many. */
function trim(names: Set<string> | Map<string, unknown>): void {
  if (names.size > MOST_REMEMBERED) names.delete(names.keys().next().value as string);
}

/** Where sessions are that are not at the process that their ids name. */
export class SessionPlaces {
  readonly #moved = new Map<string, string>();
  /** The last that have ended: whoever can write to the store may put a record back, which must not revive one. */
  readonly #ended = new Set<string>();

  /** The process that has a session, as far as is known here. */
  ownerOf(id: string): string | undefined {
    return this.#moved.get(id) ?? nodeOf(id);
  }

  moved(id: string, owner: string): void {
    if (owner === nodeOf(id)) this.#moved.delete(id);
    else this.#moved.set(id, owner);
    trim(this.#moved);
  }

  /** It is here, or nobody knows where. */
  forget(id: string): void {
    this.#moved.delete(id);
  }

  end(id: string): void {
    remember(this.#ended, id);
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }
}
