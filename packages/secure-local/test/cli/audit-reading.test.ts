// `audit query` and `audit tail`: which records are shown, and that showing them does no harm.
import * as fs from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { archivesOf } from "../../src/audit/log-file.js";
import { auditQuery, auditTail, jsonLine, recordFilter, tableRow } from "../../src/cli/audit-command.js";
import { readCommandLine } from "../../src/cli/command-line.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

const NOW = Date.parse("2026-06-15T12:00:00Z");
const RECORD = {
  time: "2026-06-15T11:30:00.000Z",
  kind: "denied",
  tool: "web_search",
  principal: "ada",
  outcome: "denied",
  decision: { allowed: false, rule: "tools.denied: web_search", line: 7 },
};
const LINE = JSON.stringify(RECORD);

let file: string;
let shown: string;

beforeEach(() => {
  file = join(temporaryFolder(), "audit.log");
  shown = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((shown += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  return () => vi.restoreAllMocks();
});

describe("records", () => {
  it.each([
    [[], true],
    [["tool=web_search"], true],
    [["tool=web_*", "principal=ada", "decision=denied", "kind=denied"], true],
    [["tool=web"], false],
    [["decision=allowed"], false],
    [["since=1h"], true],
    [["since=10m"], false],
    [["since=2026-06-15", "until=2026-06-16"], true],
    [["until=2026-06-15T11:00:00Z"], false],
    [["TOOLS.DENIED"], true],
    [["nothing"], false],
    [["outcome=denied", "web"], true],
    [["connection=1"], false],
  ])("fit %j: %s", (words, fits) => expect(recordFilter(words, NOW)(RECORD, LINE)).toBe(fits));

  it("of what an allowed tool was denied are denials too", () => {
    const [intent, result] = [{ decision: { allowed: true } }, { kind: "call.result", outcome: "denied" }];
    expect([intent, result].map((record) => recordFilter(["decision=denied"])(record, ""))).toEqual([false, true]);
    expect([intent, result].map((record) => recordFilter(["decision=allowed"])(record, ""))).toEqual([true, false]);
  });

  it.each(["colour=red", "since=soon", "decision=maybe", "since=99999999d"])("are not asked for by %s", (word) => {
    expect(() => recordFilter([word], NOW)).toThrow(/write|there are|no time/);
  });

  it("are one line with the rule and its line, in which nothing acts", () => {
    const row = tableRow({ ...RECORD, tool: "a\nb\u001b[2J\u202e" });
    expect(row).toContain("tools.denied: web_search (line 7)");
    expect(row).toContain("a\\nb ");
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(row).not.toMatch(/[\n\u001b\u202e]/);
    const line = JSON.stringify({ tool: "a\u202e\u{E0041}\u009b" });
    expect(JSON.parse(jsonLine(line))).toEqual(JSON.parse(line));
    expect(jsonLine(line)).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe("a log", () => {
  it("is asked over all its files, and lines that are no records are passed over", async () => {
    const log = await AuditLog.open(file, { rotateBytes: 1_000 });
    for (let index = 0; index < 30; index++)
      await log.record({ kind: "call.intent", tool: index % 3 ? "odd" : "third" });
    await log.close();
    fs.appendFileSync(file, "no record\n");
    expect(archivesOf(file).length).toBeGreaterThan(2);
    await auditQuery(readCommandLine(["--json"]), [file], ["tool=third"]);
    const found = shown
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(found).toEqual(Array.from({ length: 10 }, (_, index) => index * 3 + 1));
  });

  it("is followed over the moment when it is put away", async () => {
    const log = await AuditLog.open(file, { rotateBytes: 1_500 });
    await log.record({ kind: "start" });
    const over = new AbortController();
    const following = auditTail(readCommandLine(["--json"]), [file], { words: [], signal: over.signal });
    const seen = (): number => shown.split("\n").length - 1;
    await expect.poll(seen, { timeout: 5_000 }).toBe(1);
    for (let index = 0; index < 8; index++) await log.record({ kind: "call.intent", tool: `t${index}` });
    await expect.poll(seen, { timeout: 5_000 }).toBe(9);
    expect(archivesOf(file)).toHaveLength(1);
    over.abort();
    await following;
    await log.close();
  });
});
