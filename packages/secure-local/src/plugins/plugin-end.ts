// Says for people how a plugin's process came to its end, and what it wrote before.
import { constants } from "node:os";

/** Lines of its output that are told: a stack trace and what stands before it. */
const TOLD_LINES = 20;

/** @param code Of a sandbox too: it passes on what ended the program inside as 128 and the signal's number. */
export function endText(code: number | null, signal: NodeJS.Signals | null): string {
  const name = signal ?? Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
  return name === undefined ? `it ended by itself with code ${code}` : `it was ended by ${name}`;
}

/** The last of its lines. */
export function lastLines(output: string): readonly string[] {
  return output === "" ? [] : output.split("\n").slice(-TOLD_LINES);
}

/** What happened to a plugin and what it wrote last, line by line. */
export function reportOf(plugin: string, what: string, output: string): readonly string[] {
  return [`plugin ${plugin}: ${what}`, ...lastLines(output).map((line) => `  | ${line}`)];
}
