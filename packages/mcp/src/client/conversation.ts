// One conversation over one link: sends requests, matches answers, hands on what the server says by itself.
import type { ClientCodec, HeaderArgument, RequestExtras } from "../era/client-codec.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import { answeredId, excerpt as excerptOf, identify, isAnswerWithoutId } from "../jsonrpc/identify.js";
import type { BrokenLimit, JsonRpcLimits } from "../jsonrpc/limits.js";
import type { ArrivalInfo, Link, LinkSink, Outgoing } from "../jsonrpc/link.js";
import { LocalError } from "../jsonrpc/local-error.js";
import {
  isJsonObject,
  type JsonObject,
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
} from "../jsonrpc/message.js";
import { ParseFault } from "../jsonrpc/parse-fault.js";
import { parseJson } from "../jsonrpc/parse.js";
import { amountOf } from "../jsonrpc/scan.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { RpcError } from "../jsonrpc/rpc-error.js";
import { Peer, type PeerHandler, type WireRules } from "../jsonrpc/peer.js";
import { failureText, notificationText } from "../jsonrpc/respond.js";
import type { Excerpt } from "../jsonrpc/transport.js";
import { AnswerCarrier } from "./answer-carrier.js";
import type { Progress } from "./call-options.js";
import { RequestTable, type Waiting } from "./request-table.js";

/** What is told of a conversation. Nothing here may throw. */
export interface ConversationEvents {
  /** A question of the server, in a session. Answer it on the carrier, or abandon it; then resolve. Never rejects. */
  asked(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void>;
  notified(method: string, params: JsonObject, conversation: Conversation): void;
  /** A line where a message was expected. */
  noise(line: string): void;
  /** The link is gone, and not because we closed it. */
  ended(error: LocalError, conversation: Conversation): void;
}

/** A request as the conversation sends it. */
export interface Sending extends Waiting {
  readonly params?: JsonObject | undefined;
  readonly extras?: RequestExtras | undefined;
  readonly mirrored?: readonly HeaderArgument[] | undefined;
  /** Told the id the request has on the wire. */
  onSent?: ((id: RequestId) => void) | undefined;
}

export interface ConversationOptions {
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

/** Why a text was not taken: a code of JSON-RPC, a sentence, and the limit it broke. */
interface Refusal extends Pick<ParseFault, "code" | "message"> {
  readonly limit?: BrokenLimit | undefined;
}

export class Conversation {
  readonly link: Link;
  /** Answers nobody waited for, questions nobody may ask, and other messages without a meaning. */
  ignored = 0;
  #codec: ClientCodec;
  readonly #events: ConversationEvents;
  readonly #limits: JsonRpcLimits;
  readonly #table: RequestTable;
  readonly #peer: Peer;
  readonly #carrier: AnswerCarrier;
  #ended = false;
  #settled = false;
  #draining: Promise<void> | undefined;
  /** The text being taken in: what turns out to be no message is reported by it. */
  #text = "";

