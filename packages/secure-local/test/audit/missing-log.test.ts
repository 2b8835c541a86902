// A whole log that was taken away with all that lay beside it: signed checkpoints elsewhere still name it.
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { CheckpointWriter, checkpointKey } from "../../src/audit/checkpoint.js";
import { numberedLog } from "../../src/audit/log-writer.js";
import type { Ran } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { temporaryFolder } from "./temporary-folder.js";

let home: string;
let state: string;
let checkpoints: string;
const log = (number = 1): string => numberedLog(join(state, "audit.log"), number);

beforeEach(() => {
  home = temporaryFolder();
  state = join(home, "state/mcp-secure-local");
  checkpoints = join(home, "elsewhere");
  fs.mkdirSync(state, { recursive: true, mode: 0o700 });
  policyWith("");
});

function policyWith(more: string): void {
  const text = `version: "1.0"\naudit: { checkpoints: { file: ${checkpoints}, every_records: 1 }${more} }\n`;
  fs.writeFileSync(join(home, "policy.yaml"), text, { mode: 0o600 });
}

/** A process that writes so many records into a log and ends. */
async function write(file: string, count: number, rotateBytes?: number): Promise<void> {
  const key = checkpointKey(join(state, "audit-key.pem"));
  const writer = new CheckpointWriter({ file: checkpoints, key, everyRecords: 1, everyMs: 60_000, say: () => {} });
  const audit = await AuditLog.open(file, { checkpoints: writer, rotateBytes });
  writer.begin(audit.file);
  for (let index = 0; index < count; index++) await audit.record({ kind: "denied", tool: `t${index}` });
  await audit.close();
}

const audit = (...words: string[]): Promise<Ran> =>
  runQuickly(["audit", ...words, "--policy", join(home, "policy.yaml")], { home });

/** With its full files, its head and whatever else is named after it. */
function take(file: string): void {
  for (const name of fs.readdirSync(state)) if (name.startsWith(basename(file))) fs.rmSync(join(state, name));
}

describe("a log that is gone with all that lay beside it", () => {
  it.each([
    ["a second log", 2, "audit.2.log is missing: checkpoints remember it up to record 6"],
    ["the first log", 1, "audit.log is missing: checkpoints remember it up to record 4"],
  ])("is missing where checkpoints name it: %s", async (_, number, reason) => {
    await write(log(1), 4);
    await write(log(2), 6);
    expect((await audit("verify")).code).toBe(0);
    take(log(number));
    for (const words of [["verify"], ["verify", state]]) {
      const { code, stderr, stdout } = await audit(...words);
      expect([code, stderr], stdout).toEqual([1, expect.stringContaining(reason) as string]);
    }
    const page = join(home, "report.html");
    expect((await audit("report", "--output", page)).code).toBe(1);
    expect(fs.readFileSync(page, "utf8")).toContain(reason);
  });

  it("is missing though it ended before more checkpoints of another than are compared", async () => {
    await write(log(2), 6);
    await write(log(1), 1);
    const newest = fs.readFileSync(checkpoints, "utf8").trimEnd().split("\n").at(-1);
    fs.appendFileSync(checkpoints, `${newest}\n`.repeat(10_050));
    take(log(2));
    expect(await audit("verify")).toMatchObject({ code: 1, stderr: expect.stringContaining("audit.2.log is missing") });
  });

  it("is missing though somebody without the key wrote a line of its name behind the others", async () => {
    await write(log(1), 2);
    await write(log(2), 6);
    fs.appendFileSync(checkpoints, '{"log":"audit.2.log","seq":99,"hash":"x","time":"y","signature":"z"}\n');
    take(log(2));
    const { code, stderr } = await audit("verify");
    expect([code, stderr]).toEqual([1, expect.stringContaining("is not signed with the key") as string]);
  });

  it("is accepted by audit restored where the copy was made before it was begun", async () => {
    await write(log(1), 4);
    await write(log(2), 6);
    take(log(2));
    expect((await audit("restored", "an older copy")).stderr).toContain("records 1 to 6 are lost");
    expect((await audit("restored", "an older copy", "--yes")).code).toBe(0);
    const { code, stdout } = await audit("verify");
    expect([code, stdout]).toEqual([0, expect.stringContaining("records 1 to 6 are lost") as string]);
    take(log(2));
    expect((await audit("verify")).stderr).toContain("audit.2.log is missing");
  });
});

describe("a log is not missing", () => {
  it("where its full files were archived, here or in the folder they were archived to", async () => {
    await write(log(1), 30, 2_000);
    await write(log(2), 6);
    const archive = join(home, "archive");
    expect((await audit("archive", archive)).code).toBe(0);
    expect((await audit("verify")).code).toBe(0);
    expect(await audit("verify", archive)).toMatchObject({ code: 0, stderr: "" });
    expect((await audit("verify", "--audit", join(archive, "audit.log"))).stderr).not.toContain("audit.2.log");
  });

  it("where it is of another policy that writes into the same file of checkpoints", async () => {
    await write(log(1), 4);
    await write(join(home, "other.log"), 6);
    expect(await audit("verify")).toMatchObject({ code: 0, stderr: "" });
  });

  it("in a folder of logs of which the checkpoints know nothing", async () => {
    await write(log(1), 4);
    await write(log(2), 4);
    const collected = join(home, "collected");
    fs.mkdirSync(collected);
    const other = await AuditLog.open(join(collected, "far.log"));
    await other.record({ kind: "start" });
    await other.close();
    expect(await audit("verify", collected)).toMatchObject({ code: 0, stderr: "" });
  });
});
