// Signed checkpoints in a second place: what they show that the log alone cannot.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import * as fs from "node:fs";
import { open } from "node:fs/promises";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { CheckpointWriter, checkpointKey, publicKeyPath } from "../../src/audit/checkpoint.js";
import { headPath } from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { verifyChains } from "../../src/audit/verify-chains.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { temporaryFolder } from "./temporary-folder.js";

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const folder = (name: string): string => join(root, name);
const keyFile = (): string => folder("key/audit-key.pem");

async function write(name: string, count: number): Promise<{ file: string; checkpoints: string; said: string[] }> {
  const [file, checkpoints] = [folder(`${name}.log`), folder(`${name}-second/checkpoints`)];
  const said: string[] = [];
  const writer = new CheckpointWriter({
    file: checkpoints,
    key: checkpointKey(keyFile()),
    everyRecords: 5,
    everyMs: 60_000,
    say: (line) => said.push(line),
  });
  const log = await AuditLog.open(file, { rotateBytes: 2_000, checkpoints: writer });
  writer.begin(log.file);
  for (let index = 0; index < count; index++) await log.record({ kind: "call.intent", tool: `t${index}` });
  await log.close();
  return { file, checkpoints, said };
}

const verify = (file: string, checkpoints: string): ReturnType<typeof verifyAudit> =>
  verifyAudit(file, {
    checkpoints: { file: checkpoints, publicKey: fs.readFileSync(publicKeyPath(keyFile()), "utf8") },
  });

describe("checkpoints", () => {
  it("are written every so many records and at the end, and agree with the log over its files", async () => {
    const { file, checkpoints } = await write("agree", 23);
    const report = await verify(file, checkpoints);
    expect(report).toMatchObject({ ok: true, records: 23 });
    expect(report.checkpoints).toBeGreaterThanOrEqual(2);
    expect(report).not.toHaveProperty("signed");
    const publicKey = fs.readFileSync(publicKeyPath(keyFile()), "utf8");
    const { signed = [] } = await verifyAudit(file, { checkpoints: { file: checkpoints, publicKey }, signed: true });
    expect([signed.length, signed.at(-1)]).toEqual([report.checkpoints, 23]);
    expect(signed).toEqual([...signed].sort((a, b) => a - b));
    await write("agree", 4);
    expect(await verify(file, checkpoints)).toMatchObject({ ok: true, records: 27 });
    expect(fs.statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  it("show that the end was cut off, though the head file was made to fit", async () => {
    const { file, checkpoints } = await write("cut", 23);
    const lines = fs.readFileSync(file, "utf8").split("\n");
    fs.writeFileSync(file, `${lines.slice(0, 1).join("\n")}\n`);
    fs.rmSync(headPath(file));
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
    expect(await verify(file, checkpoints)).toMatchObject({ ok: false, reason: expect.stringContaining("cut off") });
  });

  it("show that the log was written anew", async () => {
    const { file, checkpoints } = await write("anew", 23);
    for (const name of fs.readdirSync(folder("."))) if (name.startsWith("anew.log")) fs.rmSync(folder(name));
    const log = await AuditLog.open(file);
    for (let index = 0; index < 23; index++) await log.record({ kind: "call.intent", tool: `forged${index}` });
    await log.close();
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
    expect(await verify(file, checkpoints)).toMatchObject({
      ok: false,
      reason: expect.stringContaining("signed checkpoint"),
    });
  });

  it("count only with the right signature", async () => {
    const { file, checkpoints } = await write("signed", 11);
    const text = fs.readFileSync(checkpoints, "utf8");
    fs.writeFileSync(checkpoints, text.replace(/"seq":\d+/, '"seq":1'));
    expect(await verify(file, checkpoints)).toMatchObject({ ok: false, reason: expect.stringContaining("not signed") });
    fs.writeFileSync(checkpoints, text);
    const other = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" });
    const report = await verifyAudit(file, { checkpoints: { file: checkpoints, publicKey: String(other) } });
    expect(report).toMatchObject({ ok: false });
    fs.rmSync(checkpoints);
    expect(await verify(file, checkpoints)).toMatchObject({
      ok: false,
      reason: expect.stringContaining("cannot be read"),
    });
  });

  it("survive a torn line, at the end and with others behind it", async () => {
    const { file, checkpoints } = await write("torn", 11);
    fs.appendFileSync(checkpoints, '{"log":"torn.log","seq":12,"ha');
    expect(await verify(file, checkpoints)).toMatchObject({ ok: true });
    await write("torn", 6);
    expect(await verify(file, checkpoints)).toMatchObject({ ok: true, records: 17 });
  });

  it("that cannot be written are told once, and the log goes on", async () => {
    fs.mkdirSync(folder("full-second"), { recursive: true });
    fs.mkdirSync(folder("full-second/checkpoints"));
    const { file, said } = await write("full", 12);
    expect(said).toHaveLength(1);
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 12 });
  });

  it("that have no folder are told with what to do", async () => {
    fs.writeFileSync(folder("none-second"), "");
    const { file, checkpoints, said } = await write("none", 2);
    const place = `there is no folder ${folder("none-second")}; make it, and restart the server`;
    expect(said).toEqual([`${checkpoints}: no checkpoint can be written (${place})`]);
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 2 });
  });

  it.each([1, 2, 11])("remember a log of %i records of which nothing is left", async (count) => {
    const { file, checkpoints } = await write("gone", count);
    for (const name of fs.readdirSync(root)) if (name.startsWith("gone.log")) fs.rmSync(folder(name));
    const reason = `gone.log is missing: checkpoints remember it up to record ${count}`;
    const earlier = { seq: 0, hash: "0".repeat(64), known: count };
    expect(await verify(file, checkpoints)).toEqual({ ok: false, records: 0, reason, checkpoints: 0, earlier });
  });

  it("are not signed with a key that others may read", () => {
    checkpointKey(keyFile());
    fs.chmodSync(keyFile(), 0o644);
    expect(() => checkpointKey(keyFile())).toThrow("others may read it");
  });

  it.skipIf(process.platform === "win32")("are not signed with a key that was exchanged while it was read", () => {
    checkpointKey(keyFile());
    const mine = `${keyFile()}.mine`;
    fs.copyFileSync(keyFile(), mine);
    fs.chmodSync(mine, 0o600);
    fs.chmodSync(keyFile(), 0o644);
    // As soon as others' file is open, one for the owner alone has its name.
    const module = createRequire(import.meta.url)("node:fs") as { readFileSync: (...args: never[]) => unknown };
    const { readFileSync } = module;
    module.readFileSync = (...args) => {
      const text = readFileSync(...args);
      if (fs.existsSync(mine)) fs.renameSync(mine, keyFile());
      return text;
    };
    syncBuiltinESMExports();
    try {
      expect(() => checkpointKey(keyFile())).toThrow("others may read it");
    } finally {
      Object.assign(module, { readFileSync });
      syncBuiltinESMExports();
    }
  });
});

