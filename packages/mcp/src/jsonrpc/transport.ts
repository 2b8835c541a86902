// What carries messages: it starts, delivers text to a sink, and closes. It never looks inside a message.
import type { Carrier } from "./carrier.js";
import type { RpcError } from "./rpc-error.js";

/** The first and last characters of a text that could not be taken in, from which its request id may still be read. */
export interface Excerpt {
  readonly head: string;
  /** Undefined when `head` is the whole text. */
  readonly tail: string | undefined;
}

export interface MessageSink {
  receive(text: string, carrier: Carrier): void;
  /** Bytes that never became a message: too long, or not UTF-8. */
  unreadable(error: RpcError, carrier: Carrier, excerpt?: Excerpt): void;
  /** The other side will send no more. What is being served may still be answered. Called once. */
  closed(): void;
}

export interface Transport {
  /** Begins delivery. Called once. */
  start(sink: MessageSink): void;
  /** Takes in nothing more, sends what is still to be sent, and ends. Safe to call again. */
  close(): Promise<void>;
  /** Resolves, never rejects, once nothing can be received or sent any more. */
  readonly done: Promise<void>;
}
