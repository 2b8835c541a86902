// One conversation with a server: sends requests in its dialect, and hands on what it says by itself.
import { progressSink } from "../endpoint/progress.js";
import type { BrokenLimit, JsonRpcLimits } from "../jsonrpc/limits.js";
import { ErrorCode, LocalError, RpcError, invalidResponse } from "../jsonrpc/errors.js";
import {
  failureText,
  isJsonObject,
  type JsonObject,
  type NotificationMessage,
  notificationText,
  type RequestId,
  type RequestMessage,
  peerWords,
} from "../jsonrpc/message.js";
import { Connection, type ConnectionHandler, type WireRules } from "../jsonrpc/connection.js";
import type { AnswerTaker, Stop, TimeAdvice, Waiting } from "../jsonrpc/outgoing.js";
import type { Progress } from "./options.js";
import type { ClientCodec, HeaderArgument, RequestExtras } from "../era/codec.js";
import type {
  Arrival,
  Carrier,
  Excerpt,
  MessageSink,
  Outgoing,
  OutgoingKind,
  Transport,
} from "../jsonrpc/transport.js";
import {
  amountOf,
  answeredId,
  excerpt as excerptOf,
  identify,
  isAnswerWithoutId,
  ParseFault,
  parseJson,
} from "../jsonrpc/parse.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { META } from "../protocol/meta.js";

