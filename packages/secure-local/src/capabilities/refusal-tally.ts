// Counts what a sandbox was refused, so that a few records tell of it however often it asks.
import type { Judge } from "../sandbox/wall.js";

/** What was asked for, and where, in words, with how often; the rule that refused it. */
export type TellRefusals = (what: string, rule: string) => void;

/** The first is told of after this long, with all that came meanwhile; each further time takes twice as long, up to the longest. */
const FIRST_MS = 10_000;
const LONGEST_MS = 10 * 60_000;
/** Rules told apart; there are some hundred, of which a program meets a few. */
const MOST_RULES = 16;
const REST = "further rules";
/** Paths that are named for each rule; the others are counted. */
const MOST_PATHS = 5;

interface Refused {
  count: number;
  readonly paths: Set<string>;
}

export class RefusalTally {
  readonly #tell: TellRefusals;
  readonly #refused = new Map<string, Refused>();
  #wait = FIRST_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: TellRefusals) {
    this.#tell = tell;
  }

  add(path: string, op: Parameters<Judge>[1], rule: string): void {
    const known = this.#refused.has(rule) || this.#refused.size < MOST_RULES ? rule : REST;
    const refused = this.#refused.get(known) ?? { count: 0, paths: new Set() };
    this.#refused.set(known, refused);
    refused.count += 1;
    if (refused.paths.size < MOST_PATHS) refused.paths.add(`${op} ${path}`);
    this.#timer ??= setTimeout(() => this.#flush(), this.#wait).unref();
  }

  /** Tells what was not told yet. */
  close(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wait = Math.min(this.#wait * 2, LONGEST_MS);
    const told = [...this.#refused];
    this.#refused.clear();
    for (const [rule, { count, paths }] of told) {
      const more = paths.size === MOST_PATHS ? ", …" : "";
      this.#tell(`${[...paths].join(", ")}${more}${count === 1 ? "" : ` (${count} times)`}`, rule);
    }
  }
}
