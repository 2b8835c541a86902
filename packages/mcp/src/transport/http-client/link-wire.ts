// What the streams of one HTTP link share.
import type { LinkSink } from "../../jsonrpc/link.js";
import type { HttpClientLimits } from "./http-client-limits.js";
import type { HttpReply } from "./http-requester.js";

export interface PostOptions {
  readonly text: string;
  /** What the protocol wants for this message. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly repeatable: boolean;
  /** The session it belongs to. */
  readonly session: string | undefined;
  readonly started: (cancel: () => void) => void;
}

export interface GetOptions {
  /** Value of Last-Event-ID. */
  readonly cursor: string | undefined;
  readonly session: string | undefined;
  readonly started: (cancel: () => void) => void;
}

export interface LinkWire {
  readonly sink: LinkSink;
  readonly limits: HttpClientLimits;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** A cut stream can be taken up again. */
  readonly resumable: boolean;
  /** A standing stream is open, on which anything may come. */
  readonly standing: boolean;
  /** Rejects with a LocalError. */
  post(options: PostOptions): Promise<HttpReply>;
  /** Asks for an event stream. Rejects with a LocalError, TIMEOUT among them. */
  get(options: GetOptions): Promise<HttpReply>;
  /** The reply to `initialize` says which session was opened. False: in a way that cannot be sent back. */
  opened(reply: HttpReply): boolean;
  /** The server does not know the session any more. */
  expired(session: string): void;
  /** Something is wrong that no message can be blamed for. */
  trouble(what: string): void;
}