/** What is told of a conversation. Nothing here may throw. */
export interface ConversationEvents {
  /** A question of the server, in a session. Answer it on the carrier, or abandon it; then resolve. Never rejects. */
  asked(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void>;
  notified(method: string, params: JsonObject, conversation: Conversation): void;
  /** A line where a message was expected. */
  noise(line: string): void;
  /** The transport is gone, and not because we closed it. */
  ended(error: LocalError, conversation: Conversation): void;
}

/** A request as the conversation sends it. */
export interface Sending {
  readonly method: string;
  /** Milliseconds without an answer and without progress until TIMEOUT. Infinity: as long as the connection lives. */
  readonly timeoutMs: number;
  /** Milliseconds until TIMEOUT whatever progress was made. */
  readonly maxTimeoutMs: number;
  /** The option that gives it more time, where it is not one of the call. */
  readonly timeOption?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The same without a signal. */
  readonly stop?: Stop | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly taker?: AnswerTaker | undefined;
  readonly params?: JsonObject | undefined;
  readonly extras?: RequestExtras | undefined;
  readonly mirrored?: readonly HeaderArgument[] | undefined;
  /** Never sent a second time, not even where the server says that it has not served it. */
  readonly once?: boolean | undefined;
  /** Told the id the request has on the wire, and given the promise of its answer. */
  onSent?: ((id: RequestId, answered: Promise<JsonObject>) => void) | undefined;
}

interface ConversationOptions {
  readonly events: ConversationEvents;
  readonly limits: JsonRpcLimits;
}

/** Lines of noise are shown, never at any length. */
const LONGEST_NOISE = 500;
// Batches are taken from any server: they were a duty once.
const RULES: WireRules = { batches: true, unreadableId: "absent" };
// A handshake must not be cancelled, and who does not know the question would not know the cancellation.
const UNTOLD: ReadonlySet<string> = new Set(["initialize", "server/discover"]);
const UNSEEN: Excerpt = { head: "", tail: undefined };
/** Members a notification or a question may lack. */
const OPTIONAL = ["id", "params", "result", "error"];
const BATCH = /^\s*\[/;

/** A refusal that names no request: answering a log line in JSON with it would only confuse the server. */
const NO_ID = '{"jsonrpc":"2.0","error"';

const CALL_ADVICE: TimeAdvice = {
  quiet: ". Raise timeoutMs, or pass onProgress so that progress grants more time.",
  most: ", the most this call may take. Raise maxTimeoutMs if it needs longer.",
};

/** Why a text was not taken: a code of JSON-RPC, a sentence, and the limit it broke. */
interface Refusal extends Pick<ParseFault, "code" | "message"> {
  readonly limit?: BrokenLimit | undefined;
}

export class Conversation {
  readonly transport: Transport;
  /** Answers nobody waited for, questions nobody may ask, and other messages without a meaning. */
  ignored = 0;
  /** The request on whose stream the message came that is being taken in; undefined where nothing says so. */
  stream: RequestId | undefined;
  #codec: ClientCodec;
  readonly #events: ConversationEvents;
  readonly #limits: JsonRpcLimits;
  readonly #connection: Connection;
  readonly #carrier: AnswerCarrier;
  #ended = false;
  #settled = false;
  /** The text being taken in: what turns out to be no message is reported by it. */
  #text = "";

  constructor(transport: Transport, codec: ClientCodec, { events, limits }: ConversationOptions) {
    this.transport = transport;
    this.#codec = codec;
    this.#events = events;
    this.#limits = limits;
    this.#connection = new Connection(this.#handler(), limits);
    this.#carrier = new AnswerCarrier(transport.kind, {
      send: (text, kind) => this.#answer({ text, kind }),
      noise: () => events.noise(shortened(this.#text)),
    });
  }

  /** What it leads to, for people. */
  describe(): string {
    return this.transport.describe?.() ?? this.transport.kind;
  }

  get codec(): ClientCodec {
    return this.#codec;
  }

  /** What is taken in came on the stream of a request that is over. */
  get late(): boolean {
    return this.stream !== undefined && !this.#connection.awaits(this.stream);
  }

  /** The transport is gone, or was closed. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Rejects with the transport's LocalError. */
  open(): Promise<void> {
    return this.#connection.open(this.transport, this.#sink());
  }

  /** Changes how the conversation speaks, while that is being found out. */
  speak(codec: ClientCodec): void {
    this.#codec = codec;
  }

  /** Tells the transport what was agreed on. */
  established(): void {
    const { era, date } = this.#codec.revision;
    this.#settled = true;
    this.transport.established?.({ era, version: date });
  }

  /** Resolves with the result as it stands on the wire. Rejects with an RpcError or a LocalError. */
  request(sending: Sending): Promise<JsonObject> {
    const connection = this.#connection;
    const id = connection.newId();
    const { method, params, onProgress, extras } = sending;
    let body: string | undefined;
    try {
      body = this.#codec.paramsText(params, onProgress === undefined ? extras : { ...extras, progressToken: id });
    } catch (cause) {
      const why = (cause as Error).message.split("\n")[0];
      return Promise.reject(
        new LocalError("BAD_OPTIONS", `${method} was not sent: what it was given is no JSON: ${why}`, { cause }),
      );
    }
    const member = body === undefined ? "" : `,"params":${body}`;
    const text = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${member}}`;
    const answer = connection.expect(id, waitingOf(sending));
    if (!connection.awaits(id)) return answer;
    const headers = this.#codec.headers(method, params, sending.mirrored);
    const taker = this.transport.shortens ? sending.taker : undefined;
    void connection.send({
      text,
      kind: "request",
      id,
      method,
      headers: method === "initialize" ? undefined : headers,
      taker,
    });
    sending.onSent?.(id, answer);
    return answer;
  }

  notify(method: string, params?: object): void {
    const headers = this.#codec.headers(method, params as JsonObject | undefined);
    void this.#connection.send({ text: notificationText(method, params), kind: "notification", method, headers });
  }

  /** Rejects a request without telling the server. */
  giveUp(id: RequestId, error: LocalError): void {
    this.#connection.giveUp(id, error);
  }

  /** What went on behind the answer to a request is over. */
  endProgress(token: RequestId): void {
    this.#connection.endProgress(token);
  }

  /** Ends it: what waits is rejected with CLOSED. Never rejects. */
  async close(): Promise<void> {
    this.#end();
    await this.transport.close();
  }

  #end(error?: LocalError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#carrier.closed = true;
    this.#connection.end(error);
  }

  #sink(): MessageSink {
    return {
      receive: (text, arrival) => this.#receive(text, arrival),
      unreadable: (error, arrival, excerpt) => this.#unread(lengthFault(error), excerpt ?? UNSEEN, arrival),
      lost: (id, error) => void this.#connection.giveUp(id, error),
      noise: (line) => this.#events.noise(shortened(line)),
      closed: (error) => {
        if (this.#ended) return;
        this.#end(error);
        this.#events.ended(error ?? new LocalError("CLOSED", `${this.describe()} closed the connection`), this);
      },
    };
  }

  #handler(): ConnectionHandler {
    return {
      rules: () => RULES,
      request: (message, carrier) => this.#asked(message, carrier),
      notification: (message) => this.#notified(message),
      ignored: () => void this.ignored++,
      abandoned: (id, waiting, reason) => this.#abandoned(id, waiting, reason),
    };
  }

  #receive(text: string, arrival: Arrival | undefined): void {
    const value = parseJson(text, this.#limits);
    this.#text = text;
    this.#connection.status = arrival?.status;
    this.stream = arrival?.forRequest;
    if (value instanceof ParseFault) this.#unread(measured(value, text), excerptOf(text), arrival);
    else if (!this.#saysNothing(value)) this.#connection.deliver(withoutNulls(value), this.#carrier);
    this.#text = "";
  }

  /** Whether it answers a request with neither a result nor an error: that request ends now, not when its time is up. */
  #saysNothing(value: unknown): boolean {
    if (!isJsonObject(value) || "method" in value || "result" in value || "error" in value) return false;
    const text = "The server's answer has neither a result nor an error.";
    return this.#connection.giveUp(value["id"] as RequestId, new LocalError("INVALID_RESPONSE", text));
  }

  // An answer that cannot be read fails the request it is for now, not when its time is up; a question is refused.
  #unread({ code, message, limit }: Refusal, excerpt: Excerpt, arrival: Arrival | undefined): void {
    const id = answeredId(excerpt) ?? (mayBeAnswer(code, excerpt) ? arrival?.forRequest : undefined);
    const advice = limit === undefined ? "" : ` Ask for less, or raise limits.${limit}.`;
    const text = `The server's answer cannot be read: ${message}.${advice}`;
    if (this.#connection.giveUp(id, new LocalError("INVALID_RESPONSE", text))) return;
    const asked = this.#codec.revision.era === "handshake" ? identify(excerpt).id : undefined;
    if (asked !== undefined) this.#carrier.write(failureText(asked, { code, message }), "response");
    this.#events.noise(shortened(`${message}: ${excerpt.head}`));
  }

  #asked(message: RequestMessage, carrier: Carrier): void {
    // A server of the stateless era asks within its answers only; what comes otherwise is never answered. One of the older
    // era may ping before it is known to be one.
    const early = message.method === "ping" && !this.#settled;
    if (early || this.#codec.revision.era === "handshake") return void this.#answered(message, carrier);
    this.ignored++;
    carrier.abandon?.();
  }

  // The call a question belongs to must not run out of time while somebody thinks.
  async #answered(message: RequestMessage, carrier: Carrier): Promise<void> {
    this.#connection.hold();
    await this.#events.asked(message, carrier, this);
    this.#connection.release();
  }

  #notified({ method, params = {} }: NotificationMessage): void {
    const isProgress = method === "notifications/progress" && typeof params["progress"] === "number";
    if (isProgress && this.#connection.progress(params["progressToken"], params)) return;
    this.#events.notified(method, params, this);
  }

  // In a session the server is told by a notification, never of a handshake; without one the transport may have a way of its own.
  #abandoned(id: RequestId, { method }: Waiting, reason: string): void {
    const told = this.transport.forget?.(id) === true;
    if (told || UNTOLD.has(method) || this.#ended) return;
    this.notify("notifications/cancelled", { requestId: id, reason });
  }

  // Where the era is not settled yet, all there is to answer is a ping.
  #answer(message: Outgoing): void {
    if (this.#settled && this.#codec.revision.era === "stateless") return;
    void this.#connection.send({ ...message, headers: this.#codec.headers("", undefined) });
  }
}

/** How a request waits. */
function waitingOf(sending: Sending): Waiting {
  const { method, timeoutMs, maxTimeoutMs, timeOption, signal, stop, onProgress, taker } = sending;
  const advice = timeOption === undefined ? CALL_ADVICE : raising(timeOption);
  const progress = onProgress && progressSink(onProgress);
  return { method, timeoutMs, maxTimeoutMs, advice, signal, stop, progress, taker };
}

function raising(option: string): TimeAdvice {
  const text = `. Raise ${option} if the server needs longer.`;
  return { quiet: text, most: text };
}

/** Carries the client's answers to the server's questions; what has no id of its own is not answered. */
class AnswerCarrier implements Carrier {
  readonly kind: string;
  readonly principal = undefined;
  closed = false;
  readonly #to: { send(text: string, kind: OutgoingKind): void; noise(): void };

