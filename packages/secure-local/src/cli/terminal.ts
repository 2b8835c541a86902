// Writes to people: stdout and stderr as plain lines, colours only where a terminal shows them.
import { escapeUnseen } from "../audit/escape-unseen.js";

export type Stream = "stdout" | "stderr";

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
} as const;

const SGR = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", cyan: "36" } as const;
const ESCAPE = "\u001b[";

/** `text` in a style where `stream` is a terminal or FORCE_COLOR is set, and NO_COLOR is not. */
export function styled(style: keyof typeof SGR, text: string, stream: Stream = "stdout"): string {
  return hasColours(stream) ? `${ESCAPE}${SGR[style]}m${text}${ESCAPE}0m` : text;
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints a value as JSON that holds the same and acts on no terminal, whoever wrote what is in it. */
export function printJson(value: unknown): void {
  print(escapeUnseen(JSON.stringify(value, null, 2)));
}

/** The same on stderr, in one line. */
export function complainJson(value: unknown): void {
  complain(escapeUnseen(JSON.stringify(value)));
}

/** A reader that went away (`… | head`) ends the program quietly; nobody is left to tell. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit();
      throw error;
    });
  }
}

function hasColours(stream: Stream): boolean {
  if (process.env["NO_COLOR"]) return false;
  const forced = process.env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return process[stream].isTTY && process.env["TERM"] !== "dumb";
}
