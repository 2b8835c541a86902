// Two transports joined in memory: what one end sends, the other receives, in order and never in the same call.
import type {
  Arrival,
  IdentifiedCarrier,
  Identity,
  MessageSink,
  Outgoing,
  OutgoingKind,
  Transport,
} from "../jsonrpc/transport.js";
import { DEFAULT_LIMITS } from "../jsonrpc/limits.js";

/**
 * A linked pair. Closing either end closes both, after what was sent before has been delivered. What the second one
 * receives comes from `sender`: a name, or all that is known of whoever that is.
 */
export function memoryTransports(sender?: string | Identity): [Transport, Transport] {
  const left = new MemoryEnd();
  const right = new MemoryEnd(sender);
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryEnd implements Transport, IdentifiedCarrier {
  readonly kind = "memory";
  readonly principal: string | undefined;
  readonly identity: Identity | undefined;
  readonly #done: Promise<void>;
  readonly #arrival: Arrival = { reply: this };
  #other: MemoryEnd | undefined;
  #sink: MessageSink | undefined;
  #inbox: string[] = [];
  #inboxLength = 0;
  #scheduled = false;
  #delivered: Promise<void> | undefined;
  #onDelivered: (() => void) | undefined;
  #closed = false;
  #onDone!: () => void;

  constructor(sender?: string | Identity) {
    this.identity = typeof sender === "object" ? sender : undefined;
    this.principal = typeof sender === "object" ? sender.principal : sender;
    this.#done = new Promise((resolve) => {
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

  write(text: string, _kind?: OutgoingKind): void | Promise<void> {
    if (!this.#closed) return this.#other?.accept(text);
  }

  send({ text }: Outgoing): void | Promise<void> {
    return this.write(text);
  }

  describe(): string {
    return "the server in memory";
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
    return this.#done;
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
    for (const text of texts) void sink.receive(text, this.#arrival);
    this.#onDelivered?.();
    this.#delivered = undefined;
    if (!this.#closed || this.#inbox.length > 0) return;
    sink.closed();
    this.#onDone();
  }
}