  constructor(kind: string, to: { send(text: string, kind: OutgoingKind): void; noise(): void }) {
    this.kind = kind;
    this.#to = to;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void {
    if (this.closed) return;
    if (kind === "response" && text.startsWith(NO_ID)) this.#to.noise();
    else this.#to.send(text, kind);
  }
}

function shortened(line: string): string {
  return line.length > LONGEST_NOISE ? `${line.slice(0, LONGEST_NOISE)}…` : line;
}

/** Servers that write out what they leave out give notifications a null id and null params. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value) || typeof value["method"] !== "string") return value;
  for (const name of OPTIONAL) if (value[name] === null) delete value[name];
  return value;
}

/** Whether what cannot be read may be the answer its stream is for: noise and notifications are not, and it is still to come. */
function mayBeAnswer(code: number, excerpt: Excerpt): boolean {
  if (excerpt === UNSEEN) return true;
  return code !== ErrorCode.ParseError && (isAnswerWithoutId(excerpt.head) || BATCH.test(excerpt.head));
}

/** The fault with what the text has of what it has too much of. */
function measured({ code, message, limit }: ParseFault, text: string): Refusal {
  if (limit === undefined) return { code, message };
  const amount = limit === "messageBytes" ? text.length : amountOf(limit, text);
  return { code, message: `${message} (it has ${amount})`, limit };
}

/** What a transport could not make a text of was too long, or not UTF-8. */
function lengthFault({ code, message }: RpcError): Refusal {
  return { code, message, limit: code === ErrorCode.InvalidRequest ? "messageBytes" : undefined };
}

// What is known of a server once it is settled how to speak to it.

/** What a server says of itself. */
export interface ServerFacts {
  readonly server: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** Revisions it says it speaks, where it says so. */
  readonly offered: readonly string[];
}

export interface Established extends ServerFacts {
  readonly conversation: Conversation;
  readonly revision: Revision;
}

// The error of a connection that could not be made: what was tried, what came of each, and what to do.

/** One thing that was tried on the way. */
export interface Attempt {
  /** `server/discover over http`. */
  readonly what: string;
  /** What came of it, in one sentence. */
  readonly outcome: string;
}

/**
 * `code` is that of the transport's error (SPAWN_FAILED, EXITED, TIMEOUT, HTTP_STATUS, UNAUTHORIZED, FORBIDDEN …), or
 * - `INCOMPATIBLE`: the two sides have no revision in common,
 * - `NOT_SUPPORTED`: something in `require` is missing,
 * - `REFUSED`: the server answered the handshake with an error,
 * - `INVALID_RESPONSE`: its answer to the handshake cannot be used.
 */
export class ConnectError extends LocalError {
  override readonly name = "ConnectError";
  readonly attempts: readonly Attempt[];
  /** HTTP status, when that was what failed. */
  readonly status: number | undefined;

