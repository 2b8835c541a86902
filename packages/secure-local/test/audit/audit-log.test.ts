// The writer: group commit, continuation, repair, refusal, and what happens when the disk fails.
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AuditError } from "../../src/audit/audit-event.js";
import { AuditLog } from "../../src/audit/audit-log.js";
import { existingLogs } from "../../src/audit/log-writer.js";
import { makeFolder } from "../../src/audit/owned-files.js";
import { recordsWith, verifyAudit } from "../../src/audit/verify-audit.js";
import { faultyFile, systemError } from "./failing-file.js";
import { temporaryFolder } from "./temporary-folder.js";

const logIn = (folder: string): string => join(folder, "deep", "audit.log");

function records(file: string): Record<string, unknown>[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

it.runIf(process.platform === "linux")("is refused where no folder can be made, as with HOME=/proc", async () => {
  await expect(AuditLog.open("/proc/nowhere/state/audit.log")).rejects.toBeInstanceOf(AuditError);
  for (const path of ["/proc/nowhere", "/proc/nowhere/deep/er", "/proc/self/status/x"])
    expect(() => makeFolder(path)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^E(?:NOENT|NOTDIR|ACCES)$/) as string }),
    );
  const folder = join(temporaryFolder(), "a", "b");
  makeFolder(folder);
  makeFolder(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

describe("records of one tick", () => {
  it("share one write and one sync", async () => {
    const file = logIn(temporaryFolder());
    const disk = faultyFile();
    const log = await AuditLog.open(file, { openFile: disk.open });
    await Promise.all(Array.from({ length: 100 }, (_, id) => log.record({ kind: "call.intent", id })));
    expect(disk.counts).toMatchObject({ appends: 1, syncs: 1 });
    await log.close();
    expect(await verifyAudit(file)).toEqual({ ok: true, records: 100 });
  });

  it("wait for the sync in flight and then share the next one", async () => {
    const disk = faultyFile();
    const log = await AuditLog.open(logIn(temporaryFolder()), { openFile: disk.open });
    const first = log.record({ kind: "call.intent", id: 1 });
    await new Promise(setImmediate);
    const later = [2, 3, 4].map((id) => log.record({ kind: "call.intent", id }));
    await Promise.all([first, ...later]);
    expect(disk.counts).toMatchObject({ appends: 2, syncs: 2 });
    await log.close();
  });

  it("are not synced when the log is opened without sync", async () => {
    const disk = faultyFile();
    const log = await AuditLog.open(logIn(temporaryFolder()), { openFile: disk.open, sync: false });
    await log.record({ kind: "start" });
    expect(disk.counts).toMatchObject({ appends: 1, syncs: 0 });
    await log.close();
  });

  it("are bounded in number while the disk does not answer", async () => {
    const log = await AuditLog.open(logIn(temporaryFolder()), { sync: false });
    const waiting = Array.from({ length: 10_000 }, () => log.record({ kind: "call.intent" }));
    await expect(log.record({ kind: "call.intent" })).rejects.toMatchObject({ code: "queue_full" });
    await Promise.all(waiting);
    await log.close();
  });
});

describe("opening", () => {
  it("keeps the log from others and continues its chain", async () => {
    const folder = temporaryFolder();
    const file = logIn(folder);
    for (let run = 0; run < 3; run++) {
      const log = await AuditLog.open(file);
      await log.record({ kind: "start" });
      await log.close();
    }
    expect(records(file).map((record) => record["seq"])).toEqual([1, 2, 3]);
    expect(await verifyAudit(file)).toEqual({ ok: true, records: 3 });
    expect(readdirSync(join(folder, "deep")).sort()).toEqual(["audit.log", "audit.log.head"]);
    if (process.platform !== "win32") {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(join(folder, "deep")).mode & 0o777).toBe(0o700);
    }
  });

  it("cuts off a torn last line and says so", async () => {
    const file = logIn(temporaryFolder());
    const first = await AuditLog.open(file);
    await first.record({ kind: "start" });
    await first.close();
    appendFileSync(file, '{"seq":2,"prev":"');
    expect(await verifyAudit(file)).toEqual({ ok: true, records: 1, tornTail: 17 });
    const second = await AuditLog.open(file);
    await second.record({ kind: "start" });
    await second.close();
    expect(records(file).map((record) => record["kind"])).toEqual(["start", "log.repaired", "start"]);
    expect(records(file)[1]).toMatchObject({ detail: { bytes: 17 } });
    expect(await verifyAudit(file)).toEqual({ ok: true, records: 3 });
  });

  it("repairs a log whose very first record is torn", async () => {
    const file = logIn(temporaryFolder());
    await (await AuditLog.open(file)).close();
    writeFileSync(file, '{"seq":1,"pre');
    await (await AuditLog.open(file)).close();
    expect(records(file)).toMatchObject([{ seq: 1, kind: "log.repaired", detail: { bytes: 13 } }]);
  });

  it("finds the last record behind a torn line of any length", async () => {
    const file = logIn(temporaryFolder());
    const first = await AuditLog.open(file);
    await first.record({ kind: "start" });
    await first.close();
    appendFileSync(file, "x".repeat(300_000));
    await (await AuditLog.open(file)).close();
    expect(records(file)[1]).toMatchObject({ seq: 2, kind: "log.repaired", detail: { bytes: 300_000 } });
  });

  it.each(["hello\n", '{"seq":1}\n', "\n", "not json"])("refuses a file that is not a log: %j", async (text) => {
    const file = join(temporaryFolder(), "audit.log");
    writeFileSync(file, text);
    await expect(AuditLog.open(file)).rejects.toMatchObject({ code: "not_ours" });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("refuses a log whose last record was edited", async () => {
    const file = logIn(temporaryFolder());
    const log = await AuditLog.open(file);
    await log.record({ kind: "start", principal: "ada" });
    await log.close();
    writeFileSync(file, readFileSync(file, "utf8").replace("ada", "bob"));
    await expect(AuditLog.open(file)).rejects.toThrow(/its hash does not fit/);
  });

  it("notes that records were cut off at the end", async () => {
    const file = logIn(temporaryFolder());
    const log = await AuditLog.open(file);
    for (let id = 0; id < 5; id++) await log.record({ kind: "call.intent", id });
    await log.close();
    const lines = readFileSync(file, "utf8").split("\n");
    truncateSync(file, lines.slice(0, 3).join("\n").length + 1);
    await (await AuditLog.open(file)).close();
    expect(records(file)[3]).toMatchObject({ kind: "log.truncated", detail: { expected: 5, found: 3 } });
    expect(await verifyAudit(file)).toMatchObject({ ok: false, firstBadLine: 4 });
    expect([recordsWith(2, 2, "was"), recordsWith(2, 3, "was")]).toEqual(["record 2 was", "records 2 to 3 were"]);
  });

  it("gives servers that run at the same time a log each", async () => {
    const file = logIn(temporaryFolder());
    const logs = [await AuditLog.open(file), await AuditLog.open(file), await AuditLog.open(file)];
    await Promise.all(logs.map((log) => log.record({ kind: "start" })));
    expect(logs.map((log) => log.file)).toEqual(existingLogs(file));
    expect(new Set(existingLogs(file)).size).toBe(3);
    for (const log of logs) await log.close();
    for (const name of existingLogs(file)) expect(await verifyAudit(name)).toEqual({ ok: true, records: 1 });
    const next = await AuditLog.open(file);
    expect(next.file).toBe(file);
    await next.close();
  });

  it("takes over the log of a process that died", async () => {
    const file = logIn(temporaryFolder());
    await (await AuditLog.open(file)).close();
    // 2^22 is above the largest process number Linux hands out.
    writeFileSync(`${file}.lock-4194305-123-abc`, "");
    const log = await AuditLog.open(file);
    expect(log.file).toBe(file);
    await log.close();
    expect(existsSync(`${file}.lock-4194305-123-abc`)).toBe(false);
  });
});

describe("a failing disk", () => {
  const faults: [string, (disk: ReturnType<typeof faultyFile>) => void][] = [
    ["ENOSPC on write", (disk) => disk.appends.push(systemError("ENOSPC"))],
    ["EIO on write", (disk) => disk.appends.push(systemError("EIO"))],
    ["a short write", (disk) => disk.appends.push(40)],
    ["EIO on sync", (disk) => disk.syncs.push(systemError("EIO"))],
    [
      "a short write that cannot be cut off at once",
      (disk) => (disk.appends.push(40), disk.truncates.push(systemError("EIO"))),
    ],
  ];

  it.each(faults)("rejects all that waits and recovers: %s", async (_name, inject) => {
    const file = logIn(temporaryFolder());
    const disk = faultyFile();
    const log = await AuditLog.open(file, { openFile: disk.open });
    await log.record({ kind: "start" });
    inject(disk);
    const lost = log.record({ kind: "call.intent", id: "lost" });
    await expect(lost).rejects.toBeInstanceOf(AuditError);
    expect(log.failure).toBeInstanceOf(AuditError);
    await log.record({ kind: "call.intent", id: "kept" });
    expect(log.failure).toBeUndefined();
    await log.close();
    expect(records(file).map((record) => record["kind"])).toEqual(["start", "log.repaired", "call.intent"]);
    expect(records(file)[2]).toMatchObject({ id: "kept" });
    expect(await verifyAudit(file)).toEqual({ ok: true, records: 3 });
  });

  it("also rejects records that gathered behind the failing sync", async () => {
    const disk = faultyFile();
    const log = await AuditLog.open(logIn(temporaryFolder()), { openFile: disk.open });
    disk.syncs.push(systemError("EIO"));
    const first = log.record({ kind: "call.intent", id: 1 });
    await new Promise(setImmediate);
    const second = log.record({ kind: "call.intent", id: 2 });
    await expect(first).rejects.toMatchObject({ code: "io" });
    await expect(second).rejects.toMatchObject({ code: "io" });
    await log.close();
  });

  it("is tried again by itself, so that it gets well though nobody calls", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const file = logIn(temporaryFolder());
    const disk = faultyFile();
    const log = await AuditLog.open(file, { openFile: disk.open });
    await log.record({ kind: "start" });
    disk.appends.push(systemError("ENOSPC"), systemError("ENOSPC"));
    await expect(log.record({ kind: "call.intent" })).rejects.toBeInstanceOf(AuditError);
    for (let second = 0; second < 2; second++) {
      expect(log.failure).toBeInstanceOf(AuditError);
      vi.advanceTimersByTime(1_000);
      for (let turn = 0; turn < 1_000 && disk.counts.appends < 3 + second; turn++) await new Promise(setImmediate);
    }
    await log.close();
    expect(log.failure).toBeUndefined();
    expect(records(file).map(({ kind }) => kind)).toEqual(["start", "log.repaired"]);
  });

  it("writes nothing more to a file that could not be opened", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const file = logIn(temporaryFolder());
    const first = await AuditLog.open(file);
    await first.record({ kind: "start" });
    await first.close();
    appendFileSync(file, '{"torn');
    const disk = faultyFile();
    disk.appends.push(systemError("ENOSPC"));
    await expect(AuditLog.open(file, { openFile: disk.open })).rejects.toBeInstanceOf(AuditError);
    vi.advanceTimersByTime(10_000);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(disk.counts.appends).toBe(1);
  });

  it("stays failed while the disk fails, at every step, and never loses what was acknowledged", async () => {
    const file = logIn(temporaryFolder());
    const disk = faultyFile();
    const log = await AuditLog.open(file, { openFile: disk.open });
    const kept: number[] = [];
    for (let id = 0; id < 200; id++) {
      if (id % 3 === 0) disk.appends.push(systemError("ENOSPC"));
      if (id % 7 === 0) disk.syncs.push(systemError("EIO"));
      if (id % 5 === 0) disk.truncates.push(systemError("EIO"));
      await log.record({ kind: "call.intent", id }).then(
        () => kept.push(id),
        () => undefined,
      );
    }
    await log.close();
    const found = records(file).filter((record) => record["kind"] === "call.intent");
    expect(found.map((record) => record["id"])).toEqual(kept);
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });

  it("refuses to write behind somebody else's bytes and leaves them alone", async () => {
    const file = logIn(temporaryFolder());
    const log = await AuditLog.open(file);
    await log.record({ kind: "start" });
    appendFileSync(file, "something else\n");
    const before = readFileSync(file, "utf8");
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(log.record({ kind: "stop" })).rejects.toMatchObject({ code: "foreign_writer" });
    }
    await log.close();
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("refuses records after close", async () => {
    const log = await AuditLog.open(logIn(temporaryFolder()));
    const last = log.record({ kind: "stop" });
    await log.close();
    await last;
    await expect(log.record({ kind: "stop" })).rejects.toMatchObject({ code: "closed" });
  });
});
