// Writes to people: stdout and stderr as plain lines, colours only where a terminal shows them.
import type { Interface } from "node:readline/promises";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { UsageError } from "./command-line.js";

type Stream = "stdout" | "stderr";

/** Exit codes of every command. */
export const ExitCode = {
  Ok: 0,
  Failed: 1,
  /** A wrong command line or policy: nothing was done. */
  Usage: 2,
  /** The server wants authorization that nobody gave. */
  Unauthorized: 3,
  /** There is no server there, or no common language with it. */
  Unreachable: 4,
  /** A tool said that it failed, or there is no such tool. */
  Tool: 5,
  /** As shells have it of a program that Ctrl-C ended. */
  Interrupted: 130,
} as const;

/** The person ended the command with Ctrl-C. */
export class InterruptedError extends Error {}

const SGR = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", cyan: "36" } as const;
/** Begins a style until it is printed. No text of a stranger has it: it is another one in each process, and printed by none. */
const OWN = `\u001b${Math.random().toString(36).slice(2)}<`;

/** `text` in a style where `stream` is a terminal or FORCE_COLOR is set, and NO_COLOR is not; to be printed by this file. */
export function styled(style: keyof typeof SGR, text: string, stream: Stream = "stdout"): string {
  return hasColours(stream) ? `${OWN}${SGR[style]}m${text}${OWN}0m` : text;
}

export function print(text: string): void {
  hideProgress();
  process.stdout.write(`${calm(text)}\n`);
}

export function complain(text: string): void {
  hideProgress();
  process.stderr.write(`${calm(text)}\n`);
}

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
const ALL_STEERING = new RegExp(`${OWN}(?=(?:[0-2]|3[1236])m)|${STEERING.source}`, "gu");

/** Whatever a command forgot to clean: our own styles stay, and nothing else acts on the terminal or turns the direction of a line. */
export function calm(text: string): string {
  if (!STEERING.test(text)) return text;
  return text.replace(ALL_STEERING, (found) => (found === OWN ? "\u001b[" : escapeUnseen(found)));
}

// One line on standard error that says what is waited for and how long, where a terminal shows it.

const CLEAR_LINE = "\r\u001b[K";
/** Milliseconds between two looks at the clock: a person wants to see that something moves. */
const TICK_MS = 1_000;
/** Of a terminal that does not say how wide it is. */
const USUAL_COLUMNS = 80;

let waiting: { readonly text: string; readonly since: number; readonly timer: NodeJS.Timeout } | undefined;

/** Says what is done now, in place of what was said before, with the seconds it has taken. */
export function showProgress(text: string): void {
  clearProgress();
  if (!process.stderr.isTTY || process.env["TERM"] === "dumb") return;
  const since = performance.now();
  waiting = { text, since, timer: setInterval(drawProgress, TICK_MS).unref() };
  drawProgress();
}

/** Takes the line away for good. */
export function clearProgress(): void {
  if (waiting === undefined) return;
  clearInterval(waiting.timer);
  hideProgress();
  waiting = undefined;
}

/** Until the next tick: what is printed has a line of its own. */
function hideProgress(): void {
  if (waiting !== undefined) process.stderr.write(CLEAR_LINE);
}

function drawProgress(): void {
  if (waiting === undefined) return;
  const seconds = Math.floor((performance.now() - waiting.since) / 1_000);
  const taken = ` …${seconds > 0 ? ` ${seconds} s` : ""}`;
  const text = fitted(waiting.text, (process.stderr.columns || USUAL_COLUMNS) - taken.length - 1);
  process.stderr.write(`${CLEAR_LINE}${calm(styled("dim", `${text}${taken}`, "stderr"))}`);
}

/** Prints a value as JSON that holds the same and acts on no terminal, whoever wrote what is in it. */
export function printJson(value: unknown): void {
  print(escapeUnseen(JSON.stringify(value, null, 2)));
}

/** The outcome of a command: with `--json` the value, else the words. */
export function tell({ json }: { readonly json: boolean }, value: unknown, words: string): void {
  if (json) printJson(value);
  else print(words);
}

/** The same on stderr, in one line. */
export function complainJson(value: unknown): void {
  complain(escapeUnseen(JSON.stringify(value)));
}

/** Columns of the terminal that stdout is; undefined where it is none. */
export function outputWidth(): number | undefined {
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined;
}

/** At most so many characters; what was cut is marked. */
export function fitted(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Breaks a text between its words into lines of at most so many characters, later ones indented. */
export function wrapped(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

/** A reader that went away (`… | head`) ends the program quietly; a disk that is full ends it with one line. */
export function endWithReader(): void {
  for (const stream of ["stdout", "stderr"] as const) {
    process[stream].on("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") process.exit();
      if (stream === "stdout") complain(`mcp-secure-local: standard output cannot be written: ${message}`);
      process.exit(ExitCode.Failed);
    });
  }
}

function hasColours(stream: Stream): boolean {
  if (process.env["NO_COLOR"]) return false;
  const forced = process.env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return process[stream].isTTY && process.env["TERM"] !== "dumb";
}

// Asks a person questions, one line at a time.

/** Asks one question and resolves to the line that is answered. */
export type Ask = (question: string) => Promise<string>;

/** Lines that are kept for questions not asked yet: more than any conversation has. */
const MAX_EARLY_LINES = 1_000;

/**
 * Asks on `lines`, one question at a time. A line that comes before its question (several answers pasted at once) is
 * kept for it. Rejects once `gone` is aborted and no such line is left.
 */
export function askOn(lines: Interface, output: NodeJS.WritableStream, gone: AbortSignal): Ask {
  const early: string[] = [];
  lines.on("line", (line) => early.length < MAX_EARLY_LINES && early.push(line));
  lines.on("SIGINT", () => (early.length = 0));
  return async (question) => {
    const answer = early.shift();
    if (answer === undefined) return await lines.question(calm(question), { signal: gone });
    output.write(`${calm(question)}${answer}\n`);
    return answer;
  };
}

/** Runs a conversation in the terminal. @throws UsageError when its input ends, InterruptedError at Ctrl-C */
export async function askInTerminal<T>(conversation: (ask: Ask) => Promise<T>): Promise<T> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const gone = new AbortController();
  let interrupted = false;
  lines.on("close", () => gone.abort());
  lines.on("SIGINT", () => {
    interrupted = true;
    lines.close();
  });
  try {
    return await conversation(askOn(lines, process.stdout, gone.signal));
  } catch (error) {
    if (interrupted) throw new InterruptedError("interrupted, so nothing was written");
    if (gone.signal.aborted) throw new UsageError("no answer came, so nothing was written; run it again in a terminal");
    throw error;
  } finally {
    lines.close();
  }
}

/** Asks before something is written, in a terminal; whoever says no hears what was not done. */
export async function agreesInTerminal(
  question: string,
  usual: boolean,
  otherwise = "Nothing is written.",
): Promise<boolean> {
  const agreed = await askInTerminal((ask) => askYesNo(ask, question, usual));
  if (!agreed) complain(otherwise);
  return agreed;
}

/** Asks until the answer is yes, no or empty. */
export async function askYesNo(ask: Ask, question: string, usual: boolean): Promise<boolean> {
  for (let again = ""; ; again = "Please answer y or n. ") {
    const answer = (await ask(`${again}${question} [${usual ? "Y/n" : "y/N"}] `)).trim().toLowerCase();
    if (answer === "") return usual;
    if (["y", "yes"].includes(answer)) return true;
    if (["n", "no"].includes(answer)) return false;
  }
}
