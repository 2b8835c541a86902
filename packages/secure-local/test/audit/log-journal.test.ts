// The journal: it holds what the log could lose in a power failure, and gives back exactly that.
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { AuditLog, readTail } from "../../src/audit/audit-log.js";
import {
  headPath,
  openLogFile,
  journalledAfter,
  journalPath,
  openJournal,
  readJournal,
} from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { temporaryFolder } from "./temporary-folder.js";

const GENESIS = { seq: 0, hash: "0".repeat(64) };

/** Opens a log on a disk that counts as quick however busy the machine is; resolves when its journal is in use. */
async function openQuick(file: string): Promise<AuditLog> {
  const log = await AuditLog.open(file, { now: () => 0 });
  for (let id = 0; readJournal(file).indexOf("\n") < 0; id++)
    await log.record({ kind: "call.intent", id: `early ${id}` });
  return log;
}

/** What a log's files hold at a moment: a crash leaves them like this. */
function snapshot(file: string): { log: Buffer; journal: Buffer } {
  return { log: readFileSync(file), journal: readFileSync(journalPath(file)) };
}

function putDown({ log, journal }: { log: Buffer; journal: Buffer }): string {
  const file = join(temporaryFolder(), "audit.log");
  writeFileSync(file, log);
  writeFileSync(journalPath(file), journal);
  return file;
}

function kinds(file: string): unknown[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { kind: unknown }).kind);
}

describe("a running log", () => {
  it("is whole for every reader, and has a journal of its owner's beside it that goes with it", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await openQuick(file);
    for (let id = 0; id < 20; id++) await log.record({ kind: "call.intent", id });
    const { records, ...rest } = await verifyAudit(file);
    expect(rest).toEqual({ ok: true });
    expect(kinds(file).length).toBe(records);
    if (process.platform !== "win32") expect(statSync(journalPath(file)).mode & 0o777).toBe(0o600);
    await log.close();
    expect(existsSync(journalPath(file))).toBe(false);
    expect(await verifyAudit(file)).toEqual({ ok: true, records });
  });

  it("goes on through many rounds of the journal", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await openQuick(file);
    const size = readJournal(file).length;
    const long = "x".repeat(15_000);
    for (let id = 0; id < (3 * size) / long.length; id++)
      await log.record({ kind: "call.intent", arguments: { long } });
    const last = readTail(openLogFile(file), file).link;
    expect(journalledAfter(readJournal(file), last).records).toBe(0);
    expect(readJournal(file).length).toBe(size);
    await log.close();
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });

  it("takes a record longer than the journal", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await openQuick(file);
    const events = Array.from(
      { length: 3_000 },
      () => ({ kind: "call.intent", arguments: { long: "x".repeat(300) } }) as const,
    );
    await Promise.all(events.map((event) => log.record(event)));
    await log.close();
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });
});

