// Logs that are put away when they are long: one chain over all files, whatever happens between two of them.
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { AuditLog, type AuditLogOptions } from "../../src/audit/audit-log.js";
import { archivesOf, openLogFile } from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { temporaryFolder } from "./temporary-folder.js";

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const folder = (name: string): string => join(root, name);
const OPTIONS: AuditLogOptions = { rotateBytes: 1_000 };

async function write(file: string, count: number, options = OPTIONS): Promise<void> {
  const log = await AuditLog.open(file, options);
  for (let index = 0; index < count; index++) await log.record({ kind: "call.intent", tool: `t${index}` });
  await log.close();
}

function linesOf(file: string): Record<string, unknown>[] {
  const text = fs.readFileSync(file, "utf8").trim();
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("a log that is put away", () => {
  it("goes on in the next file with the hash of the last, over restarts", async () => {
    const file = folder("chain.log");
    await write(file, 20);
    await write(file, 20);
    const files = [...archivesOf(file), file];
    expect(files.length).toBeGreaterThan(5);
    const records = files.map(linesOf);
    for (let index = 1; index < records.length; index++) {
      if (records[index]!.length === 0) continue;
      expect(records[index]![0]!["prev"]).toBe(records[index - 1]!.at(-1)!["hash"]);
      expect(basename(files[index - 1]!)).toContain(String(records[index - 1]!.at(-1)!["seq"]).padStart(16, "0"));
    }
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 40, files: files.length });
    expect(fs.statSync(files[0]!).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["a full file is gone", (files: string[]) => fs.rmSync(files[1]!)],
    ["the first file is gone", (files: string[]) => fs.rmSync(files[0]!)],
    [
      "two files are exchanged",
      ([a, b]: string[]) => (fs.renameSync(a!, `${a}x`), fs.renameSync(b!, a!), fs.renameSync(`${a}x`, b!)),
    ],
    ["a full file was cut", (files: string[]) => fs.truncateSync(files[1]!, fs.statSync(files[1]!).size - 10)],
    ["a full file lost its last line", (files: string[]) => fs.writeFileSync(files[1]!, cutLine(files[1]!))],
    [
      "a byte was changed",
      (files: string[]) => fs.writeFileSync(files[2]!, fs.readFileSync(files[2]!, "utf8").replace("t", "T")),
    ],
    ["the newest file was emptied", (files: string[]) => fs.writeFileSync(files.at(-1)!, "")],
  ])("is found out when %s", async (what, harm) => {
    const file = folder(`${what.replaceAll(" ", "-")}.log`);
    await write(file, 31);
    harm([...archivesOf(file), file]);
    const report = await verifyAudit(file);
    expect(report).toMatchObject({ ok: false });
    expect(report.reason).not.toBe("");
  });

  it("is begun anew after a crash between the two names", async () => {
    const file = folder("crash.log");
    await write(file, 11);
    const before = await verifyAudit(file);
    // As a kill leaves it: the full file has its new name, the empty one not yet its own.
    const last = Number(linesOf(file).at(-1)?.["seq"]);
    if (linesOf(file).length > 0) fs.renameSync(file, `${file}.${String(last).padStart(16, "0")}`);
    else fs.rmSync(file);
    fs.writeFileSync(`${file}.next`, "");
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: before.records });
    await write(file, 11);
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 22 });
  });

  it("has nothing lost when its first record was torn", async () => {
    const file = folder("torn.log");
    await write(file, 11);
    while (linesOf(file).length > 0) await write(file, 1);
    fs.writeFileSync(file, '{"seq":99,"prev":"ab');
    await write(file, 1);
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
    expect(linesOf(file)[0]).toMatchObject({ kind: "log.repaired" });
  });

  it("grows on while the next file cannot be begun", async () => {
    const file = folder("stuck.log");
    let stuck = true;
    const openFile: AuditLogOptions["openFile"] = (path) => {
      const real = openLogFile(path);
      return {
        ...real,
        rotate(archive) {
          if (stuck) throw new Error("ENOSPC");
          real.rotate(archive);
        },
      };
    };
    const log = await AuditLog.open(file, { ...OPTIONS, openFile });
    for (let index = 0; index < 10; index++) await log.record({ kind: "call.intent" });
    expect(archivesOf(file)).toEqual([]);
    stuck = false;
    await log.record({ kind: "call.intent" });
    await log.record({ kind: "call.intent" });
    await log.close();
    expect(archivesOf(file)).toHaveLength(1);
    expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 12 });
  });

  it("is not put away over another file", async () => {
    const file = folder("taken.log");
    const real = openLogFile(file);
    real.append(Buffer.from("x\n"));
    fs.writeFileSync(`${file}.1`, "mine");
    expect(() => real.rotate(`${file}.1`)).toThrow("exists already");
    expect(fs.readFileSync(`${file}.1`, "utf8")).toBe("mine");
    real.append(Buffer.from("y\n"));
    expect(fs.readFileSync(file, "utf8")).toBe("x\ny\n");
    real.close();
  });
});

function cutLine(file: string): string {
  return `${fs.readFileSync(file, "utf8").trim().split("\n").slice(0, -1).join("\n")}\n`;
}

it("a log that is open can be told to be put away from another length on, and to have other checkpoints", async () => {
  const file = folder("kept.log");
  const log = await AuditLog.open(file);
  const said: string[] = [];
  const witness = (name: string): NonNullable<AuditLogOptions["checkpoints"]> => ({
    reached: ({ seq }) => void said.push(`${name} ${seq}`),
    close: async () => void said.push(`${name} closed`),
  });
  const record = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await log.record({ kind: "call.intent", tool: `t${index}` });
  };
  await log.keep({ checkpoints: witness("first") });
  await record(10);
  expect(archivesOf(file)).toEqual([]);
  await log.keep({ rotateBytes: 1_000, checkpoints: witness("second") });
  await record(10);
  await log.keep({});
  await log.close();
  expect(archivesOf(file).length).toBeGreaterThan(1);
  expect(said.slice(8, 12)).toEqual(["first 9", "first 10", "first closed", "second 11"]);
  expect(said.at(-1)).toBe("second closed");
  expect(await verifyAudit(file)).toMatchObject({ ok: true, records: 20 });
});