it("the public half of the key is made again where it is missing or not whole", () => {
  checkpointKey(keyFile());
  const whole = fs.readFileSync(publicKeyPath(keyFile()), "utf8");
  fs.rmSync(publicKeyPath(keyFile()));
  checkpointKey(keyFile());
  expect(fs.readFileSync(publicKeyPath(keyFile()), "utf8")).toBe(whole);
  fs.truncateSync(publicKeyPath(keyFile()), 20);
  checkpointKey(keyFile());
  expect(fs.readFileSync(publicKeyPath(keyFile()), "utf8")).toBe(whole);
});

it("the public half of the key stays the file that it is while it is whole", () => {
  checkpointKey(keyFile());
  const { ino } = fs.statSync(publicKeyPath(keyFile()));
  checkpointKey(keyFile());
  expect(fs.statSync(publicKeyPath(keyFile())).ino).toBe(ino);
  expect(fs.readdirSync(folder("key"))).toHaveLength(2);
});

it("what a server that was ended left of a key is in nobody's way", () => {
  fs.mkdirSync(folder("key"), { mode: 0o700 });
  for (const path of [keyFile(), publicKeyPath(keyFile())]) fs.writeFileSync(`${path}.${process.pid}`, "half");
  checkpointKey(keyFile());
  expect(fs.readdirSync(folder("key"))).toHaveLength(2);
});

