// Pipes in the places of files and folders of a log: opening one waits for whoever opens its other end, which may be nobody.
import { generateKeyPairSync } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { checkpointKey, CheckpointWriter } from "../../src/audit/checkpoint.js";
import { archivePath, headPath, journalPath, openLogFile, readHead, readJournal } from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { makeFolder, openAtOnce, READ_AT_ONCE, WrongKindError } from "../../src/audit/owned-files.js";
import { LogReader } from "../../src/console/log-reader.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { pipeAt } from "./rescued-pipe.js";
import { temporaryFolder } from "./temporary-folder.js";

function place(): string {
  return join(temporaryFolder(), "logs", "audit.log");
}

async function written(file: string): Promise<void> {
  const log = await AuditLog.open(file, { sync: false });
  await log.record({ kind: "call.intent", id: "1", tool: "t" });
  await log.close();
}

function readNow(fd: number): unknown {
  try {
    return fs.readSync(fd, Buffer.alloc(1));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

describe.skipIf(process.platform === "win32")("a pipe is not waited for", () => {
  it("in the place of the log, when it is begun, and what is said names it and what to do", async () => {
    const file = place();
    fs.mkdirSync(dirname(file), { recursive: true });
    pipeAt(file);
    const opened = AuditLog.open(file, { sync: false });
    await expect(opened).rejects.toThrow(
      `${file}: the audit log cannot be opened (${file} is no file but a pipe; move it away)`,
    );
  });

  it("in the place of the log, when its end is read", async () => {
    const file = place();
    await written(file);
    fs.rmSync(file);
    pipeAt(file);
    const { stderr, code } = await runQuickly(["audit", "tail", "--audit", file], { home: dirname(file) });
    expect([code, stderr]).toEqual([1, `mcp-secure-local: ${file} is no file but a pipe; move it away\n`]);
    const reader = new LogReader(file, 0, () => undefined);
    await reader.look();
    await reader.close();
  });

  it("in the place of the key of checkpoints and of its public half", async () => {
    const key = join(temporaryFolder(), "key.pem");
    for (const path of [key, `${key}.pub`]) {
      pipeAt(path);
      expect(() => checkpointKey(key)).toThrow(`(${path} is no file but a pipe; move it away)`);
      fs.rmSync(path);
    }
  });

  it("in the place of a folder, or above it", () => {
    const folder = join(temporaryFolder(), "run");
    pipeAt(folder);
    for (const path of [folder, join(folder, "deeper", "still")])
      expect(() => makeFolder(path)).toThrow(new WrongKindError(folder, fs.statSync(folder), "folder").message);
  });

  it.each([
    ["a pipe that somebody reads", true],
    ["a pipe that nobody reads", false],
  ])("%s, in the place of a file that is written to", (_what, read) => {
    const path = join(temporaryFolder(), "file");
    pipeAt(path);
    const reading = read ? fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK) : undefined;
    expect(() => openAtOnce(path, fs.constants.O_WRONLY)).toThrow("is no file but a pipe");
    if (reading !== undefined) fs.closeSync(reading);
  });

  it("in the place of the folder, while the journal is made", async () => {
    const file = place();
    fs.mkdirSync(dirname(file), { recursive: true });
    const log = openLogFile(file);
    const making = log.journal().catch((error: NodeJS.ErrnoException) => error.code);
    fs.renameSync(dirname(file), `${dirname(file)}.away`);
    pipeAt(dirname(file));
    expect(await making).toBe("ENOTDIR");
    log.close();
  });

  it("in the place of the head file and the journal", async () => {
    const file = place();
    await written(file);
    for (const path of [headPath(file), journalPath(file)]) {
      fs.rmSync(path, { force: true });
      pipeAt(path);
    }
    expect(readHead(file)).toBeUndefined();
    expect(readJournal(file)).toHaveLength(0);
    for (const path of [journalPath(file), headPath(file)]) {
      const reason = expect.stringContaining(`${path} cannot be read`);
      const report = await verifyAudit(file);
      expect(report).toMatchObject({ ok: false, reason });
      // Something else in the place of a head was found.
      expect(report.unread).toBeUndefined();
      fs.rmSync(path);
    }
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
  });

  it.each(["a pipe", "a device", "a file of a gigabyte"])(
    "%s in the place of each file beside the log",
    async (what) => {
      for (const beside of ["restored", "archived", "head"]) {
        const file = place();
        await written(file);
        const path = `${file}.${beside}`;
        fs.rmSync(path, { force: true });
        if (what === "a pipe") pipeAt(path);
        else if (what === "a device") fs.symlinkSync("/dev/zero", path);
        else fs.closeSync(fs.openSync(path, "w"));
        if (what === "a file of a gigabyte") fs.truncateSync(path, 2 ** 30);
        const before = process.memoryUsage().rss;
        const { publicKey } = generateKeyPairSync("ed25519");
        const archives = { publicKey: String(publicKey.export({ type: "spki", format: "pem" })), keyFile: "key" };
        const verified = verifyAudit(file, { archives });
        if (beside === "head") {
          const report = await verified;
          expect(report).toMatchObject({ ok: false, records: 1 });
          expect(report.unread).toBeUndefined();
        } else await expect(verified).rejects.toThrow(/is no file|is longer than/);
        expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
      }
    },
  );

  it("in the place of the log, when it is verified", async () => {
    const file = place();
    await written(file);
    fs.rmSync(file);
    pipeAt(file);
    const reason = "it is no file but a pipe; put the log there, or name another";
    const remembered = await verifyAudit(file);
    expect(remembered).toMatchObject({ ok: false, reason });
    expect(remembered.unread).toBeUndefined();
    fs.rmSync(headPath(file));
    expect(await verifyAudit(file)).toMatchObject({ ok: false, unread: true, reason });
  });

  it.each([
    ["that somebody reads", true],
    ["that nobody reads", false],
  ])("in the place of the journal, while it is made (a pipe %s)", async (_what, read) => {
    const file = place();
    fs.mkdirSync(dirname(file), { recursive: true });
    const log = openLogFile(file);
    pipeAt(journalPath(file));
    const reading = read ? fs.openSync(journalPath(file), READ_AT_ONCE) : undefined;
    await expect(log.journal()).rejects.toThrow("is no file but a pipe");
    if (reading !== undefined) {
      // Nothing was written, whether its other end is open still or not.
      expect([0, "EAGAIN"]).toContain(readNow(reading));
      fs.closeSync(reading);
    }
    log.close();
  });

  it("in the place of a full file", async () => {
    const file = place();
    await written(file);
    fs.rmSync(file);
    pipeAt(archivePath(file, 1));
    await expect(AuditLog.open(file, { sync: false })).rejects.toThrow("is no file");
  });

  it("in the place of the checkpoints", async () => {
    const file = place();
    fs.mkdirSync(dirname(file), { recursive: true });
    const said: string[] = [];
    const { privateKey: key } = generateKeyPairSync("ed25519");
    const options = { file: join(dirname(file), "checkpoints"), key, everyRecords: 1, everyMs: 60_000 };
    pipeAt(options.file);
    const writer = new CheckpointWriter({ ...options, say: (line) => said.push(line) });
    writer.begin(file);
    writer.reached({ seq: 1, hash: "0".repeat(64) });
    await writer.close();
    expect(said.join("\n")).toContain("no checkpoint can be written");
  });
});
