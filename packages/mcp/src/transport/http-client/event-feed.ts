// Hands the messages of event streams to a sink, one at a time, and remembers where to go on after a cut.
import type { HttpReply } from "./http-requester.js";
import { OVERSIZED, type SseEvent, SseReader } from "./sse-reader.js";

export interface FeedSink {
  event(event: SseEvent): void | Promise<void>;
  oversized(): void;
}

/** One logical stream over as many connections as it takes. */
export class EventFeed {
  readonly #maxBytes: number;
  readonly #sink: FeedSink;
  #reader: SseReader;
  #lastId: string | undefined;
  #retryMs: number | undefined;
  /** Events of the connection being read, empty ones too. */
  events = 0;

  constructor(maxBytes: number, sink: FeedSink) {
    this.#maxBytes = maxBytes;
    this.#sink = sink;
    this.#reader = new SseReader(maxBytes);
  }

  /** Where to go on, as the value of Last-Event-ID; undefined where the server gave no usable id. */
  get cursor(): string | undefined {
    const id = this.#reader.lastId ?? this.#lastId;
    return id === undefined || id === "" ? undefined : headerValue(id);
  }

  /** What the server asked for with `retry`, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#reader.retryMs ?? this.#retryMs;
  }

  /** The server does not know the cursor any more. */
  forgetCursor(): void {
    this.#lastId = undefined;
    this.#reader.lastId = undefined;
  }

  /** Resolves at the end of the body; rejects with a LocalError when it was cut. */
  read(reply: HttpReply): Promise<void> {
    this.#lastId = this.#reader.lastId ?? this.#lastId;
    this.#retryMs = this.#reader.retryMs ?? this.#retryMs;
    this.#reader = new SseReader(this.#maxBytes);
    this.events = 0;
    const take = (chunk: Uint8Array): void | Promise<void> => {
      this.#reader.push(chunk);
      return this.#pump();
    };
    return reply.each(take);
  }

  #pump(): void | Promise<void> {
    for (let event = this.#reader.next(); event !== undefined; event = this.#reader.next()) {
      this.events++;
      const busy = event === OVERSIZED ? this.#sink.oversized() : this.#sink.event(event);
      if (busy !== undefined) return busy.then(() => this.#pump());
    }
  }
}

// Longer ones are no cursor but a load: a header has to hold it.
const LONGEST_ID = 1_024;

/** The bytes of the id as UTF-8, each a character, as headers are written; undefined when it cannot stand in one. */
function headerValue(id: string): string | undefined {
  if (id.length > LONGEST_ID || /[\0-\x08\x0a-\x1f\x7f]/.test(id)) return undefined;
  let value = "";
  for (const byte of new TextEncoder().encode(id)) value += String.fromCharCode(byte);
  return value;
}