describe("after a crash", () => {
  let crashed: { log: Buffer; journal: Buffer };
  let records = 0;
  let journalled = 0;

  beforeAll(async () => {
    let remove: () => void;
    const file = join(
      temporaryFolder((removal) => (remove = removal)),
      "audit.log",
    );
    const log = await openQuick(file);
    for (let id = 0; id < 30; id++) await log.record({ kind: "call.intent", id });
    crashed = snapshot(file);
    records = kinds(file).length;
    journalled = crashed.journal.toString("latin1").split("\n").length - 1;
    await log.close();
    return () => remove();
  });

  it("of the process nothing is missing and nothing is noted", async () => {
    const file = putDown(crashed);
    expect(await verifyAudit(file)).toEqual({ ok: true, records });
    await (await AuditLog.open(file)).close();
    expect(readFileSync(file).equals(crashed.log)).toBe(true);
  });

  it("of the power what the log lost is put back, wherever it was cut, and noted", async () => {
    const ends = [...crashed.log.toString("latin1").matchAll(/\n/g)].map(({ index }) => index + 1);
    const synced = ends.at(-1 - journalled) ?? 0;
    for (let size = synced; size < crashed.log.length; size += repeated(291, 97)) {
      const file = putDown({ ...crashed, log: crashed.log.subarray(0, size) });
      const kept = ends.filter((end) => end <= size).length;
      expect(await verifyAudit(file)).toMatchObject({ ok: true, records: kept, inJournal: records - kept });
      await (await AuditLog.open(file)).close();
      expect(readFileSync(file).subarray(0, crashed.log.length).equals(crashed.log)).toBe(true);
      expect(kinds(file).slice(records)).toEqual(
        ends.includes(size) || size === 0 ? ["log.repaired"] : ["log.repaired", "log.repaired"],
      );
      expect(readFileSync(file, "utf8")).toContain(`"restored":${records - kept}}`);
      expect(await verifyAudit(file)).toMatchObject({ ok: true });
    }
  });

  it("of the power in the middle of a write, what was promised before is put back", async () => {
    const blocks = Math.ceil(crashed.journal.indexOf(0) / 512);
    for (let hole = 0; hole < blocks; hole++) {
      const journal = Buffer.from(crashed.journal).fill(0, hole * 512, (hole + 1) * 512);
      const file = putDown({ log: crashed.log.subarray(0, crashed.log.lastIndexOf("\n", -2) + 1), journal });
      await (await AuditLog.open(file)).close();
      expect(await verifyAudit(file)).toMatchObject({ ok: true });
    }
  });

  it("records cut off by hand are put back too, as far as the journal goes", async () => {
    const file = putDown({ ...crashed, log: Buffer.alloc(0) });
    writeFileSync(headPath(file), `{"records":${records},"hash":"${"a".repeat(64)}"}\n`);
    await (await AuditLog.open(file)).close();
    // The first record was synced into the log itself, so the journal's do not follow an empty log.
    expect(kinds(file)).toEqual(["log.truncated"]);
  });

  it("a journal that belongs to another log gives back nothing, and is said", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file);
    await log.record({ kind: "start" });
    await log.close();
    writeFileSync(journalPath(file), crashed.journal);
    await (await AuditLog.open(file)).close();
    expect(kinds(file)).toEqual(["start", "log.truncated"]);
    expect(await verifyAudit(file)).toMatchObject({ ok: false, records: 1 });
  });

  it("a journal whose lines were changed gives back those before them", async () => {
    const at = crashed.journal.lastIndexOf('"id":5');
    const journal = Buffer.from(crashed.journal);
    journal.write('"id":6', at, "latin1");
    const before = crashed.log.subarray(0, crashed.log.indexOf("\n") + 1);
    expect(journalledAfter(journal, GENESIS).records).toBe(0);
    const file = putDown({ log: before, journal });
    const { inJournal = 0 } = await verifyAudit(file);
    expect(inJournal).toBeLessThan(journalled);
  });
});

describe("the journal's file", () => {
  it("is emptied when it is made anew, and read as far as it goes", async () => {
    const file = join(temporaryFolder(), "audit.log");
    expect(readJournal(file).length).toBe(0);
    const first = await openJournal(file);
    first.write(Buffer.from("one\n"));
    first.write(Buffer.from("two\n"));
    first.close();
    expect(readJournal(file).toString("latin1", 0, 9)).toBe("one\ntwo\n\0");
    const second = await openJournal(file);
    expect(readJournal(file).every((byte) => byte === 0)).toBe(true);
    second.rewind();
    second.close();
    expect(existsSync(journalPath(file))).toBe(false);
  });

  it("holds its bytes across the borders of blocks", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const journal = await openJournal(file);
    const parts = Array.from({ length: 40 }, (_, part) => Buffer.alloc(1_000 + part, 97 + (part % 26)));
    for (const part of parts) journal.write(part);
    const all = Buffer.concat(parts);
    expect(readJournal(file).subarray(0, all.length).equals(all)).toBe(true);
    expect(journal.fits(readJournal(file).length - all.length)).toBe(true);
    expect(journal.fits(readJournal(file).length - all.length + 1)).toBe(false);
    journal.close();
  });

  it("is not followed when it is a link", async () => {
    if (process.platform === "win32") return;
    const folder = temporaryFolder();
    const { symlinkSync } = await import("node:fs");
    writeFileSync(join(folder, "victim"), "precious");
    symlinkSync(join(folder, "victim"), journalPath(join(folder, "audit.log")));
    await expect(openJournal(join(folder, "audit.log"))).rejects.toThrow("ELOOP");
    expect(readFileSync(join(folder, "victim"), "utf8")).toBe("precious");
  });
});

describe("a log that is changed under its writer", () => {
  it("takes no more records once it is shorter or longer than it was", async () => {
    for (const change of [
      (file: string) => truncateSync(file, 100),
      (file: string) => truncateSync(file, 0),
      (file: string) => truncateSync(file, statSync(file).size + 1),
    ]) {
      const file = join(temporaryFolder(), "audit.log");
      const log = await openQuick(file);
      change(file);
      await expect(log.record({ kind: "stop" })).rejects.toMatchObject({ code: "foreign_writer" });
      await log.close();
    }
  });
});
