// Reads a child's standard output: messages to one side, noise to the other, no faster than they are taken.
import type { Readable } from "node:stream";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { LineFraming, UnreadableLine } from "../transport/stdio-framing.js";
import { visibleText } from "../jsonrpc/visible-text.js";
import { decodeUtf8 } from "./standard-streams.js";

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

// Judges what is no message on a child's standard output: told to people in doses, and a flood of it is the end.

// Enough to recognise the line, few enough for a log.
const LINE_CHARACTERS = 500;
// Looked at for secrets before the line is cut, so that no part of one is left at the edge.
const CLEANED_CHARACTERS = 4 * LINE_CHARACTERS;
// Start banners have a few dozen lines; from then on it is counted.
const LINES_A_SECOND = 50;
const SECOND_MS = 1_000;
// Nobody prints this much by mistake in this time, and reading on costs a processor.
const FLOOD_BYTES = 64 * 1024 * 1024;
const FLOOD_MS = 10_000;
// What a line costs beside its bytes, in the time it takes to read as many; one that is not UTF-8 costs an exception.
const LINE_COST = 100;
const UNREADABLE_COST = 2_000;

/**
 * A message is an object, or an array of objects, perhaps behind a byte order mark, which its reader refuses; whether it is JSON all
 * the way, its reader finds out.
 */
const MESSAGE = /^\ufeff?[ \t]*(?:\{[ \t]*["}]|\[[ \t]*[{\]])/;
const BRACE = 123;
const QUOTE = 34;

function looksLikeMessage(line: string): boolean {
  return (line.charCodeAt(0) === BRACE && line.charCodeAt(1) === QUOTE) || MESSAGE.test(line);
}

class NoiseMeter {
  readonly #floodBytes: number;
  readonly #clean: (text: string) => string;
  #lines = 0;
  #last = "";
  #second = 0;
  #told = 0;
  #windowStart = 0;
  #windowBytes = 0;

  /** `clean` takes out what nobody may see. */
  constructor(limits: JsonRpcLimits, clean: (text: string) => string) {
    this.#clean = clean;
    // One message at its longest must never look like a flood, nor one that is too long before that was said of it.
    this.#floodBytes = Math.max(FLOOD_BYTES, 4 * limits.messageBytes);
  }

  /** Too much has come since the last message. */
  get flooded(): boolean {
    return this.#windowBytes > this.#floodBytes;
  }

  /** Bytes that arrived, of messages too. `now` in milliseconds. */
  bytes(count: number, now: number): void {
    if (now - this.#windowStart > FLOOD_MS) {
      this.#windowStart = now;
      this.#windowBytes = 0;
    }
    this.#windowBytes += count;
  }

  /** A message arrived: what came before it was worth its reading. */
  message(): void {
    this.#windowBytes = 0;
  }

  /** The line as it may be shown, or undefined when enough were shown in this second. */
  line(text: string, unreadable: boolean, now: number): string | undefined {
    this.#lines++;
    this.#windowBytes += unreadable ? UNREADABLE_COST : LINE_COST;
    if (now - this.#second >= SECOND_MS) {
      this.#second = now;
      this.#told = 0;
    }
    if (this.#told >= LINES_A_SECOND) return undefined;
    this.#told++;
    const start = this.#clean(text.slice(0, CLEANED_CHARACTERS));
    this.#last = visibleText(start + text.slice(CLEANED_CHARACTERS), LINE_CHARACTERS);
    return this.#last;
  }

  /** A sentence on what was seen, or undefined when all was quiet. */
  get summary(): string | undefined {
    if (this.#lines === 0) return undefined;
    const lines = this.#lines === 1 ? "a line that is no message" : `${this.#lines} lines that are no messages`;
    return `It printed ${lines} to standard output: "${this.#last}"`;
  }
}