describe("a writer of checkpoints", () => {
  const second = (): string => folder("second/checkpoints");
  const seqs = (): number[] =>
    !fs.existsSync(second())
      ? []
      : fs
          .readFileSync(second(), "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => (JSON.parse(line) as { seq: number }).seq);
  function writer(more: { everyRecords?: number; everyMs?: number } = {}): {
    writer: CheckpointWriter;
    said: string[];
  } {
    const said: string[] = [];
    const made = new CheckpointWriter({
      ...{ file: second(), key: checkpointKey(keyFile()), everyRecords: 5, everyMs: 600_000 },
      ...{ say: (line: string) => void said.push(line), ...more },
    });
    made.begin(folder("audit.log"));
    return { writer: made, said };
  }
  const link = (seq: number) => ({ seq, hash: `${seq}`.repeat(64).slice(0, 64) });

  it("signs at the very record that is due, and nothing twice", async () => {
    const { writer: one } = writer();
    for (let seq = 1; seq <= 4; seq += 1) one.reached(link(seq));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seqs()).toEqual([]);
    one.reached(link(5));
    await expect.poll(seqs).toEqual([5]);
    await one.close();
    await one.close();
    expect(seqs()).toEqual([5]);
    one.reached(link(6));
    await one.close();
    expect(seqs()).toEqual([5, 6]);
  });

  it("signs after its time where records are few", async () => {
    const { writer: one } = writer({ everyMs: 1 });
    one.reached(link(1));
    await expect.poll(seqs).toEqual([1]);
    one.reached(link(2));
    await expect.poll(seqs).toEqual([1, 2]);
  });

  it("says once that it cannot write, and once that it can again, each time anew", async () => {
    const { writer: one, said } = writer();
    for (let seq = 1; seq <= 6; seq += 1) {
      if (seq === 1 || seq === 5) fs.mkdirSync(second(), { recursive: true });
      if (seq === 3) fs.rmdirSync(second());
      one.reached(link(seq));
      await one.close();
      if (seq === 4) fs.rmSync(second());
    }
    expect(said.map((line) => line.slice(second().length + 2).replace(/ \(.*/, ""))).toEqual([
      "no checkpoint can be written",
      "checkpoints are written again",
      "no checkpoint can be written",
    ]);
  });

  it.skipIf(process.platform === "win32")("does not wait for somebody who reads a pipe in its place", async () => {
    const { writer: one, said } = writer();
    fs.mkdirSync(folder("second"), { recursive: true });
    execFileSync("mkfifo", [second()]);
    one.reached(link(1));
    const closed = one.close();
    try {
      await expect.poll(() => said).toEqual([expect.stringContaining("no checkpoint can be written")]);
    } finally {
      // Lets go of one that waits.
      fs.closeSync(fs.openSync(second(), fs.constants.O_RDONLY | fs.constants.O_NONBLOCK));
      await closed;
    }
  });

  it("begins no other file where the one it wrote was moved away, with its folder or without, until it is back", async () => {
    for (const [what, away] of [
      ["file", folder("away")],
      ["folder", folder("second-away")],
    ] as const) {
      const { writer: one, said } = writer({ everyMs: 1 });
      const moved = what === "file" ? second() : folder("second");
      one.reached(link(1));
      await one.close();
      expect(one.fault).toBe(undefined);
      fs.renameSync(moved, away);
      // Nobody has called since.
      expect(one.fault).toContain("was moved, removed or exchanged; put it back");
      one.reached(link(2));
      await expect
        .poll(() => said)
        .toEqual([expect.stringContaining("no checkpoint can be written (the file was moved")]);
      expect(fs.existsSync(moved)).toBe(false);
      // Another one in its place is not taken for it.
      if (what === "folder") fs.mkdirSync(moved);
      fs.writeFileSync(second(), "");
      one.reached(link(3));
      await one.close();
      expect([fs.readFileSync(second(), "utf8"), one.fault === undefined]).toEqual(["", false]);
      fs.rmSync(moved, { recursive: true });
      fs.renameSync(away, moved);
      one.reached(link(4));
      await expect.poll(() => said.at(-1)).toContain("checkpoints are written again");
      expect([seqs().at(-1), one.fault]).toEqual([4, undefined]);
    }
  });

  it("makes no folder that was taken away after it began, nor does who goes on for it", async () => {
    const { writer: one } = writer();
    fs.rmdirSync(folder("second"));
    expect(one.fault).toContain("its folder was moved, removed or exchanged");
    one.reached(link(1));
    await one.close();
    expect(fs.existsSync(folder("second"))).toBe(false);
    const other = writer().writer;
    fs.rmdirSync(folder("second"));
    const next = new CheckpointWriter({
      file: second(),
      key: checkpointKey(keyFile()),
      everyRecords: 1,
      everyMs: 600_000,
      say: () => {},
    });
    next.begin(folder("audit.log"), undefined, other.health);
    next.reached(link(1));
    await next.close();
    expect(next.fault).toContain("was moved, removed or exchanged");
    expect(fs.existsSync(folder("second"))).toBe(false);
  });

  it.skipIf(process.getuid?.() === 0)("is told to be unable to write where its rights are gone", async () => {
    const { writer: one } = writer();
    one.reached(link(1));
    await one.close();
    fs.chmodSync(second(), 0o400);
    expect(one.fault).toContain("EACCES");
  });

  it("stays with the file it had where the policy is taken up anew", async () => {
    const { writer: one } = writer();
    one.reached(link(1));
    await one.close();
    fs.renameSync(second(), folder("away"));
    const next = new CheckpointWriter({
      file: second(),
      key: checkpointKey(keyFile()),
      everyRecords: 1,
      everyMs: 600_000,
      say: () => {},
    });
    next.begin(folder("audit.log"), undefined, one.health);
    next.reached(link(2));
    await next.close();
    expect(next.fault).toContain("the file was moved");
    expect(fs.existsSync(second())).toBe(false);
  });

  it("records that it cannot write, and that it can again", async () => {
    const log = await AuditLog.open(folder("told.log"));
    const made = new CheckpointWriter({
      file: second(),
      key: checkpointKey(keyFile()),
      everyRecords: 1,
      everyMs: 1,
      say: () => {},
    });
    made.begin(log.file, log);
    await log.keep({ checkpoints: made });
    await log.record({ kind: "start" });
    await expect.poll(seqs).toEqual([1]);
    expect(log.checkpoints?.fault).toBe(undefined);
    fs.renameSync(second(), folder("away"));
    expect(log.checkpoints?.fault).toContain("was moved");
    await log.record({ kind: "call.intent" });
    const kinds = (): string[] =>
      [...fs.readFileSync(log.file, "utf8").matchAll(/"kind":"([^"]+)"/g)].map(([, kind]) => kind ?? "");
    await expect.poll(kinds).toEqual(["start", "checkpoints.away", "call.intent"]);
    fs.renameSync(folder("away"), second());
    await expect.poll(kinds).toEqual(["start", "checkpoints.away", "call.intent", "checkpoints.back"]);
    await log.close();
    expect(fs.readFileSync(log.file, "utf8")).toContain('"reason":"the file was moved, removed or exchanged');
  });

  it("has what it wrote on the disk before it counts as written", async () => {
    const some = await open(keyFile().replace("key/", "some"), "w");
    const synced = vi.spyOn(Object.getPrototypeOf(some) as typeof some, "datasync");
    await some.close();
    const { writer: one } = writer();
    one.reached(link(1));
    await one.close();
    expect(synced).toHaveBeenCalledTimes(1);
    synced.mockRestore();
  });
});

it("shows a cut log in a folder of logs too, of whichever the checkpoints are", async () => {
  const { file, checkpoints } = await write("a/audit", 20);
  await write("b/audit", 20);
  const signed = { checkpoints: { file: checkpoints, publicKey: fs.readFileSync(publicKeyPath(keyFile()), "utf8") } };
  const found = async (): Promise<unknown[]> =>
    (await verifyChains(root, [], signed)).map(({ ok, checkpoints: agree }) => [ok, agree > 0]);
  expect(await found()).toEqual([
    [true, true],
    [true, false],
  ]);
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(/[^\n]*\n$/, ""));
  fs.rmSync(headPath(file));
  expect(await found()).toEqual([
    [false, true],
    [true, false],
  ]);
  fs.rmSync(folder("b"), { recursive: true });
  expect(await verifyChains(root, [], signed)).toMatchObject([
    { ok: false, reason: expect.stringContaining("cut off") },
  ]);
});

it("a folder of which no checkpoint is known is not called proven", async () => {
  const home = folder("home");
  const log = join(home, "logs/audit.log");
  const audit = await AuditLog.open(log);
  await audit.record({ kind: "start" });
  await audit.close();
  const { stdout, code } = await runQuickly(["audit", "verify", join(home, "logs")], { home });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("its end is not proven") as string });
});
