// What carries messages: it starts, delivers text to a sink, and closes. It never looks inside a message.
import type { LocalError, RpcError } from "./errors.js";
import type { RequestId, TextBytes, TextPieces } from "./message.js";

/** The first and last characters of a text that could not be taken in, from which its request id may still be read. */
export interface Excerpt {
  readonly head: string;
  /** Undefined when `head` is the whole text. */
  readonly tail: string | undefined;
}

/** What a transport knows of a message beside its text. */
export interface Arrival {
  /** Where its answer goes, where that is not `Transport.send`. */
  readonly reply?: Carrier | undefined;
  /** HTTP status of the response the text was the body of, or an event in. */
  readonly status?: number | undefined;
  /** The request of ours whose own stream the text came on; undefined on a standing stream and where there are no streams. */
  readonly forRequest?: RequestId | undefined;
}

/** One end of a connection, as its transport sees it. Nothing here throws. */
export interface MessageSink {
  /** One JSON text: a message, or a batch. A promise for when the next may come, where taking it in takes time. */
  receive(text: string, arrival?: Arrival): void | Promise<void>;
  /** Bytes that never became a message: too long, or not UTF-8. From the excerpt the request it answers is read. */
  unreadable(error: RpcError, arrival?: Arrival, excerpt?: Excerpt): void;
  /** A request that was sent will get no answer: refused without one, or its stream was cut and cannot be resumed. */
  lost(id: RequestId, error: LocalError): void;
  /** Something that should not have come where messages are expected: a line of a child's stdout. */
  noise(line: string): void;
  /** The other side will send no more; what is being served may still be answered. Called once, with the reason unless we closed. */
  closed(error?: LocalError): void;
}

/** Who takes a long answer without its long strings becoming strings: they would be decoded and parsed only to be written again. */
export interface Shortener {
  /**
   * A text that stands for the message in `body`, which is UTF-8, of which only what `part` gives may be kept, and which does not
   * change until that is written. Undefined for a body that is to be read as every other.
   */
  shorten(body: Uint8Array, part: (from: number, to: number) => TextBytes): string | undefined;
}

/** One serialised message on its way. */
export interface Outgoing {
  readonly text: string;
  readonly kind: OutgoingKind;
  /** The request's own id, for requests. */
  readonly id?: RequestId | undefined;
  readonly method?: string | undefined;
  /** Headers the protocol wants, by lower-case name; nothing to transports without headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Of a request: given its answer where that is a long body, by transports that say `shortens`. */
  readonly taker?: Partial<Shortener> | undefined;
}

/** How the two sides agreed to speak. */
export interface Agreement {
  readonly era: "handshake" | "stateless";
  /** Date of the revision. */
  readonly version: string;
}

/**
 * Carries messages to one other side and back, whichever role it serves. A server's answers go to the `reply` of their
 * arrival, or by `send` where there is none.
 */
export interface Transport {
  /** How the bytes travel: "stdio", "http", "sse", "memory". */
  readonly kind: string;
  /** It heeds `Outgoing.taker`. Who wraps a transport does not say so: what it hands on has to be the message itself. */
  readonly shortens?: boolean;
  /** Begins delivery. Ready to send when it returns or resolves; rejects with a LocalError that says what was tried. Called once. */
  start(sink: MessageSink): void | Promise<void>;
  /** Undefined when taken at once, else a promise for when it can take more. Never throws or rejects: see `MessageSink.lost`. */
  send(message: Outgoing): void | Promise<void>;
  /** Takes in nothing more, sends what is still to be sent, ends, and leaves nothing behind. Safe to call again; never rejects. */
  close(): Promise<void>;
  /** What it leads to, for people: a command line or a URL. Default: its kind. */
  describe?(): string;
  /**
   * What is known of the other side's troubles and no error has told yet, as sentences with a space before each, for
   * the end of an error: the last lines of a child's standard error, how it ended. Empty when there is nothing.
   */
  troubles?(): string;
  /** Nobody waits for the answer to this request any more. True when the transport itself lets the other side know. */
  forget?(id: RequestId): boolean;
  /** Told once the revision is settled; a session's standing stream is opened now. */
  established?(agreement: Agreement): void;
}

// Where a message came from and where its answers go, as upper layers see it.

/** What a text that leaves is: transports treat the three differently. */
export type OutgoingKind = "response" | "request" | "notification";

/** One serialised message in pieces, the long ones encoded already. */
export type MessagePieces = readonly (string | Uint8Array | TextBytes)[];

