// One request of the client: its POST, the answer as JSON or events, and the stream taken up again after a cut.
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import type { Outgoing } from "../../jsonrpc/transport.js";
import { isJsonObject, type RequestId } from "../../jsonrpc/message.js";
import { pause, startTimer } from "../../jsonrpc/outgoing.js";
import {
  Canceller,
  type HttpClientLimits,
  type HttpReply,
  type LinkWire,
  bodyKind,
  looksLikeHtml,
  quote,
  statusError,
} from "./http-caller.js";
import { OVERSIZED, type SseEvent, SseReader } from "./sse-reader.js";
import { resolveLimits } from "../../jsonrpc/limits.js";
import { parseJson } from "../../jsonrpc/parse.js";

export interface RequestOutgoing extends Outgoing {
  readonly id: RequestId;
}

export class RequestExchange {
  readonly #wire: LinkWire;
  readonly #message: RequestOutgoing;
  readonly #session: string | undefined;
  readonly #written: string;
  readonly #canceller = new Canceller();
  #reconnection: Reconnection | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #sent = false;
  #answered = false;
  #status = 0;

  constructor(wire: LinkWire, message: RequestOutgoing, session: string | undefined) {
    this.#wire = wire;
    this.#message = message;
    this.#session = session;
    this.#written = idText(message.id);
  }

  /** Resolves when nothing more will come of it; the sink has then been given the answer, or told that there is none. */
  async run(): Promise<void> {
    this.#sent = true;
    try {
      const reply = await this.#wire.post({
        text: this.#message.text,
        headers: this.#message.headers,
        repeatable: isRepeatable(this.#message.method),
        session: this.#session,
        started: this.#canceller.started,
      });
      if (this.cancelled) reply.cancel();
      else await this.#take(reply);
    } catch (error) {
      const local = asLocal(error);
      this.#lose(local.code === "OUTCOME_UNKNOWN" ? this.#unknown(local) : local);
    }
    clearTimeout(this.#linger);
  }

  /** Nobody wants to hear of it any more. */
  get cancelled(): boolean {
    return this.#canceller.cancelled;
  }

  /** Ends it; the sink hears nothing more. */
  cancel(): void {
    this.#canceller.cancel();
    this.#reconnection?.cancel();
  }

