// One stream of a session: its messages are numbered and kept, whoever is connected to it at the moment.
import type { EventStore } from "./event-store.js";
import { EventStream, numberedEvent, primingEvent } from "./event-stream.js";
import type { HeaderList, HttpExchange } from "./exchange.js";
import type { StreamKeeper } from "./stream-keeper.js";

/** Milliseconds a client should wait before it comes back, when nothing else was asked for. */
const RETRY_MS = 1_000;

/** What the streams of a session share. */
export interface StreamHome {
  readonly id: string;
  readonly store: EventStore;
  readonly keeper: StreamKeeper;
  /** Whether streams open with an empty event and may be hung up on. */
  readonly polling: boolean;
}

export class ResumableStream {
  readonly number: number;
  readonly #home: StreamHome;
  #connection: EventStream | undefined;
  #sequence = 0;
  /** The answer has been sent: nothing more will come. */
  finished = false;

  constructor(home: StreamHome, number: number) {
    this.#home = home;
    this.number = number;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Opens the reply of `exchange` as this stream's connection, with a first event where the revision has one. */
  open(exchange: HttpExchange, headers: HeaderList, retryMs: number = RETRY_MS): void {
    const connection = this.#accept(exchange, headers);
    this.#attach(connection);
    void connection.write(this.#home.polling ? primingEvent(this.#id(this.#sequence), retryMs) : ": open\n\n");
  }

  /** Numbers, keeps and sends a message. `droppable`: it may be left out when the reader is far behind. */
  send(text: string, droppable: boolean): void | Promise<void> {
    const connection = this.#connection;
    if (droppable && connection?.full === true) return undefined;
    const sequence = ++this.#sequence;
    this.#home.store.append(this.#home.id, this.number, { sequence, text });
    return connection?.write(numberedEvent(this.#id(sequence), text));
  }

  /** Ends the stream; with a last message it is that message's. */
  finish(text?: string): void | Promise<void> {
    const written = text === undefined ? undefined : this.send(text, false);
    this.finished = true;
    this.hangUp();
    return written;
  }

  /** Ends the connection and not the stream. */
  hangUp(): void {
    this.#connection?.end();
    this.#connection = undefined;
  }

  /** Connects a reader that has seen everything up to `seen`. False when what it missed is not kept any more. */
  async resume(exchange: HttpExchange, headers: HeaderList, seen: number): Promise<boolean> {
    const { id, store } = this.#home;
    const missed = await store.after(id, this.number, seen);
    if ((missed[0]?.sequence ?? this.#sequence + 1) !== seen + 1 || exchange.over) return false;
    const connection = this.#accept(exchange, headers);
    let sent = seen;
    // What is sent meanwhile is kept first and fetched by the next turn, so nothing is lost and nothing comes twice.
    for (let events = missed; ; events = await store.after(id, this.number, sent)) {
      for (const { sequence, text } of events) {
        await connection.write(numberedEvent(this.#id(sequence), text));
        sent = sequence;
      }
      if (sent >= this.#sequence || events.length === 0) break;
    }
    if (missed.length === 0) void connection.write(": resumed\n\n");
    this.#attach(connection);
    return true;
  }

  #accept(exchange: HttpExchange, headers: HeaderList): EventStream {
    const connection = new EventStream(exchange, this.#home.keeper, headers);
    const gone = (): void => {
      connection.gone();
      if (this.#connection === connection) this.#connection = undefined;
    };
    exchange.onGone = { gone };
    return connection;
  }

  #attach(connection: EventStream): void {
    this.hangUp();
    if (this.finished) connection.end();
    else if (!connection.closed) this.#connection = connection;
  }

  #id(sequence: number): string {
    return `${this.number}-${sequence}`;
  }
}

/** The stream and position an event id names; undefined when it is none of ours. */
export function readEventId(id: string): { readonly stream: number; readonly sequence: number } | undefined {
  const match = /^(\d{1,9})-(\d{1,9})$/.exec(id);
  return match === null ? undefined : { stream: Number(match[1]), sequence: Number(match[2]) };
}
