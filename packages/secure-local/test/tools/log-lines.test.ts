// Which lines of a log an analysis gets to see.
import { describe, expect, it } from "vitest";
import { parseTimeframe, pickLines, severityRank } from "../../src/prompts/analyze-logs.js";

const LOG = [
  "started by hand",
  "2026-01-01T09:00:00Z INFO listening",
  "2026-01-01T10:00:00.250Z ERROR cannot reach the database",
  "    at connect (db.js:1)",
  "    Error: inner",
  "2026-01-01 11:00:00,500 [WARN] slow query",
  "[2026-01-01T13:00:00+01:00] debug: cache miss",
  '{"level":50,"time":1767268800000,"msg":"failed"}',
  '{"timestamp":"2026-01-01T12:30:00Z","level":"info","msg":"error in the text only"}',
  "2026-01-01T13:00:00Z no level here",
];
const at = (hour: number) => Date.UTC(2026, 0, 1, hour);
const pick = (since: number, severity?: string) => pickLines(LOG.join("\n"), { since, severity }).split("\n");

describe("pickLines", () => {
  it("keeps everything when nothing is asked for", () => {
    expect(pick(0)).toEqual(LOG);
  });

  it("keeps what is recent, whatever the form of the time, and what nobody can date at the start", () => {
    expect(pick(at(11))).toEqual([LOG[0], ...LOG.slice(5)]);
    expect(pick(at(12))).toEqual([LOG[0], ...LOG.slice(6)]);
    expect(pick(at(13))).toEqual([LOG[0], LOG[9]]);
  });

  it("keeps what is grave enough, and stack traces with their entry", () => {
    expect(pick(0, "error")).toEqual([LOG[0], ...LOG.slice(2, 5), LOG[7], LOG[9]]);
    expect(pick(0, "warning")).toEqual([LOG[0], ...LOG.slice(2, 6), LOG[7], LOG[9]]);
  });

  it("knows short and long names of levels", () => {
    expect(severityRank("WARN")).toBe(severityRank("warning"));
    expect(severityRank("fatal")).toBe(severityRank("critical"));
    expect(severityRank("loud")).toBeUndefined();
  });
});

it.each([
  ["24h", { ms: 86_400_000, words: "24 hours" }],
  ["1h", { ms: 3_600_000, words: "hour" }],
  [" 7D ", { ms: 604_800_000, words: "7 days" }],
  ["0h", undefined],
  ["1y", undefined],
  ["h", undefined],
  ["99999d", undefined],
  ["-1h", undefined],
])("the timeframe %j is read", (text, timeframe) => {
  expect(parseTimeframe(text)).toEqual(timeframe);
});