  constructor(link: Link, codec: ClientCodec, { events, limits }: ConversationOptions) {
    this.link = link;
    this.#codec = codec;
    this.#events = events;
    this.#limits = limits;
    this.#table = new RequestTable(limits, (id, waiting, reason) => this.#abandoned(id, waiting, reason));
    this.#peer = new Peer(this.#handler(), limits, this.#table);
    this.#carrier = new AnswerCarrier(
      link.kind,
      (message) => this.#answer(message),
      () => events.noise(shortened(this.#text)),
    );
  }

  get codec(): ClientCodec {
    return this.#codec;
  }

  /** The link is gone, or was closed. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Rejects with the link's LocalError. */
  open(): Promise<void> {
    return this.link.open(this.#sink());
  }

  /** Changes how the conversation speaks, while that is being found out. */
  speak(codec: ClientCodec): void {
    this.#codec = codec;
  }

  /** Tells the link what was agreed on. */
  established(): void {
    const { era, date } = this.#codec.revision;
    this.#settled = true;
    this.link.established?.({ era, version: date });
  }

  /** Resolves with the result as it stands on the wire. Rejects with an RpcError or a LocalError. */
  request(sending: Sending): Promise<JsonObject> {
    const id = this.#table.newId();
    const { method, params, onProgress, extras } = sending;
    const body = this.#codec.paramsText(params, onProgress === undefined ? extras : { ...extras, progressToken: id });
    const member = body === undefined ? "" : `,"params":${body}`;
    const text = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${member}}`;
    const answer = this.#table.add(id, sending);
    if (!this.#table.has(id)) return answer;
    const headers = this.#codec.headers(method, params, sending.mirrored);
    this.#send({ text, kind: "request", id, method, headers: method === "initialize" ? undefined : headers });
    sending.onSent?.(id);
    return answer;
  }

  notify(method: string, params?: object): void {
    const headers = this.#codec.headers(method, params as JsonObject | undefined);
    this.#send({ text: notificationText(method, params), kind: "notification", method, headers });
  }

  /** Rejects a request without telling the server. */
  giveUp(id: RequestId, error: LocalError): void {
    this.#table.failLocally(id, error);
  }

  /** What went on behind the answer to a request is over. */
  endProgress(token: RequestId): void {
    this.#table.endProgress(token);
  }

  /** Ends it: what waits is rejected with CLOSED. Never rejects. */
  async close(): Promise<void> {
    this.#end();
    await this.link.close();
  }

  #end(error?: LocalError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#carrier.closed = true;
    this.#table.close(error);
    this.#peer.closed();
  }

  #sink(): LinkSink {
    return {
      receive: (text, info) => this.#receive(text, info),
      unreadable: (error, info, excerpt) => this.#unread(lengthFault(error), excerpt ?? UNSEEN, info),
      lost: (id, error) => void this.#table.failLocally(id, error),
      noise: (line) => this.#events.noise(shortened(line)),
      closed: (error) => {
        if (this.#ended) return;
        this.#end(error);
        this.#events.ended(error ?? new LocalError("CLOSED", `${this.link.describe()} closed the connection`), this);
      },
    };
  }

  #handler(): PeerHandler {
    return {
      rules: () => RULES,
      request: (message, carrier) => this.#asked(message, carrier),
      notification: (message) => this.#notified(message),
      ignored: () => void this.ignored++,
    };
  }

  #receive(text: string, info: ArrivalInfo | undefined): void {
    const value = parseJson(text, this.#limits);
    this.#text = text;
    this.#table.status = info?.status;
    if (value instanceof ParseFault) this.#unread(measured(value, text), excerptOf(text), info);
    else this.#peer.deliver(withoutNulls(value), this.#carrier);
    this.#text = "";
  }

  // An answer that cannot be read fails the request it is for now, not when its time is up; a question is refused.
  #unread({ code, message, limit }: Refusal, excerpt: Excerpt, info: ArrivalInfo | undefined): void {
    const id = answeredId(excerpt) ?? (mayBeAnswer(code, excerpt) ? info?.forRequest : undefined);
    const advice = limit === undefined ? "" : ` Ask for less, or raise limits.${limit}.`;
    const text = `The server's answer cannot be read: ${message}.${advice}`;
    if (this.#table.failLocally(id, new LocalError("INVALID_RESPONSE", text))) return;
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
    this.#table.hold();
    await this.#events.asked(message, carrier, this);
    this.#table.release();
  }

  #notified({ method, params = {} }: NotificationMessage): void {
    if (method !== "notifications/progress") return this.#events.notified(method, params, this);
    const { progress, progressToken } = params;
    const known = typeof progress === "number" && this.#table.progress(progressToken, params as unknown as Progress);
    if (!known) this.#events.notified(method, params, this);
  }

  // In a session the server is told by a notification, never of a handshake; without one the link may have a way of its own.
  #abandoned(id: RequestId, { method }: Waiting, reason: string): void {
    const told = this.link.forget(id);
    if (told || UNTOLD.has(method) || this.#ended) return;
    this.notify("notifications/cancelled", { requestId: id, reason });
  }

  // Where the era is not settled yet, all there is to answer is a ping.
  #answer(message: Outgoing): void {
    if (this.#settled && this.#codec.revision.era === "stateless") return;
    this.#send({ ...message, headers: this.#codec.headers("", undefined) });
  }

  // A link that is behind is waited for; what nobody waits for any more when it has caught up is not sent at all.
  #send(message: Outgoing): void {
    const { id } = message;
    const sent =
      this.#draining === undefined
        ? this.link.send(message)
        : this.#draining.then(() => (id === undefined || this.#table.has(id) ? this.link.send(message) : undefined));
    if (sent === undefined) return;
    const draining = sent.then(() => {
      if (this.#draining === draining) this.#draining = undefined;
    });
    this.#draining = draining;
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

/** What a link could not make a text of was too long, or not UTF-8. */
function lengthFault({ code, message }: RpcError): Refusal {
  return { code, message, limit: code === ErrorCode.InvalidRequest ? "messageBytes" : undefined };
}
