// The four shapes of a JSON-RPC 2.0 message, as they stand on the wire, a stranger's text made fit for an error or a log,
// and the table of the requests in service.
/** A string or an integer within ±(2^53 − 1); never null. */
export type RequestId = string | number;

/** Whatever JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** An object as JSON has it: members are not checked yet. */
export interface JsonObject {
  [key: string]: unknown;
}

/** A message that wants one answer with its id (JSON-RPC 2.0, section 4). */
export interface RequestMessage {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

/** A message that nobody answers (JSON-RPC 2.0, section 4.1). */
export interface NotificationMessage {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

/** The answer to a request that was served (JSON-RPC 2.0, section 5). */
export interface SuccessMessage {
  jsonrpc: "2.0";
  id: RequestId;
  result: JsonObject;
}

/** `id` is null or absent when the sender could not read the id of what it refuses. */
export interface FailureMessage {
  jsonrpc: "2.0";
  id?: RequestId | null;
  error: ErrorObject;
}

/** `code` is an integer. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Bytes of a text in UTF-8, which are that text where one is wanted: a Buffer. */
export interface TextBytes extends Uint8Array {
  toString(): string;
  /** Told by who has written them and reads them no more: others may be put in their place. */
  written?(): void;
}

/** A text in pieces: joined they are it. */
export type TextPieces = readonly (string | TextBytes)[];

// Writes messages as JSON text, from parts that are serialised already where they can be.

/** `resultJson` is the result, serialised already. */
export function successText(id: RequestId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${resultJson}}`;
}

/** The same in pieces, for a result whose bytes are kept, or whose text is long. */
export function successPieces<T extends string | Uint8Array>(id: RequestId, resultJson: T): readonly (string | T)[] {
  return [successHead(id), resultJson, "}"];
}

/** What stands before the result. */
export function successHead(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":`;
}

/** An `id` of undefined leaves the member out, null writes null: revisions differ in what an unreadable id becomes. */
export function failureText(id: RequestId | null | undefined, error: ErrorObject): string {
  const member = id === undefined ? "" : `"id":${id === null ? "null" : idText(id)},`;
  const message = errorMessage(error.message);
  const told = message === error.message ? error : { ...error, message };
  return `{"jsonrpc":"2.0",${member}"error":${jsonText(told)}}`;
}

export function notificationText(method: string, params?: object): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

export function requestText(id: RequestId, method: string, params?: object): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

let write: ((value: unknown) => string | readonly string[]) | undefined;

/** The text of what a message holds: as `JSON.stringify` writes it, unless somebody writes numbers by their own digits. */
export function jsonText(value: unknown): string {
  return asOneText(jsonPieces(value));
}

/** The same; in pieces where it holds texts so long that it would cost to join them. */
export function jsonPieces(value: unknown): string | readonly string[] {
  return write === undefined ? JSON.stringify(value) : write(value);
}

/** From now on both write so. */
export function writeBy(writer: (value: unknown) => string | readonly string[]): void {
  write = writer;
}

/** What was written in pieces. */
export function asOneText(written: string | TextPieces): string {
  return Array.isArray(written) ? written.join("") : (written as string);
}

function idText(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

function paramsMember(params: object | undefined): string {
  return params === undefined ? "" : `,"params":${jsonText(params)}`;
}

// What functions of an author may return: a value, or anything that gives one later.

/** A value, a promise, or anything else with a `then`: the query builders of Drizzle, Knex and Mongoose have one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Whether a value has to be awaited. Only a promise may call its `then`, once: a query builder runs its query each time. */
export function isThenable<T>(value: Awaitable<T>): value is PromiseLike<T> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

// Text of a stranger made fit for an error or a log: what would steer a terminal, or is not seen, is shown instead of obeyed.

/** Characters of a peer's words that an error repeats: enough to recognise them, too few to flood a log. */
const REPEATED = 200;
/** Characters of the message of an error: no sentence of a person is longer. */
const LONGEST_MESSAGE = 8_192;

/** What the quick look finds. */
const UNUSUAL = /[^\u0020-\u007e]/;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

let steering: RegExp | undefined;

/**
 * Controls (line ends included), format and invisible characters, private ones and noncharacters, lone surrogates. Made at first
 * use: V8 looks classes up in Unicode's tables, which a start would wait for.
 */
function everySteering(): RegExp {
  const classes = ["Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Default_Ignorable_Code_Point", "Noncharacter_Code_Point"];
  steering ??= new RegExp(`[${classes.map((name) => `\\p{${name}}`).join("")}\\u2800\\ufffc]`, "gu");
  return steering;
}

/** One line of at most `most` characters (and a mark where it was cut), without characters that act on a terminal, but for those kept. */
export function visibleText(text: string, most: number, kept = ""): string {
  const cut = text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
  return UNUSUAL.test(cut) ? cut.replace(everySteering(), (each) => (kept.includes(each) ? each : escape(each))) : cut;
}

/** What a peer said, as an error may repeat it. */
export function peerWords(said: unknown): string {
  return visibleText(typeof said === "string" ? said : (JSON.stringify(said) ?? String(said)), REPEATED);
}

/** The same between quotation marks. */
export function quotedWords(said: string): string {
  return visibleText(JSON.stringify(said.length > REPEATED ? `${said.slice(0, REPEATED)}…` : said), 4 * REPEATED);
}

/**
 * The message of an error as it may leave: bounded, and nothing in it hidden. What was cut stays as it is at the next one: with its
 * mark it is shorter than the longest. Lines and tabs stay, since a handler may have
 * written them; who repeats a peer's words takes `peerWords`, which leaves none.
 */
export function errorMessage(message: string): string {
  return visibleText(message, message.length > LONGEST_MESSAGE ? 8_000 : LONGEST_MESSAGE, "\n\t");
}

function escape(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) as number;
  if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

// The requests in service, in seats that are taken again, so that nothing holds on to one that has ended.

/** A request in service, as its table sees it. */
export interface InService {
  readonly id: RequestId;
  /** Where it sits in the table: the table's own note. */
  seat: number | undefined;
}

/** After the last free seat. */
const NONE = -1;
/** Up to so many seats a request is sought in all of them: that is quicker than keeping an index, which V8 makes anew all the time. */
const FEW_SEATS = 64;

/**
 * Requests in service of one connection; a request is in one table at most. Ids keep their type: `1` and `"1"` are different.
 *
 * A `Set` would do, but for V8: it gives one that is filled and emptied all the time a new table every few requests and links
 * each table to the next. A table that has grown old keeps its requests and all tables after it until the next full
 * collection, so that each is copied into old memory instead of going at once: a fifth of the cost of a busy server.
 */
export class IncomingTable<T extends InService> {
  /** A free seat holds the number of the next free one. One to begin with: most connections never need a second. */
  readonly #seats: (T | number)[] = [NONE];
  /** The seat of each id, once somebody seeks among many: an index of the requests themselves would keep them for too long. */
  #index: Map<RequestId, number> | undefined;
  readonly #limit: number;
  #free = 0;
  #size = 0;
  #idle: (() => void)[] | undefined;
  /** Forgets a request that has ended. Says whether it was there. */
  readonly release = (request: T): boolean => this.#release(request);

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** False when there are as many as there may be. */
  add(request: T): boolean {
    if (this.#size >= this.#limit) return false;
    const seat = this.#free === NONE ? this.#seats.length : this.#free;
    const next = this.#seats[seat];
    this.#free = typeof next === "number" ? next : NONE;
    this.#seats[seat] = request;
    this.#size += 1;
    request.seat = seat;
    this.#index?.set(request.id, seat);
    return true;
  }

  find(id: RequestId): T | undefined {
    if (this.#size === 0) return undefined;
    if (this.#seats.length <= FEW_SEATS) return this.#seek(id);
    this.#index ??= new Map(this.all().map(({ id: each, seat }) => [each, seat as number]));
    const seat = this.#index.get(id);
    const found = seat === undefined ? undefined : this.#seats[seat];
    return typeof found === "number" ? undefined : found;
  }

  /** The requests that are in service now, in no order. */
  all(): T[] {
    return this.#seats.filter((request) => typeof request !== "number");
  }

  /** Resolves when none is in service. */
  whenIdle(): Promise<void> {
    if (this.#size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#idle ??= []).push(resolve));
  }

  #seek(id: RequestId): T | undefined {
    for (const request of this.#seats) if (typeof request !== "number" && request.id === id) return request;
    return undefined;
  }

  #release(request: T): boolean {
    const { seat } = request;
    if (seat === undefined) return false;
    this.#index?.delete(request.id);
    this.#seats[seat] = this.#free;
    this.#free = seat;
    this.#size -= 1;
    request.seat = undefined;
    if (this.#size === 0 && this.#idle !== undefined) {
      const waiting = this.#idle;
      this.#idle = undefined;
      for (const resolve of waiting) resolve();
    }
    return true;
  }
}

// The time that running calls get at the end: what a busy machine does not let this process run does not count.

/** In so many steps the time passes. However late a timer is called, it counts as the one step it was meant to be. */
const STEPS = 10;
/** Nearly as much as timers can count to: what is to be longer would be over at once. */
const LONGEST_GRACE_MS = 2_000_000_000;

/**
 * Resolves after about `milliseconds` in which this process could run, or once `done` is resolved, whichever is sooner.
 * One timer would run out while the process waits for a processor, with the answers ready to be given.
 */
export async function withinGrace(done: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let left = STEPS;
  const step = (resolve: () => void): void => {
    if (left-- > 0) timer = setTimeout(step, Math.min(milliseconds, LONGEST_GRACE_MS) / STEPS, resolve);
    else resolve();
  };
  await Promise.race([done, new Promise<void>(step)]);
  clearTimeout(timer);
}
