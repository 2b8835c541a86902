// `audit query` and `audit tail`: which records are shown, and that showing them does no harm.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { archivesOf } from "../../src/audit/log-file.js";
import { auditQuery, auditTail, jsonLine } from "../../src/cli/audit-command.js";
import { callsOf, localTime, readLogs, recordFilter, tableRow } from "../../src/cli/audit-lines.js";
import { AuditReport } from "../../src/cli/audit-report.js";
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

  it("are not waited for where a pipe has the name of the log", async () => {
    execFileSync("mkfifo", [file]);
    await expect(readLogs([file])[Symbol.asyncIterator]().next()).rejects.toThrow(
      "is no audit log: it is no file but a pipe",
    );
  });

  it("of what an allowed tool was denied are denials too", () => {
    const [intent, result] = [{ decision: { allowed: true } }, { kind: "call.result", outcome: "denied" }];
    expect([intent, result].map((record) => recordFilter(["decision=denied"])(record, ""))).toEqual([false, true]);
    expect([intent, result].map((record) => recordFilter(["decision=allowed"])(record, ""))).toEqual([true, false]);
  });

  it.each([
    "colour=red",
    "since=soon",
    "since=10",
    "since=Mar 7",
    "since=2026-13-01",
    "decision=maybe",
    "since=99999999d",
  ])("are not asked for by %s", (word) => {
    expect(() => recordFilter([word], NOW)).toThrow(/write|there are|no time/);
  });

  it.each(["tool=a\0b", "a\0b", "since=\0", "client=\0*"])("are not asked for with a NUL character: %j", (word) => {
    expect(() => recordFilter([word], NOW)).toThrow(
      `${JSON.stringify(word)} has a NUL character; write * in its place`,
    );
    expect(() => readCommandLine(["audit", "query", word])).toThrow(
      "has a NUL character, which no name and no path can",
    );
    expect(recordFilter(["tool=a*b"], NOW)({ ...RECORD, tool: "a\0b" }, LINE)).toBe(true);
  });

  it("are not looked for in a file whose name has a NUL character", () => {
    for (const words of [["--audit", "/x/a\0b"], ["--audit=/x/a\0b"], ["--policy", "p\0"]])
      expect(() => readCommandLine(["audit", "query", ...words])).toThrow("has a NUL character");
  });

  it("are one line with the rule and its line, in which nothing acts", () => {
    const row = tableRow({ ...RECORD, tool: "a\nb\u001b[2J\u202e" });
    expect(row).toContain("tools.denied: web_search (line 7)");
    expect(row).toContain("a\\nb\\u001b[2J\\u202e");
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
    const following = auditTail(readCommandLine(["--json"]), () => [file], { words: [], signal: over.signal });
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

describe("a call", () => {
  const intent = { kind: "call.intent", id: 1, connection: 1, method: "tools/call", client: "Claude 1.0" } as const;
  const entriesOf = async (...files: string[]): Promise<Record<string, unknown>[]> => {
    const found: Record<string, unknown>[] = [];
    for await (const { record } of callsOf(readLogs(files))) found.push(record);
    return found;
  };

  it("is one line, with what was asked for, by whom, and how it ended", async () => {
    const log = await AuditLog.open(file);
    const decision = { allowed: true, rule: "tools.allowed: read_file", line: 3 };
    await log.record({ ...intent, tool: "read_file", arguments: { path: "/etc/passwd" }, decision });
    await log.record({ ...intent, id: 2, tool: "slow", arguments: { query: "x" } });
    const ended = { kind: "call.result", connection: 1, method: "tools/call", duration_ms: 12.3 } as const;
    await log.record({
      ...ended,
      id: 1,
      tool: "read_file",
      outcome: "denied",
      detail: { rule: "filesystem.denied_paths" },
    });
    await log.close();
    await auditQuery(readCommandLine([]), [file], []);
    const [, first = "", second = "", ...rest] = shown.split("\n");
    expect(first).toMatch(/ {2}Claude 1\.0 +- +read_file +\/etc\/passwd +denied 12 ms +filesystem\.denied_paths$/);
    expect(second).toMatch(/slow +x +unfinished/);
    expect(rest).toEqual([""]);
  });

  it("is found by what became of it, and by what was asked", async () => {
    const log = await AuditLog.open(file);
    const decision = { allowed: true, rule: "tools.allowed" };
    await log.record({ ...intent, tool: "read_file", arguments: { path: "/etc/passwd" }, decision });
    await log.record({ ...intent, kind: "call.result", tool: "read_file", outcome: "denied" });
    await log.close();
    for (const words of [["decision=denied"], ["passwd"], ["client=Claude*"], ["outcome=denied", "kind=call"]]) {
      shown = "";
      await auditQuery(readCommandLine([]), [file], words);
      expect({ words, lines: shown.split("\n").length }).toEqual({ words, lines: 3 });
    }
  });

  it("is found by each kind of its records", async () => {
    const log = await AuditLog.open(file);
    const about = { connection: 1, id: 1, method: "tools/call", tool: "write_file" } as const;
    for (const kind of ["call.intent", "approval.asked", "approval.given", "call.result"] as const)
      await log.record({ kind, ...about, ...(kind === "call.result" ? { outcome: "ok" } : {}) });
    await log.record({ kind: "call.intent", ...about, id: 2 });
    await log.close();
    for (const [kind, count] of [
      ["approval.asked", 1],
      ["approval.given", 1],
      ["approval.*", 1],
      ["call", 2],
      ["approval.denied", 0],
    ] as const) {
      shown = "";
      await auditQuery(readCommandLine([]), [file], [`kind=${kind}`]);
      expect({ kind, count: shown.split("\n").length - 2 }).toEqual({ kind, count });
    }
  });

  it("stands in the order of time, over all logs", async () => {
    const other = join(temporaryFolder(), "audit.log");
    const logs = [await AuditLog.open(file), await AuditLog.open(other)];
    for (let index = 0; index < 6; index++) {
      vi.spyOn(Date, "now").mockReturnValue(NOW + index * 1_000);
      await logs[index % 2]!.record({ ...intent, id: index, tool: `t${index}` });
    }
    await Promise.all(logs.map((log) => log.close()));
    expect((await entriesOf(file, other)).map(({ tool }) => tool)).toEqual(["t0", "t1", "t2", "t3", "t4", "t5"]);
  });

  it("that a crash cut off is not ended by the next server's", async () => {
    const log = await AuditLog.open(file);
    await log.record({ ...intent, tool: "before" });
    await log.record({ ...intent, tool: "after" });
    await log.record({ ...intent, kind: "call.result", tool: "after", outcome: "ok" });
    await log.close();
    expect((await entriesOf(file)).map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ["before", undefined],
      ["after", "ok"],
    ]);
  });
});

describe("a report", () => {
  const HOSTILE = `"><script src="https://evil.example/x.js"></script><img src=x onerror='alert(1)'>&\u202e\u001b[2J`;

  it("is one page in which nothing runs and nothing is loaded, whatever the log says", () => {
    const logs = [{ file: HOSTILE, ok: false, said: HOSTILE }];
    const report = new AuditReport({ logs, wanted: [HOSTILE], now: NOW, version: "1" });
    for (const object of [HOSTILE, `https://evil.example/${HOSTILE}`, `/${HOSTILE}`]) {
      const told = { tool: HOSTILE, client: HOSTILE, arguments: { path: object }, outcome: HOSTILE };
      const record = {
        ...told,
        kind: "call",
        time: "2026-06-15T11:30:00.000Z",
        decision: { allowed: true, rule: HOSTILE },
      };
      report.add({ record, line: "" });
      report.add({ record: { ...record, kind: "denied", time: HOSTILE, outcome: "denied" }, line: "" });
    }
    const html = report.html();
    const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, name]) => name?.toLowerCase()));
    for (const tag of ["script", "img", "link", "a", "iframe", "object", "form"]) expect(tags).not.toContain(tag);
    // Outside of a tag of ours nothing of it is left that could be one.
    expect(html.replace(/<[^<>]*>/g, "")).not.toMatch(/[<>]/);
    expect(html).not.toMatch(/<[^<>]*\s(?:on\w+|src|href)\s*=/i);
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(html).not.toMatch(/[\u001b\u202e]/);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain("NOT VERIFIED");
  });

  it("says what was done, denied and reached, by whom", () => {
    const logs = [{ file: "/a.log", ok: true, said: "3 records" }];
    const report = new AuditReport({ logs, wanted: ["since=7d"], now: NOW, version: "1" });
    const call = { kind: "call", time: "2026-06-15T11:30:00.000Z", client: "Claude 1.0", outcome: "ok" };
    report.add({ record: { ...call, tool: "read_file", arguments: { path: "/notes/a.md" } }, line: "" });
    report.add({ record: { ...call, tool: "web_fetch", arguments: { url: "https://docs.example/x" } }, line: "" });
    report.add({ record: { ...RECORD, arguments: { query: "x" } }, line: "" });
    const html = report.html();
    for (const words of ["<b>3</b> calls", "verified: /a.log", "/notes/a.md", "<td>docs.example</td>", "Claude 1.0"])
      expect(html).toContain(words);
    expect(html).toContain("tools.denied: web_search (line 7)");
  });

  it("counts no start of a program in its sandbox as a call, and says whose sandbox refused something", () => {
    const report = new AuditReport({ logs: [], wanted: [], now: NOW, version: "1" });
    const own = { time: "2026-06-15T11:30:00.000Z", tool: "sandbox", server: "memory" };
    const allowed = {
      decision: { allowed: true, rule: "servers: memory" },
      detail: { command: "/usr/bin/node /m.mjs" },
    };
    report.add({ record: { ...own, ...allowed, kind: "sandbox.begun" }, line: "" });
    report.add({ record: { ...own, ...allowed, kind: "sandbox.ended", outcome: "ok" }, line: "" });
    expect(report.html()).toContain("<b>0</b> calls");
    expect(report.html()).toContain("started in sandboxes 1 time,");
    expect(report.html()).not.toMatch(/unknown|usr.bin.node/);
    const decision = { allowed: false, rule: "default deny" };
    report.add({ record: { ...own, kind: "sandbox.refused", decision, detail: { endpoint: "x:443" } }, line: "" });
    expect(report.html()).toContain('<b class="denied">1</b> denied');
    expect(report.html()).toContain("<td>server memory</td>");
  });
});

it("a time is the reader's own, of a text and of milliseconds, and what is no time stays as it is", () => {
  const at = Date.UTC(2026, 10, 23, 12, 0, 0);
  expect(localTime(at)).toBe(localTime(new Date(at).toISOString()));
  expect(localTime(at)).toMatch(/^2026-11-2\d \d\d:00:00$/);
  expect(localTime("soon")).toBe("soon");
});
