// A log whose name, folder or file is taken away while a server runs: nothing counts as recorded until it is back.
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { archivesOf, headPath, openLogFile, journalPath, readJournal } from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { pipeAt } from "./rescued-pipe.js";
import { temporaryFolder } from "./temporary-folder.js";

/** A way to take the log away, and what puts it back; undefined when nothing can. */
type Way = (file: string) => (() => void) | void;

/** Puts the folder of the log elsewhere, and something in its place. */
const moveFolder =
  (up: number, fill: (file: string) => unknown = () => undefined): Way =>
  (file) => {
    let folder = dirname(file);
    for (let step = 0; step < up; step += 1) folder = dirname(folder);
    fs.renameSync(folder, `${folder}.away`);
    fill(file);
    return () => {
      fs.rmSync(folder, { recursive: true, force: true });
      fs.renameSync(`${folder}.away`, folder);
    };
  };

const moveFile =
  (fill: (file: string) => unknown = () => undefined): Way =>
  (file) => {
    fs.renameSync(file, `${file}.away`);
    fill(file);
    return () => {
      fs.rmSync(file, { recursive: true, force: true });
      fs.renameSync(`${file}.away`, file);
    };
  };

const emptyAgain = (file: string): unknown => fs.mkdirSync(dirname(file), { recursive: true });
const copied = (file: string): unknown => fs.copyFileSync(`${file}.away`, file);

const WAYS: readonly [string, Way][] = [
  ["removed", (file) => fs.rmSync(file)],
  ["removed with its folder", (file) => fs.rmSync(dirname(file), { recursive: true })],
  ["renamed", moveFile()],
  ["renamed, and begun anew", moveFile((file) => fs.writeFileSync(file, ""))],
  ["renamed, and copied to its name", moveFile(copied)],
  ["renamed, and its name a link to it", moveFile((file) => fs.symlinkSync(`${file}.away`, file))],
  ["renamed, and its name a link to nothing", moveFile((file) => fs.symlinkSync("/nowhere/at/all", file))],
  ["renamed, and its name a pipe", moveFile(pipeAt)],
  ["renamed, and its name a folder", moveFile((file) => fs.mkdirSync(file))],
  ["in a folder that is renamed", moveFolder(0)],
  ["in a folder that is made anew", moveFolder(0, emptyAgain)],
  [
    "in a folder that is copied",
    moveFolder(0, (file) => fs.cpSync(`${dirname(file)}.away`, dirname(file), { recursive: true })),
  ],
  ["in a folder that becomes a link", moveFolder(0, (file) => fs.symlinkSync(dirname(dirname(file)), dirname(file)))],
  ["in a folder that becomes a file", moveFolder(0, (file) => fs.writeFileSync(dirname(file), ""))],
  ["under a folder that is renamed", moveFolder(1)],
  ["under a folder that is made anew", moveFolder(1, emptyAgain)],
  ["emptied", (file) => (fs.truncateSync(file, 0), undefined)],
  ["written by somebody else", (file) => (fs.appendFileSync(file, "x\n"), undefined)],
];

describe("a log that is", () => {
  it.each(WAYS)("%s takes no record, and says so, until it is back", async (_name, way) => {
    const said: string[] = [];
    const file = join(temporaryFolder(), "outer", "inner", "audit.log");
    const log = await AuditLog.open(file, { now: () => 0, say: (line) => void said.push(line) });
    for (let id = 0; id < 3; id += 1) await log.record({ kind: "call.intent", id });
    expect(log.failure).toBeUndefined();
    const putBack = way(file);
    for (let id = 3; id < 6; id += 1)
      await expect(log.record({ kind: "call.intent", id })).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:taken_away|foreign_writer)$/) as string,
      });
    expect(log.failure?.message).toMatch(/while the server ran|somebody else changed/);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain(file);
    if (putBack !== undefined) {
      putBack();
      await log.record({ kind: "call.intent", id: "kept" });
      expect(log.failure).toBeUndefined();
      expect(said).toHaveLength(2);
      const kept = fs.readFileSync(file, "utf8").trim().split("\n");
      expect(kept.map((line) => (JSON.parse(line) as { id?: unknown; kind: string }).id)).toEqual([
        0,
        1,
        2,
        undefined,
        "kept",
      ]);
    }
    await log.close();
    if (putBack !== undefined) expect(await verifyAudit(file)).toEqual({ ok: true, records: 5 });
  });
});

