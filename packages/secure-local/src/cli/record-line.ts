// Writes a record for a person (one line of a table) or for a program (JSON), harmless to the terminal either way.
import { escapeUnseen } from "../audit/escape-unseen.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { LogRecord } from "./record-filter.js";
import { styled } from "./terminal.js";

const WIDTHS = { time: 24, kind: 17, tool: 20, principal: 12, outcome: 14 } as const;

export const TABLE_HEAD: string = row(["time", "kind", "tool", "principal", "outcome", "rule"]);

/** Time, kind, tool, principal, outcome, and the rule with its line. */
export function tableRow(record: LogRecord): string {
  const { time, kind, tool, principal, outcome, decision, detail, duration_ms: duration } = record;
  const { allowed, rule, line } = (decision ?? {}) as { allowed?: boolean; rule?: string; line?: number };
  const told = (detail ?? {}) as { rule?: unknown; reason?: unknown };
  const why = rule ?? told.rule ?? told.reason;
  const took = typeof duration === "number" ? ` ${Math.round(duration)} ms` : "";
  const place = line === undefined ? "" : ` (line ${line})`;
  const verdict = outcome ?? (allowed === undefined ? "" : allowed ? "allowed" : "denied");
  const text = row([time, kind, tool, principal, `${asText(verdict)}${took}`, `${asText(why)}${place}`]);
  return allowed === false || outcome === "denied" ? styled("red", text) : text;
}

/** The line as it stands in the log, unseen characters as escapes; it says the same to whoever parses it. */
export function jsonLine(line: string): string {
  return escapeUnseen(line);
}

function row(cells: readonly unknown[]): string {
  const widths = Object.values(WIDTHS);
  return cells
    .map((cell, index) => cleanLine(asText(cell)).padEnd(widths[index] ?? 0))
    .join("  ")
    .trimEnd();
}

function asText(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
