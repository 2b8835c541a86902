// One HTTP request and its reply, as the endpoint sees them: the small interface every runtime is adapted to.
import type { Identity, MessagePieces } from "../../jsonrpc/transport.js";

/** Header names and values in turn, so that the commonest replies share one array. */
export type HeaderList = readonly string[];

/** What may be known of a request before its body is read. */
export interface HttpRequestHead {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
  /** By lower-case name; several of one name joined by a comma. */
  header(name: string): string | undefined;
}

/** Why a body did not become a text. */
export type BodyFault = "too-long" | "not-utf8" | "no-room";

export interface BodyReceiver {
  body(exchange: HttpExchange, text: string): void;
  bodyFault(exchange: HttpExchange, fault: BodyFault): void;
}

/** The endless half of a reply. */
export interface HttpStream {
  /** Bytes written and not yet taken by the network. */
  readonly buffered: number;
  /** Sends text; false when the reader is behind and `onDrain` will be called. */
  write(text: string): boolean;
  end(): void;
  /** Ends without waiting for the reader. */
  destroy(): void;
  onDrain: (() => void) | undefined;
}

/**
 * Has to know of a client that goes away. An object, and no function made for each request: on account of those V8 keeps
 * every request until the next full collection, which costs a fifth of a call's time.
 */
export interface GoneListener {
  gone(): void;
}

/** Says whether a request may still be gone on with; undefined: it may. */
interface PassToGoOn {
  refusal(
    exchange: HttpExchange,
  ): { readonly status: number; readonly text: string; readonly headers: HeaderList } | undefined;
}

/** Exactly one of `reply` and `open` is called, once. */
export interface HttpExchange extends HttpRequestHead {
  /** Who is asking: set by the endpoint once it knows. */
  principal: string | undefined;
  /** More about who is asking, where the endpoint knows more than a name. */
  identity: Identity | undefined;
  /** What it was let in by: set by the endpoint, and asked wherever it is gone on with. */
  pass?: PassToGoOn | undefined;
  /** Why whoever is asking may not send this message instead of the one that came: set by the endpoint once it has let that one in. */
  lacking?: ((method: string, params: object) => Error | undefined) | undefined;
  /** Headers every reply of this exchange carries besides its own. */
  extra: HeaderList | undefined;
  /** All headers by lower-case name, where the runtime can tell: for handing the request on. */
  readonly allHeaders?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Another process let this request in and handed it on: it is served here or nowhere. */
  readonly relayed?: boolean;
  /** True once nothing can be sent any more: answered, or the client went away. */
  readonly over: boolean;
  /** Network address of the other end; undefined where the runtime does not tell. */
  readonly address: string | undefined;
  /** Stands for the connection the request came on; undefined where the runtime does not tell. */
  readonly connection: object | undefined;
  /** Told once when the client goes away before the reply was complete. */
  onGone: GoneListener | undefined;
  /** Told once when the reply is complete, or the client has gone. */
  onOver: GoneListener | undefined;
  /** Collects the body. The receiver hears nothing of a client that goes away meanwhile. */
  readBody(limit: number, receiver: BodyReceiver): void;
  /** Sends a whole reply. */
  reply(status: number, headers: HeaderList, body?: string | MessagePieces): void;
  /** Lets work go on after the reply, where the runtime would end it. */
  outlive?(work: Promise<unknown>): void;
  /** Begins a reply without end. */
  open(status: number, headers: HeaderList): HttpStream;
}
