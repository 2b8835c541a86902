// Says which limit of a sandbox ended a program, by the signal the kernel ends it with.
import { constants } from "node:os";

/** The key to raise, and what went over it. */
const LIMITS: Partial<Record<NodeJS.Signals, string>> = {
  SIGXFSZ: "it wrote a file longer than sandbox.file_mb allows",
  SIGXCPU: "it computed longer than sandbox.cpu_seconds allows",
};

/** @param code Of a sandbox: it passes on what ended the program inside as 128 and the signal's number. */
export function signalOf(code: number | null | undefined, signal?: string | null): string | undefined {
  return signal ?? Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
}

/** Undefined where no limit did it, as far as the kernel says. */
export function endedByLimit(code: number | null | undefined, signal?: string | null): string | undefined {
  return LIMITS[signalOf(code, signal) as NodeJS.Signals];
}
