// A head file that is there and cannot be used: it may be all that tells that the end of a log was cut off.
import * as fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { headPath, lookAtHead, readHead, writeHead } from "../../src/audit/log-file.js";
import { rememberedLogs } from "../../src/audit/log-writer.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { verifyChains } from "../../src/audit/verify-chains.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { pipeAt } from "./rescued-pipe.js";
import { temporaryFolder } from "./temporary-folder.js";

async function written(): Promise<string> {
  const file = join(temporaryFolder(), "logs", "audit.log");
  const log = await AuditLog.open(file, { sync: false });
  await log.record({ kind: "call.intent", id: "1", tool: "t" });
  await log.close();
  return file;
}

const HEADS: readonly (readonly [what: string, put: (path: string, was: string) => void])[] = [
  ["a folder", (path) => fs.mkdirSync(path)],
  ["a pipe", pipeAt],
  ["a link that leads nowhere", (path) => fs.symlinkSync("nowhere", path)],
  ["an empty file", (path) => fs.writeFileSync(path, "")],
  ["half of what it was", (path, was) => fs.writeFileSync(path, was.slice(0, was.length / 2))],
  ["another JSON", (path) => fs.writeFileSync(path, '{"records":"1"}\n')],
  ["a number below nothing", (path, was) => fs.writeFileSync(path, was.replace(/\d+/, "-5"))],
  ["a number that is none", (path, was) => fs.writeFileSync(path, was.replace(/\d+/, "1.5"))],
  ["a hash that is none", (path) => fs.writeFileSync(path, '{"records":1,"hash":""}\n')],
  ["a file of a gigabyte", (path) => (fs.writeFileSync(path, ""), fs.truncateSync(path, 2 ** 30))],
];

describe.skipIf(process.platform === "win32").each(HEADS)("%s in the place of a head", (_what, put) => {
  const spoilt = async (): Promise<string> => {
    const file = await written();
    const path = headPath(file);
    const was = fs.readFileSync(path, "utf8");
    fs.rmSync(path);
    put(path, was);
    return file;
  };

  it("keeps the log from being gone on with, and what is said names it and what to do", async () => {
    const file = await spoilt();
    const before = fs.readFileSync(file, "utf8");
    await expect(AuditLog.open(file, { sync: false })).rejects.toThrow(
      `the head file ${headPath(file)} cannot be read (`,
    );
    expect(fs.readFileSync(file, "utf8")).toBe(before);
    const { code, stdout } = await runQuickly(["status", "--audit", file], { home: dirname(file) });
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, "")).toContain(`theheadfile${headPath(file)}cannotberead`);
    fs.rmSync(headPath(file), { recursive: true });
    await (await AuditLog.open(file, { sync: false })).close();
  });

  it("is told by audit verify, of a file and of a folder, as a change", async () => {
    const file = await spoilt();
    const home = temporaryFolder();
    for (const named of [file, dirname(file)]) {
      const { code, stderr } = await runQuickly(["audit", "verify", named], { home });
      expect(stderr).toContain(`${file}: the head file ${headPath(file)} cannot be read (`);
      expect(code).toBe(1);
    }
    const { stdout } = await runQuickly(["audit", "verify", "--json", file], { home });
    const said = JSON.parse(stdout) as { readonly logs: readonly object[] };
    expect(said).toMatchObject({ ok: false, logs: [{ ok: false }] });
    expect(said.logs[0]).not.toHaveProperty("notChecked");
  });

  it("hides neither a record that was changed nor a log that was taken away", async () => {
    const file = await spoilt();
    const home = temporaryFolder();
    const text = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, text.replace('"tool":"t"', '"tool":"u"'));
    expect((await runQuickly(["audit", "verify", file], { home })).code).toBe(1);
    fs.rmSync(file);
    expect((await verifyChains(dirname(file))).map((each) => each.file)).toEqual([file]);
    expect((await runQuickly(["audit", "verify", "--audit", file], { home })).code).toBe(1);
  });
});

it.skipIf(process.platform === "win32")(
  "a pipe among the logs of a folder is told, and the others are checked",
  async () => {
    const file = await written();
    const pipe = join(dirname(file), "more.log");
    pipeAt(pipe);
    const chains = await verifyChains(dirname(file));
    expect(chains).toMatchObject([
      { file, ok: true, records: 1 },
      { file: pipe, ok: false, notChecked: true },
    ]);
    expect((await runQuickly(["audit", "verify", dirname(file)], { home: temporaryFolder() })).code).toBe(2);
    fs.appendFileSync(file, "x\n");
    expect((await runQuickly(["audit", "verify", dirname(file)], { home: temporaryFolder() })).code).toBe(1);
  },
);

