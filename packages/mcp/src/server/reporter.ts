// Where a server says what only its operator should know: on standard error, unless the author takes it.
import { errorMessage, isThenable, visibleText } from "../jsonrpc/message.js";
import { type LoggingLevel, levelIndex } from "../protocol/features/lifecycle.js";

/** Told what only the operator should know. `details.error` is the exception, where there was one. */
export type Reporter = (level: LoggingLevel, message: string, details?: Readonly<Record<string, unknown>>) => void;

/** Lower levels tell of cancellations and stray messages: nobody asked for those on a terminal. */
const LOWEST_SHOWN = levelIndex("warning");
/** Reports of one window that are written: more than a person reads, less than a flood of failing calls makes. */
const REPORTS_PER_WINDOW = 100;
const WINDOW_MS = 1_000;
/** Causes followed below an error; some libraries make them circular. */
const MOST_CAUSES = 5;
const LONGEST_MESSAGE = 1_000;

/**
 * The reporter of the server `name`. Nothing it does can end the process: what `report` throws, or rejects with, is written to
 * standard error together with the report it was given. False reports nothing.
 */
export function reporterOf(name: string, report: Reporter | false | undefined): Reporter {
  if (report === false) return () => undefined;
  const written = new WrittenReports(name);
  if (report === undefined) return (level, message, details) => written.write(level, message, details?.["error"]);
  return (level, message, details) => {
    const failed = (error: unknown): void => {
      written.write("error", "The server's `report` option threw, while it was told what follows", error);
      written.write("error", message, details?.["error"]);
    };
    try {
      const returned: unknown = report(level, message, details);
      if (isThenable(returned)) Promise.resolve(returned).catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

/** Writes to standard error, by the console of whatever runtime this is, and says how much it left out. */
class WrittenReports {
  readonly #name: string;
  #windowStart = Number.NEGATIVE_INFINITY;
  #written = 0;
  #dropped = 0;

  constructor(name: string) {
    this.#name = visibleText(name, LONGEST_MESSAGE);
  }

  write(level: LoggingLevel, message: string, error: unknown): void {
    if (levelIndex(level) < LOWEST_SHOWN) return;
    const now = performance.now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#written = 0;
      this.#tellDropped();
    }
    if (this.#written >= REPORTS_PER_WINDOW) {
      this.#dropped++;
      return;
    }
    this.#written++;
    const under = error === undefined ? "" : `\n${stackOf(error)}`;
    toStandardError(`[${this.#name}] ${level}: ${visibleText(message, LONGEST_MESSAGE)}${under}`);
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const what = `${this.#dropped} reports were left out: more than ${REPORTS_PER_WINDOW} a second`;
    this.#dropped = 0;
    toStandardError(`[${this.#name}] warning: ${what}`);
  }
}

function toStandardError(text: string): void {
  try {
    // oxlint-disable-next-line no-console -- the one way to standard error on every runtime, and what this file is for
    console.error(text);
  } catch {
    // There is no place left to say it.
  }
}

/** The stack of an error and of its causes, bounded; of anything else that was thrown its text. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  let next = error;
  for (let depth = 0; next !== undefined && depth <= MOST_CAUSES; depth++) {
    stacks.push(errorMessage(textOf(next)));
    next = next instanceof Error ? next.cause : undefined;
  }
  return stacks.join("\ncaused by: ");
}

/** Nothing that was thrown can make this throw. */
function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.stack ?? `${thrown.name}: ${thrown.message}`;
    return typeof thrown === "object" && thrown !== null
      ? `thrown: ${JSON.stringify(thrown)}`
      : `thrown: ${String(thrown)}`;
  } catch {
    return "thrown: something that has no text";
  }
}
