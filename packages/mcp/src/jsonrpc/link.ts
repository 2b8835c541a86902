// What carries a client's messages to one server and back: opened once, given each message, closed.
import type { OutgoingKind } from "./carrier.js";
import type { LocalError } from "./local-error.js";
import type { RequestId } from "./message.js";
import type { RpcError } from "./rpc-error.js";
import type { Excerpt } from "./transport.js";

/** One serialised message on its way to the server. */
export interface Outgoing {
  readonly text: string;
  readonly kind: OutgoingKind;
  /** The request's own id, for requests. */
  readonly id?: RequestId | undefined;
  readonly method?: string | undefined;
  /** Headers the protocol wants, by lower-case name; nothing to links without headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a link knows of a text beside the text. */
export interface ArrivalInfo {
  /** HTTP status of the response the text was the body of, or an event in. */
  readonly status?: number | undefined;
  /** The request whose own stream the text came on; undefined on a standing stream and where there are no streams. */
  readonly forRequest?: RequestId | undefined;
}

/** The client's end of a link. Nothing here may throw. */
export interface LinkSink {
  /** One JSON text: a message, or a batch. */
  receive(text: string, info?: ArrivalInfo): void | Promise<void>;
  /** Bytes that never became a message: too long, or not UTF-8. From the excerpt the request it answers is read. */
  unreadable(error: RpcError, info?: ArrivalInfo, excerpt?: Excerpt): void;
  /** The request will get no answer: refused without one, or its stream was cut and cannot be resumed. */
  lost(id: RequestId, error: LocalError): void;
  /** Something the server should not have sent, where messages are expected: a line of a child's stdout. */
  noise(line: string): void;
  /** The link is gone for good. Called once; with the reason unless it was closed by us. */
  closed(error?: LocalError): void;
}

/** How the two sides agreed to speak. */
export interface Agreement {
  readonly era: "handshake" | "stateless";
  /** Date of the revision. */
  readonly version: string;
}

export interface Link {
  /** How the bytes travel: "stdio", "http", "sse", "memory". */
  readonly kind: string;
  /** What the link leads to, for people: a command line or a URL. */
  describe(): string;
  /**
   * What is known of the other side's troubles and no error has told yet, as sentences with a space before each, for
   * the end of an error: the last lines of a child's standard error, how it ended. Empty when there is nothing.
   */
  troubles?(): string;
  /** Ready to send when it resolves. Rejects with a LocalError that says what was tried. Called once. */
  open(sink: LinkSink): Promise<void>;
  /** Undefined when taken at once, else a promise for when the link can take more. Never throws or rejects: see `LinkSink.lost`. */
  send(message: Outgoing): void | Promise<void>;
  /** Nobody waits for the answer to this request any more. True when the link itself lets the server know. */
  forget(id: RequestId): boolean;
  /** Told once the revision is settled; a session's standing stream is opened now. */
  established?(agreement: Agreement): void;
  /** Ends it and leaves nothing behind. Safe to call again; never rejects. */
  close(): Promise<void>;
}