/** Upper layers read a carrier and never write its fields. */
export interface Carrier {
  /** How the bytes travel: "stdio", "memory", "http", "sse". */
  readonly kind: string;
  /** Who is asking, when the transport knows. */
  readonly principal: string | undefined;
  /** The id of the session over HTTP that the message belongs to; undefined where there is none. Nobody may see it. */
  readonly sessionId?: string | undefined;
  /** True once nothing written here can reach the other side. */
  readonly closed: boolean;
  /** A header of the message by its lower-case name; undefined where there are no headers. */
  header(name: string): string | undefined;
  /**
   * Sends one serialised message without a line break in it. Undefined when it was taken at once; otherwise a promise
   * that resolves when the reader has caught up. Never throws or rejects: a closed carrier drops the message.
   * `errorCode` is the code of an error response, from which HTTP chooses its status.
   */
  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void>;
  /**
   * Sends a successful response in pieces. False where the transport has no use for bytes, and nothing happened: then
   * `write` it.
   */
  writePieces?(pieces: MessagePieces): boolean;
  /** Sends a long successful response in texts it would cost to join. Absent where they have to be joined. */
  writeTexts?(texts: TextPieces): void;
  /** Says that the message this carrier came with will get no response: it wants none, or it was `cancelled`. */
  abandon?(cancelled?: boolean): void;
  /** True where nothing but the answer can be sent with it: no notification, no question. */
  readonly answersOnly?: boolean;
  /** True where a question written now could reach nobody. */
  readonly unheard?: boolean;
  /** What came over it waits for somebody who thinks: what is kept of it until then is to be small. */
  kept?(): void;
  /**
   * Hangs up on the reader while its request goes on: it comes back for the rest after `retryMs`. False where the
   * transport or the revision has no such thing, and nothing happened.
   */
  hangUp?(retryMs: number): boolean;
  /** Told of work that goes on after the answer, for runtimes that end it with the answer otherwise. */
  outlive?(work: Promise<unknown>): void;
}

// What a client's HTTP requests are authorized by, as the transport sees it.

/** A request about to be sent, or that was sent. */
export interface AuthorizedRequest {
  readonly method: string;
  readonly url: string;
}

/** The head of a response. */
export interface AuthorizedResponse extends AuthorizedRequest {
  readonly status: number;
  /** The headers that `headers` gave for this request; without them a token renewed meanwhile may be renewed again. */
  readonly sent?: Readonly<Record<string, string>> | undefined;
  /** By lower-case name; several lines of one header joined by ", ". */
  header(name: string): string | undefined;
}

/** Gives a client's requests their authorization, and answers a 401 or 403. */
export interface HttpAuthorizer {
  /** Headers for this request, by lower-case name. Asked for each request anew: proofs are bound to it. Rejects with a LocalError. */
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  /**
   * Told of a 401 or 403. True: send the request again, with new headers. False: give the response to the caller.
   * Rejects with a LocalError when authorization was tried and failed. It bounds its own attempts.
   */
  challenged(response: AuthorizedResponse): Promise<boolean>;
  /** Told of every other response, for what travels in its headers (nonces). */
  answered?(response: AuthorizedResponse): void;
}

// Who sent a message, where whoever let it in knows more than a name.

/** Who is asking. */
export interface Identity {
  /** Names one user or machine. Sessions, tasks and cursors belong to it: two subjects never share a principal. */
  readonly principal: string;
  /** What the token allows, as granted: hierarchies are not expanded. */
  readonly scopes: readonly string[];
  readonly clientId?: string;
  /**
   * Which program of the principal's it is, where something tells them apart better than what programs call themselves: what a mounted
   * server asks without saying within which call reaches only the program that called it, and a task is only its program's.
   */
  readonly program?: string;
  /** Everything the token or the authorization server said. Never shown to the peer. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** When the token ends, in milliseconds since the epoch. Streams opened with it must not outlive it. */
  readonly expiresAt?: number;
}

/** A carrier of messages that were let in one by one, each with a token of its own. */
export interface IdentifiedCarrier extends Carrier {
  readonly identity: Identity | undefined;
  /**
   * Why whoever sent the message may not send this one in its place: a scope is missing. Undefined: it may. Absent where scopes were
   * not asked for at the door, so that whoever serves the message asks for them.
   */
  lacking?(method: string, params: object): Error | undefined;
}

/** Why whoever sent a message may not send this one in its place, as far as its transport asks for scopes. */
export function lackingFor(carrier: Carrier | IdentifiedCarrier, method: string, params: object): Error | undefined {
  return "lacking" in carrier ? carrier.lacking?.(method, params) : undefined;
}

/** The identity a message came with; undefined where its transport knows none. */
export function identityOf(carrier: Carrier | IdentifiedCarrier): Identity | undefined {
  return "identity" in carrier ? carrier.identity : undefined;
}