it("a head is on the disk before it has its name: a power failure leaves no empty one", () => {
  const log = join(temporaryFolder(), "audit.log");
  const done: string[] = [];
  // What the module gives away by name follows what stands in it.
  const module = createRequire(import.meta.url)("node:fs") as Record<
    "fsyncSync" | "renameSync",
    (...args: never[]) => void
  >;
  const { fsyncSync, renameSync } = module;
  module.fsyncSync = (...args) => (done.push("fsync"), fsyncSync(...args));
  module.renameSync = (...args) => (done.push("rename"), renameSync(...args));
  syncBuiltinESMExports();
  const hash = "a".repeat(64);
  try {
    writeHead(log, { seq: 3, hash });
  } finally {
    Object.assign(module, { fsyncSync, renameSync });
    syncBuiltinESMExports();
  }
  expect(done).toEqual(["fsync", "rename"]);
  expect(readHead(log)).toEqual({ seq: 3, hash });
});

/** Of what was there, or of its text, something else. */
const DEEDS: Readonly<Record<string, (path: string, was: string) => void>> = {
  removed: () => undefined,
  "a folder": (path) => fs.mkdirSync(path),
  "a pipe": pipeAt,
  empty: (path) => fs.writeFileSync(path, ""),
  cut: (path, was) => fs.writeFileSync(path, was.slice(0, was.length / 2)),
  "cut after a whole line": (path, was) => fs.writeFileSync(path, was.slice(0, was.indexOf("\n") + 1)),
  damaged: (path, was) => fs.writeFileSync(path, `?${was.slice(1)}`),
  "of a wrong type": (path, was) => fs.writeFileSync(path, was.replace(/("(?:seq|records)":)(\d+)/, '$1"$2"')),
  negative: (path, was) => fs.writeFileSync(path, was.replace(/("(?:seq|records)":)(\d+)/, "$1-$2")),
};
/** What nothing remembers cannot be missed: the log alone is whole, and of neither nobody knows. A head of one line is whole as well. */
const UNSEEN: Readonly<Record<string, number>> = {
  "head removed": 0,
  "head cut after a whole line": 0,
  "both removed": 2,
};
const CASES = ["log", "head", "both"].flatMap((what) => Object.keys(DEEDS).map((deed) => [what, deed] as const));

describe.skipIf(process.platform === "win32")("what was done to a log and its head", () => {
  it.each(CASES)("%s %s: audit verify ends with 1 where there is anything that shows it", async (what, deed) => {
    const file = join(temporaryFolder(), "logs", "audit.log");
    const log = await AuditLog.open(file, { sync: false });
    for (let id = 0; id < 5; id++) await log.record({ kind: "call.intent", id, tool: "t" });
    await log.close();
    for (const path of [...(what === "head" ? [] : [file]), ...(what === "log" ? [] : [headPath(file)])]) {
      const was = fs.readFileSync(path, "utf8");
      fs.rmSync(path);
      (DEEDS[deed] as (typeof DEEDS)[string])(path, was);
    }
    const { code, stderr } = await runQuickly(["audit", "verify", file], { home: temporaryFolder() });
    expect({ code, stderr }).toMatchObject({ code: UNSEEN[`${what} ${deed}`] ?? 1 });
  });
});

/** `openSync` for the time of `run`: `before` is called with each name. */
async function opening<T>(before: (path: string) => void, run: () => T | Promise<T>): Promise<T> {
  const module = createRequire(import.meta.url)("node:fs") as { openSync: (...args: never[]) => number };
  const { openSync } = module;
  module.openSync = (...args) => (before(String(args[0])), openSync(...args));
  syncBuiltinESMExports();
  try {
    return await run();
  } finally {
    Object.assign(module, { openSync });
    syncBuiltinESMExports();
  }
}

it("a head that may not be read was not found to be changed: audit verify ends with 2", async () => {
  const file = await written();
  const refuse = (path: string): void => {
    if (path === headPath(file)) throw Object.assign(new Error("no right"), { code: "EACCES" });
  };
  const { unread, ok } = await opening(refuse, () => verifyAudit(file));
  expect({ unread, ok }).toEqual({ unread: true, ok: false });
});

it("a head that is taken away while it is looked for is gone, and its log was never there", async () => {
  const file = await written();
  const other = join(dirname(file), "audit.2.log");
  fs.writeFileSync(headPath(other), fs.readFileSync(headPath(file)));
  const remove = (path: string): void => {
    if (path === headPath(other)) fs.rmSync(path, { force: true });
  };
  expect(await opening(remove, () => rememberedLogs(file))).toEqual([file]);
  expect(lookAtHead(other)).toEqual({});
});
