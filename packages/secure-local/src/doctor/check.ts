// What one check is, and what it can come to.
import type { Exam } from "./exam.js";

export type Verdict = "ok" | "warn" | "fail" | "skipped";

export interface Outcome {
  readonly verdict: Verdict;
  /** What was found, in one sentence; why, when it was skipped. */
  readonly detail: string;
}

/** What has to be there for a check to be run. */
export type Need = "session" | "handshake" | "stateless" | "stdio" | "http" | "tools" | "resources" | "prompts";

export interface Check {
  /** Names it for ever: for reports, and for people who look it up. */
  readonly id: string;
  /** What a healthy server does. */
  readonly title: string;
  /** Number of the MUST in the list of easily missed ones, where it is among them. */
  readonly must?: number;
  readonly needs?: readonly Need[];
  /** What to do when it is not so. */
  readonly advice: string;
  run(exam: Exam): Outcome | Promise<Outcome>;
}

export const OK: Outcome = { verdict: "ok", detail: "" };

export function fail(detail: string): Outcome {
  return { verdict: "fail", detail };
}

export function warn(detail: string): Outcome {
  return { verdict: "warn", detail };
}

export function skipped(detail: string): Outcome {
  return { verdict: "skipped", detail };
}

/** OK without faults; else the first ones, joined. */
export function unless(faults: readonly string[], verdict: "warn" | "fail" = "fail"): Outcome {
  if (faults.length === 0) return OK;
  const more = faults.length > SHOWN ? ` and ${faults.length - SHOWN} more` : "";
  return { verdict, detail: `${faults.slice(0, SHOWN).join("; ")}${more}` };
}

/** Faults of one kind told before the rest is counted. */
const SHOWN = 4;

/** A value of a server's as words: a text as it is, all else as JSON. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