describe("a server whose log is away", () => {
  it("was told of by its head from the start on, also where the stop before had no room for one", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const first = await AuditLog.open(file);
    for (let count = 0; count < 5; count += 1) await first.record({ kind: "start" });
    await first.close();
    fs.rmSync(headPath(file));
    const second = await AuditLog.open(file);
    try {
      fs.writeFileSync(file, "");
      expect(await verifyAudit(file)).toMatchObject({ ok: false });
    } finally {
      await second.close();
    }
  });

  it("says so to whoever asks for its health, though nobody called", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file);
    await log.record({ kind: "start" });
    fs.renameSync(file, `${file}.1`);
    expect(log.failure).toMatchObject({ code: "taken_away" });
    fs.renameSync(`${file}.1`, file);
    expect(log.failure).toBeUndefined();
    await log.close();
  });

  it("counts no record as made whose file went while the disk was waited for", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file, {
      openFile(path) {
        const real = openLogFile(path);
        return { ...real, sync: () => real.sync().then(() => fs.rmSync(path, { force: true })) };
      },
    });
    await expect(log.record({ kind: "call.intent" })).rejects.toMatchObject({ code: "taken_away" });
    await log.close();
  });

  it("writes nothing more into a file that has another name now", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file);
    await log.record({ kind: "start" });
    fs.renameSync(file, `${file}.1`);
    await expect(log.record({ kind: "call.intent" })).rejects.toMatchObject({ code: "taken_away" });
    const put = fs.readFileSync(`${file}.1`, "utf8");
    expect(put.trim().split("\n")).toHaveLength(1);
    const { mtimeMs } = fs.statSync(`${file}.1`);
    fs.utimesSync(`${file}.1`, 1, 1);
    await expect(log.record({ kind: "call.intent" })).rejects.toMatchObject({ code: "taken_away" });
    expect(mtimeMs).toBeGreaterThan(1_000);
    expect(fs.statSync(`${file}.1`).mtimeMs).toBe(1_000);
    await log.close();
    expect(fs.readFileSync(`${file}.1`, "utf8")).toBe(put);
  });

  it("leaves the log, head and journal alone that another server has under the same names", async () => {
    const folder = join(temporaryFolder(), "logs");
    const file = join(folder, "audit.log");
    const quick = { now: () => 0 };
    const first = await AuditLog.open(file, quick);
    for (let id = 0; readJournal(file).indexOf("\n") < 0; id += 1) await first.record({ kind: "call.intent", id });
    fs.renameSync(folder, `${folder}.away`);
    const second = await AuditLog.open(file, quick);
    for (let id = 0; readJournal(file).indexOf("\n") < 0; id += 1) await second.record({ kind: "call.intent", id });
    fs.writeFileSync(headPath(file), "theirs");
    await expect(first.record({ kind: "stop" })).rejects.toMatchObject({ code: "taken_away" });
    await first.close();
    expect(fs.readFileSync(headPath(file), "utf8")).toBe("theirs");
    expect(fs.existsSync(journalPath(file))).toBe(true);
    await second.close();
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });

  it("does not put another file away in the place of its own", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const gone = { away: false };
    const log = await AuditLog.open(file, {
      openFile(path) {
        const real = openLogFile(path);
        const nameHolds = (bytes: Buffer, size: number): boolean => {
          const holds = real.nameHolds(bytes, size);
          if (size > 1_000 && !gone.away) gone.away = swap();
          return holds;
        };
        return { ...real, nameHolds };
      },
      rotateBytes: 1_000,
    });
    const swap = (): boolean => {
      fs.renameSync(file, `${file}.mine`);
      fs.writeFileSync(file, "theirs\n");
      return true;
    };
    for (let id = 0; id < 20 && !gone.away; id += 1)
      await log.record({ kind: "call.intent", id }).catch(() => undefined);
    expect(gone.away).toBe(true);
    expect(log.failure).toMatchObject({ code: "taken_away" });
    await log.close();
    expect(archivesOf(file)).toEqual([]);
    expect(fs.readFileSync(file, "utf8")).toBe("theirs\n");
  });

  it("does without a journal that was removed, and loses nothing", async () => {
    const file = join(temporaryFolder(), "audit.log");
    let syncs = 0;
    const log = await AuditLog.open(file, {
      now: () => 0,
      openFile(path) {
        const real = openLogFile(path);
        return { ...real, sync: () => ((syncs += 1), real.sync()) };
      },
    });
    for (let id = 0; readJournal(file).indexOf("\n") < 0; id += 1) await log.record({ kind: "call.intent", id });
    const before = syncs;
    await log.record({ kind: "call.intent", id: "in the journal" });
    expect(syncs).toBe(before);
    fs.rmSync(journalPath(file));
    await log.record({ kind: "call.intent", id: "in the log" });
    await log.record({ kind: "call.intent", id: "in the log too" });
    expect(syncs).toBe(before + 2);
    await log.close();
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });

  it("keeps what was refused out of the way of what follows in the journal", async () => {
    const file = join(temporaryFolder(), "audit.log");
    let synced = 0;
    const log = await AuditLog.open(file, {
      now: () => 0,
      openFile(path) {
        const real = openLogFile(path);
        return { ...real, sync: () => ((synced = real.size()), real.sync()) };
      },
    });
    for (let id = 0; readJournal(file).indexOf("\n") < 0; id += 1) await log.record({ kind: "call.intent", id });
    fs.renameSync(file, `${file}.1`);
    await expect(log.record({ kind: "call.intent", id: "refused" })).rejects.toMatchObject({ code: "taken_away" });
    fs.renameSync(`${file}.1`, file);
    await log.record({ kind: "call.intent", id: "kept" });
    const left = fs.readFileSync(file).subarray(0, synced);
    const journal = fs.readFileSync(journalPath(file));
    await log.close();
    // A power failure may leave no more of the log than was synced.
    const lost = join(temporaryFolder(), "audit.log");
    fs.writeFileSync(lost, left);
    fs.writeFileSync(journalPath(lost), journal);
    await (await AuditLog.open(lost)).close();
    expect(fs.readFileSync(lost, "utf8")).toContain('"id":"kept"');
  });
});