  constructor(
    code: string,
    message: string,
    about: { attempts: readonly Attempt[]; cause?: unknown; status?: number | undefined },
  ) {
    super(code, message, { cause: about.cause });
    this.attempts = about.attempts;
    this.status = about.status;
  }
}

/** The word for an error on the way. */
export function codeOf(error: unknown): string {
  if (error instanceof LocalError) return error.code;
  return error instanceof RpcError ? "REFUSED" : "FAILED";
}

/** One sentence for what came of an attempt. */
export function outcomeText(error: unknown): string {
  if (error instanceof RpcError) return `answered with error ${error.code}: ${peerWords(error.message)}`;
  return error instanceof Error ? error.message : String(error);
}

// Reads what a server says of itself in the answer to `initialize` or `server/discover`.

const NOBODY: Implementation = { name: "unknown", version: "unknown" };

/** Throws INVALID_RESPONSE when the answer is none. */
export function discoveredFacts(result: JsonObject): ServerFacts {
  const { supportedVersions, _meta: meta } = result;
  if (!isStrings(supportedVersions)) throw invalidResponse("server/discover", "it lists no supportedVersions");
  // Drafts had the server's identity in the result itself.
  const info = isJsonObject(meta) && isJsonObject(meta[META.serverInfo]) ? meta[META.serverInfo] : result["serverInfo"];
  return { ...common("server/discover", result, info), offered: supportedVersions };
}

/** Throws INVALID_RESPONSE when the answer is none. */
export function initializedFacts(result: JsonObject): ServerFacts {
  return { ...common("initialize", result, result["serverInfo"]), offered: [] };
}

/** The versions an error names; undefined when it names none. */
export function supportedVersions(data: unknown): readonly string[] | undefined {
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  return isStrings(supported) && supported.length > 0 ? supported : undefined;
}

function common(method: string, result: JsonObject, info: unknown): Omit<ServerFacts, "offered"> {
  const { instructions } = result;
  const declared = result["capabilities"] ?? {};
  if (!isJsonObject(declared)) throw invalidResponse(method, "its capabilities are no object");
  // Null is how some servers write what they do not have.
  const capabilities = Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== null));
  return {
    server: isJsonObject(info) ? { ...NOBODY, ...info } : NOBODY,
    capabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