  /** Nobody waits for the answer any more: what still comes of a request that was sent is taken in for a while. */
  leave(): void {
    if (!this.#sent) return this.cancel();
    this.#answered = true;
    this.#linger = startTimer(() => this.cancel(), this.#wire.limits.lingerMs);
    this.#wire.left(this.#message.id);
  }

  async #take(reply: HttpReply): Promise<void> {
    const { status } = reply;
    this.#status = status;
    if (status < 200 || status > 299) return this.#refused(reply);
    if (this.#message.method === "initialize" && !this.#wire.opened(reply)) {
      reply.cancel();
      throw this.#invalid("opened a session whose id no header can hold");
    }
    const kind = bodyKind(reply.header("content-type"));
    if (kind === "events") return this.#events(reply);
    if (kind === "other") {
      reply.cancel();
      throw this.#invalid(`answered with ${quote(reply.header("content-type") ?? "")}: is it the MCP endpoint?`);
    }
    const most = this.#wire.limits.messageBytes;
    const take = (text: string): Promise<void> => this.#whole(text, kind === "unknown");
    return reply.textTo?.(most, take, this.#message.taker) ?? take(await reply.text(most));
  }

  async #whole(text: string, untyped: boolean): Promise<void> {
    if (text.trim() === "") {
      // Accepted without an answer: it may still come on the standing stream.
      if (this.#status === 202 && this.#wire.standing) return;
      throw this.#invalid(`answered with HTTP ${this.#status} and no body`);
    }
    if (untyped && !/^\s*[[{]/.test(text)) {
      const what = looksLikeHtml(text) ? "HTML" : "something that is not JSON";
      throw this.#invalid(`answered with ${what}, without a content type: is it the MCP endpoint?`);
    }
    await this.#deliver(text);
    if (!this.#answered) throw this.#invalid(`answered with a message that is not the response: ${quote(text)}`);
  }

  async #refused(reply: HttpReply): Promise<void> {
    const { limits, shown, sink } = this.#wire;
    const { status } = reply;
    const text = await reply.text(limits.messageBytes).catch(() => "");
    if (status === 404 && this.#session !== undefined && !isErrorWith(text, ErrorCode.MethodNotFound)) {
      this.#wire.expired(this.#session);
      const what = `${shown} answered that it does not know the session any more (HTTP 404). Connect again.`;
      throw new LocalError("SESSION_EXPIRED", what);
    }
    const error = statusError(status, shown, text);
    if (status === 401 || !isResponse(text)) throw error;
    await sink.receive(text, { status, forRequest: this.#message.id });
    // Where the refusal bears no id the receiver may not have known whose it is.
    if (!answers(text, this.#message.id, this.#written)) throw error;
    this.#answered = true;
  }

  async #deliver(text: string): Promise<void> {
    const isAnswer = answers(text, this.#message.id, this.#written);
    await this.#wire.sink.receive(text, { status: this.#status, forRequest: this.#message.id });
    if (isAnswer) this.#answered = true;
  }

  async #events(first: HttpReply): Promise<void> {
    const feed = new EventFeed(this.#wire.limits.messageBytes, {
      event: (event) => this.#event(event),
      oversized: () => this.#tooLong(),
    });
    let cut = await this.#read(feed, first);
    while (!this.#answered && !this.cancelled) {
      const reconnection = (this.#reconnection ??= new Reconnection(this.#wire.limits));
      const why = feed.cursor === undefined || !this.#wire.resumable ? cut : reconnection.giveUp(feed.retryMs);
      if (why !== undefined) throw new LocalError("OUTCOME_UNKNOWN", why);
      if (!(await reconnection.wait(feed.retryMs))) return;
      const reply = await this.#resume(feed, reconnection);
      if (reply !== undefined) cut = await this.#read(feed, reply);
    }
  }

  /** Reads to the end; how it ended, in words. */
  async #read(feed: EventFeed, reply: HttpReply): Promise<string> {
    let how = "its stream ended without it";
    try {
      await feed.read(reply);
    } catch (error) {
      how = asLocal(error).message;
    }
    this.#reconnection?.ended(feed.events);
    return how;
  }

  /** The stream's next connection, or undefined after a failure that may pass. */
  async #resume(feed: EventFeed, reconnection: Reconnection): Promise<HttpReply | undefined> {
    let reply: HttpReply;
    try {
      reply = await this.#wire.get({ cursor: feed.cursor, session: this.#session, started: this.#canceller.started });
    } catch (error) {
      const { code, message } = asLocal(error);
      const passes = code === "UNREACHABLE" || code === "OUTCOME_UNKNOWN" || code === "TIMEOUT";
      if (!passes) throw new LocalError("OUTCOME_UNKNOWN", message, { cause: error });
      reconnection.failed();
      return undefined;
    }
    if (reply.status === 200 && bodyKind(reply.header("content-type")) === "events") return reply;
    const { status } = reply;
    const text = await reply.text(this.#wire.limits.errorBytes).catch(() => "");
    if (status >= 500 || status === 429) {
      reconnection.failed();
      return undefined;
    }
    // Whether a 404 means the session or the GET is for the next POST to find out.
    const why = statusError(status, this.#wire.shown, text).message;
    throw new LocalError("OUTCOME_UNKNOWN", `the stream cannot be taken up again: ${why}`);
  }

  #event({ type, data }: SseEvent): void | Promise<void> {
    if (this.cancelled || type !== "message" || data === "") return undefined;
    const { id } = this.#message;
    if (!this.#answered && answers(data, id, this.#written)) this.leave();
    return this.#wire.sink.receive(data, { status: this.#status, forRequest: id });
  }

  /** It may be the answer, and would come again on every stream taken up: nothing more is read. */
  #tooLong(): void {
    const error = new RpcError(ErrorCode.InvalidRequest, `Message refused: ${this.#limit()}`);
    this.#wire.sink.unreadable(error, { status: this.#status, forRequest: this.#message.id });
    this.#lose(
      new LocalError("LIMIT", `${this.#wire.shown} sent ${this.#limit()}. Ask for less, or raise limits.messageBytes.`),
    );
    this.cancel();
  }

  #limit(): string {
    return `an event longer than ${this.#wire.limits.messageBytes} bytes`;
  }

  #invalid(what: string): LocalError {
    return new LocalError("INVALID_RESPONSE", `${this.#wire.shown} ${what}`);
  }

  #unknown(cause: LocalError): LocalError {
    const why = cause.message.replace(/\.$/, "");
    const what = `The answer of ${this.#wire.shown} to ${this.#message.method ?? "a request"} did not come: ${why}.`;
    const advice = "The request may have been served: look before sending it again.";
    return new LocalError("OUTCOME_UNKNOWN", `${what} ${advice}`, { cause });
  }

  #lose(error: LocalError): void {
    if (!this.#answered && !this.cancelled) this.#wire.sink.lost(this.#message.id, error);
  }
}

/** What was thrown, as a LocalError. */
export function asLocal(error: unknown): LocalError {
  if (error instanceof LocalError) return error;
  return new LocalError("OUTCOME_UNKNOWN", quote(String(error)), { cause: error });
}

// Tells from a text, mostly without parsing it, whether it is the answer to a request.

/** Writes the id as it stands in a message: made once a request. */
export function idText(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

/**
 * Whether `text` holds the response to the request `id`, alone or in a batch. `written` is `idText(id)`. Texts as
 * servers commonly write them are recognised by their two ends; what looks unusual is parsed.
 */
export function answers(text: string, id: RequestId, written: string): boolean {
  const head = `{"jsonrpc":"2.0","id":${written},"`;
  if (text.startsWith(head)) {
    if (text.startsWith('result":', head.length) || text.startsWith('error":', head.length)) return true;
    if (text.startsWith('method":', head.length)) return false;
  }
  const tail = `,"id":${written}}`;
  if (text.endsWith(`,"jsonrpc":"2.0"${tail}`) || text.endsWith(tail)) {
    if (text.startsWith('{"result":') || text.startsWith('{"error":')) return true;
    if (text.startsWith('{"jsonrpc":"2.0","result":') || text.startsWith('{"jsonrpc":"2.0","error":')) return true;
  }
  // A notification is the commonest of all other messages.
  if (text.startsWith('{"jsonrpc":"2.0","method":') || text.startsWith('{"method":')) return false;
  return someResponse(text, (message) => message["id"] === id);
}

/** Whether `text` is a JSON-RPC response, whosever it is. */
export function isResponse(text: string): boolean {
  return someResponse(text, () => true);
}

/** Whether `text` is an error response with this code. */
function isErrorWith(text: string, code: number): boolean {
  return someResponse(text, ({ error }) => isJsonObject(error) && error["code"] === code);
}

// Whether to read it is the receiver's decision: no limit but the one that keeps recursion safe. Its length is bounded already.
const MOST = Number.MAX_SAFE_INTEGER;
const LIMITS = resolveLimits({ messageBytes: MOST, values: MOST, members: MOST });

function someResponse(text: string, accepts: (message: Record<string, unknown>) => boolean): boolean {
  const value = parseJson(text, LIMITS);
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  return messages.some(
    (message) =>
      isJsonObject(message) &&
      message["method"] === undefined &&
      (message["result"] !== undefined || isJsonObject(message["error"])) &&
      accepts(message),
  );
}

// Hands the messages of event streams to a sink, one at a time, and remembers where to go on after a cut.

interface FeedSink {
  event(event: SseEvent): void | Promise<void>;
  oversized(): void;
}

/** One logical stream over as many connections as it takes. */
export class EventFeed {
  readonly #maxBytes: number;
  readonly #sink: FeedSink;
  #reader: SseReader;
  #lastId: string | undefined;
  #retryMs: number | undefined;
  /** Events of the connection being read, empty ones too. */
  events = 0;

  constructor(maxBytes: number, sink: FeedSink) {
    this.#maxBytes = maxBytes;
    this.#sink = sink;
    this.#reader = new SseReader(maxBytes);
  }

  /** Where to go on, as the value of Last-Event-ID; undefined where the server gave no usable id. */
  get cursor(): string | undefined {
    const id = this.#reader.lastId ?? this.#lastId;
    return id === undefined || id === "" ? undefined : headerValue(id);
  }

  /** What the server asked for with `retry`, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#reader.retryMs ?? this.#retryMs;
  }

  /** The server does not know the cursor any more. */
  forgetCursor(): void {
    this.#lastId = undefined;
    this.#reader.lastId = undefined;
  }

  /** Resolves at the end of the body; rejects with a LocalError when it was cut. */
  read(reply: HttpReply): Promise<void> {
    this.#lastId = this.#reader.lastId ?? this.#lastId;
    this.#retryMs = this.#reader.retryMs ?? this.#retryMs;
    this.#reader = new SseReader(this.#maxBytes);
    this.events = 0;
    const take = (chunk: Uint8Array): void | Promise<void> => {
      this.#reader.push(chunk);
      return this.#pump();
    };
    return reply.each(take);
  }

  #pump(): void | Promise<void> {
    for (let event = this.#reader.next(); event !== undefined; event = this.#reader.next()) {
      this.events++;
      const busy = event === OVERSIZED ? this.#sink.oversized() : this.#sink.event(event);
      if (busy !== undefined) return busy.then(() => this.#pump());
    }
  }
}

// Longer ones are no cursor but a load: a header has to hold it.
const LONGEST_ID = 1_024;

/** The bytes of the id as UTF-8, each a character, as headers are written; undefined when it cannot stand in one. */
function headerValue(id: string): string | undefined {
  if (id.length > LONGEST_ID || /[\0-\x08\x0a-\x1f\x7f]/.test(id)) return undefined;
  let value = "";
  for (const byte of new TextEncoder().encode(id)) value += String.fromCharCode(byte);
  return value;
}

// When a stream that ended is taken up again, and when no more.

// The first wait after a failure, or where the server asked for none; doubled each time up to the longest.
const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
// Timers may fire a little early, and a server's "not before" is exact.
const LATE_MS = 5;
// However small a `retry` is: a server that hangs up at once must not be called in a tight loop.
const LEAST_MS = 20;

export class Reconnection {
  readonly #limits: HttpClientLimits;
  #failures = 0;
  #empty = 0;
  readonly #over = new AbortController();

  constructor(limits: HttpClientLimits) {
    this.#limits = limits;
  }

  /** A connection has ended that brought `events` events. */
  ended(events: number): void {
    this.#failures = 0;
    this.#empty = events > 0 ? 0 : this.#empty + 1;
  }

  /** There was no connection. */
  failed(): void {
    this.#failures++;
  }

  /** Why not to try again, or undefined. */
  giveUp(retryMs: number | undefined): string | undefined {
    const { failures, emptyRounds, retryMs: longest } = this.#limits;
    if (this.#failures >= failures) return `${failures} attempts to take it up again failed`;
    if (this.#empty >= emptyRounds) return `${emptyRounds} reconnections brought nothing`;
    if ((retryMs ?? 0) > longest) return `the server wants ${retryMs} ms to pass before a reconnection`;
    return undefined;
  }

  /** Resolves when it is time: after what the server asked for, or a growing delay. False: cancelled meanwhile. */
  async wait(retryMs: number | undefined): Promise<boolean> {
    const own = retryMs === undefined || this.#failures > 0 ? this.#backoff() : LEAST_MS;
    const ms = Math.max(retryMs ?? 0, own) + LATE_MS;
    await pause(ms, this.#over.signal);
    return !this.#over.signal.aborted;
  }

  cancel(): void {
    this.#over.abort();
  }

  #backoff(): number {
    const rounds = Math.max(this.#failures, this.#empty) - 1;
    return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(rounds, 0), 16));
  }
}

// Which messages do no harm when they reach a server twice.

const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/list",
]);

/** Only reads, or says the same again: it may be sent once more when nobody can tell whether it arrived. */
export function isRepeatable(method: string | undefined): boolean {
  return method !== undefined && METHODS.has(method);
}
