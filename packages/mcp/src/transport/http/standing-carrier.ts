// Takes a session's messages that belong to no request to one of its GET streams.
import type { Carrier, OutgoingKind } from "../../jsonrpc/transport.js";
import type { HttpExchange } from "./exchange.js";
import type { HttpSession } from "./http-session.js";
import type { ResumableStream } from "./resumable-stream.js";

export class StandingCarrier implements Carrier {
  readonly kind = "http";
  readonly session: HttpSession;
  #streams: readonly ResumableStream[] = NO_STREAMS;
  #held: string[] | undefined;

  constructor(session: HttpSession) {
    this.session = session;
  }

  get principal(): string | undefined {
    return this.session.principal;
  }

  get closed(): boolean {
    return this.session.closed;
  }

  header(): undefined {
    return undefined;
  }

  /** Sends on exactly one stream; while none is connected, keeps for the one that was last or for the first to come. */
  write(text: string, kind: OutgoingKind): void | Promise<void> {
    const stream = this.#streams.find((each) => each.connected) ?? this.#streams.at(-1);
    if (stream !== undefined) return stream.send(text, kind === "notification");
    this.#held ??= [];
    this.#held.push(text);
    if (this.#held.length > this.session.settings.limits.held) this.#held.shift();
  }

  /** Whether a stream is open, or was and may be taken up again. */
  get opened(): boolean {
    return this.#streams.length > 0;
  }

  /** Whether a stream is open now. */
  get reachable(): boolean {
    return this.#streams.some((each) => each.connected);
  }

  owns(stream: ResumableStream): boolean {
    return this.#streams.includes(stream);
  }

  /** Makes the reply of `exchange` a stream for these messages. False when there are as many as there may be. */
  open(exchange: HttpExchange): boolean {
    const connected = this.#streams.filter((each) => each.connected);
    if (connected.length >= this.session.settings.limits.streams) return false;
    // A client that opens a new stream instead of resuming does not want the rest of the old one.
    for (const each of this.#streams) if (!each.connected) this.session.forgetStream(each);
    const stream = this.session.openStream(exchange, []);
    this.#streams = [...connected, stream];
    const held = this.#held;
    this.#held = undefined;
    for (const text of held ?? []) void stream.send(text, true);
    return true;
  }
}

const NO_STREAMS: readonly ResumableStream[] = [];
