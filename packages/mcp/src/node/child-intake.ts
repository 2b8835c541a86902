// Reads a child's standard output: messages to one side, noise to the other, no faster than they are taken.
import type { Readable } from "node:stream";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { LineFraming, UnreadableLine } from "../transport/stdio-framing.js";
import { looksLikeMessage, NoiseMeter } from "./child-noise.js";
import { decodeUtf8 } from "./decode-utf8.js";

export interface IntakeEvents {
  /** A promise holds up what comes after until it resolves. */
  message(text: string): void | Promise<void>;
  unreadable(line: UnreadableLine): void;
  noise(line: string): void;
  /** Takes out of noise what nobody may see. */
  clean(text: string): string;
  /** The child writes so much that is no message that it must be stopped. Called once, and nothing after it. */
  flooded(): void;
  /** All that came has been delivered. Called once. */
  ended(): void;
}

// Lines delivered before other work gets a turn.
const LARGEST_GROUP = 256;

export class ChildIntake {
  readonly meter: NoiseMeter;
  readonly #stream: Readable;
  readonly #framing: LineFraming;
  readonly #events: IntakeEvents;
  #waiting = false;
  #streamEnded = false;
  #cutLine = false;
  #stopped = false;

  constructor(stream: Readable, limits: JsonRpcLimits, events: IntakeEvents) {
    this.#stream = stream;
    this.#events = events;
    this.#framing = new LineFraming(limits, { decode: decodeUtf8, measures: true });
    this.meter = new NoiseMeter(limits, (text) => events.clean(text));
    stream.on("data", this.#take).on("end", this.#end).on("close", this.#end).on("error", this.#end);
  }

  /** Delivers nothing more, and reads on: a child that nobody reads from cannot end. */
  discard(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).resume();
  }

  /** Reads nothing more and delivers nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#stopped) return;
    this.meter.bytes(chunk.length, performance.now());
    this.#framing.push(chunk);
    if (!this.#waiting) this.#deliver();
  };

  readonly #end = (): void => {
    if (this.#streamEnded) return;
    this.#streamEnded = true;
    if (!this.#waiting) this.#deliver();
  };

  readonly #goOn = (): void => {
    this.#waiting = false;
    this.#deliver();
    if (!this.#waiting && !this.#stopped) this.#stream.resume();
  };

  #deliver(): void {
    for (let lines = 0; !this.#stopped; lines++) {
      if (this.meter.flooded) return this.#flooded();
      if (lines === LARGEST_GROUP) return this.#wait(undefined);
      const line = this.#framing.next();
      if (line === undefined) {
        if (!this.#streamEnded) return;
        if (this.#cutLine) return this.#finish();
        // What follows the last line end: the child was cut off in the middle of it, or left the end out.
        this.#cutLine = true;
        this.#framing.end();
        continue;
      }
      const taken = this.#dispatch(line);
      if (taken !== undefined) return this.#wait(taken);
    }
  }

  #dispatch(line: string | UnreadableLine): void | Promise<void> {
    const unreadable = line instanceof UnreadableLine;
    const text = unreadable ? line.excerpt.head : line;
    if (looksLikeMessage(text)) {
      if (unreadable) return this.#events.unreadable(line);
      if (!this.#cutLine || isJson(text)) {
        this.meter.message();
        return this.#events.message(text);
      }
    }
    const shown = this.meter.line(text, unreadable, performance.now());
    if (shown !== undefined) this.#events.noise(shown);
  }

  #wait(taken: Promise<void> | undefined): void {
    this.#waiting = true;
    this.#stream.pause();
    if (taken === undefined) setImmediate(this.#goOn);
    else taken.then(this.#goOn, this.#goOn);
  }

  // The pipe stays: closed, it would make the child end with words about that.
  #flooded(): void {
    this.#stopped = true;
    this.#stream.off("data", this.#take).pause();
    this.#events.flooded();
  }

  #finish(): void {
    this.#stopped = true;
    this.#events.ended();
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
