// Two transports joined in memory: what one end sends, the other receives, in order and never in the same call.
import type { Carrier, Link, LinkSink, MessageSink, Outgoing, OutgoingKind, Transport } from "../jsonrpc/transport.js";
import { DEFAULT_LIMITS } from "../jsonrpc/limits.js";

/** One end of the pair; `send` is for those who have no message, and so no carrier, to answer to yet. */
export interface MemoryTransport extends Transport {
  /** As `Carrier.write`: a promise when the other end has fallen behind. */
  send(text: string): void | Promise<void>;
}

/**
 * A linked pair. Closing either end closes both, after what was sent before has been delivered. What the second one
 * receives comes from `principal`.
 */
export function memoryTransports(principal?: string): [MemoryTransport, MemoryTransport] {
  const left = new MemoryEnd();
  const right = new MemoryEnd(principal);
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryEnd implements MemoryTransport, Carrier {
  readonly kind = "memory";
  readonly principal: string | undefined;
  readonly done: Promise<void>;
  #other: MemoryEnd | undefined;
  #sink: MessageSink | undefined;
  #inbox: string[] = [];
  #inboxLength = 0;
  #scheduled = false;
  #delivered: Promise<void> | undefined;
  #onDelivered: (() => void) | undefined;
  #closed = false;
  #onDone!: () => void;

  constructor(principal?: string) {
    this.principal = principal;
    this.done = new Promise((resolve) => {
      this.#onDone = resolve;
    });
  }

  join(other: MemoryEnd): void {
    this.#other = other;
  }

  get closed(): boolean {
    return this.#closed;
  }

  start(sink: MessageSink): void {
    this.#sink = sink;
    this.#schedule();
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, _kind: OutgoingKind): void | Promise<void> {
    return this.send(text);
  }

  send(text: string): void | Promise<void> {
    if (!this.#closed) return this.#other?.accept(text);
  }

  accept(text: string): void | Promise<void> {
    this.#inbox.push(text);
    this.#inboxLength += text.length;
    this.#schedule();
    if (this.#inboxLength < DEFAULT_LIMITS.highWaterBytes) return;
    this.#delivered ??= new Promise((resolve) => {
      this.#onDelivered = resolve;
    });
    return this.#delivered;
  }

  close(): Promise<void> {
    this.end();
    this.#other?.end();
    return this.done;
  }

  end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#schedule();
    // An end that nobody listens to has nobody to tell.
    if (this.#sink === undefined) this.#onDone();
  }

  #schedule(): void {
    if (this.#scheduled || this.#sink === undefined) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliver(this.#sink as MessageSink));
  }

  #deliver(sink: MessageSink): void {
    const texts = this.#inbox;
    this.#inbox = [];
    this.#inboxLength = 0;
    this.#scheduled = false;
    for (const text of texts) sink.receive(text, this);
    this.#onDelivered?.();
    this.#delivered = undefined;
    if (!this.#closed || this.#inbox.length > 0) return;
    sink.closed();
    this.#onDone();
  }
}

// A client's link to a server in the same program.

/** The link over one end of a pair of memory transports. */
export class MemoryLink implements Link {
  readonly kind = "memory";
  readonly #transport: MemoryTransport;
  #closing = false;

  constructor(transport: MemoryTransport) {
    this.#transport = transport;
  }

  describe(): string {
    return "the server in memory";
  }

  open(sink: LinkSink): Promise<void> {
    this.#transport.start({
      receive: (text) => void sink.receive(text),
      unreadable: (error) => sink.unreadable(error),
      closed: () => {
        if (!this.#closing) sink.closed();
      },
    });
    return Promise.resolve();
  }

  send(message: Outgoing): void | Promise<void> {
    return this.#transport.send(message.text);
  }

  forget(): boolean {
    return false;
  }

  close(): Promise<void> {
    this.#closing = true;
    return this.#transport.close();
  }
}
