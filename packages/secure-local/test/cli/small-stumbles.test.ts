// Small things that cost a person time: what is made without a word, advice that leaves out the option, columns and codes that change.
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { existingLogs, rememberedLogs } from "../../src/audit/log-writer.js";
import { tableHead, tableRow } from "../../src/cli/audit-lines.js";
import { Household, tool } from "../servers/household.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { approvePlugins, type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const houses: Household[] = [];
afterEach(async () => {
  for (const house of houses.splice(0)) await house.close();
});

it("a file that is there may be replaced with --force, where a command has that", async () => {
  const home = temporaryFolder();
  const file = join(home, "out.html");
  writeFileSync(file, "kept");
  await runQuickly(["call", "calculate", "expression=1"], { home });
  const report = await runQuickly(["audit", "report", "--output", file], { home });
  expect(report.stderr).toContain("name another file, or replace it with --force");
  const map = await runQuickly(["policy", "map", "--output", join(home, "out.html")], { home });
  expect(map.stderr).not.toContain("remove it first");
  const init = await runQuickly(["policy", "init", file, "--yes"], { home });
  expect(init.stderr).toContain("remove it first");
});

describe("an audit log in a folder that was not there", () => {
  it("is begun with a word, once, and where nobody named one without", async () => {
    const home = temporaryFolder();
    const audit = join(home, "lgo/mcp/audit.log");
    const words = ["call", "calculate", "expression=1", "--audit", audit];
    const first = await runQuickly(words, { home });
    expect(first.stderr).toContain(`the folder ${join(home, "lgo/mcp")} was not there and is made for the audit log`);
    expect((await runQuickly(words, { home })).stderr).toBe("");
    expect((await runQuickly(["call", "calculate", "expression=1"], { home: temporaryFolder() })).stderr).toBe("");
  });
});

describe("a numbered log without a record", () => {
  it("is not left by whoever had nothing to write", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "audit.log");
    const first = await AuditLog.open(file);
    const second = await AuditLog.open(file);
    expect(second.file).toBe(join(folder, "audit.2.log"));
    await second.close();
    expect(readdirSync(folder).filter((name) => name.startsWith("audit.2"))).toEqual([]);
    const third = await AuditLog.open(file);
    await third.record({ kind: "start" });
    await third.close();
    await first.close();
    expect(existsSync(join(folder, "audit.2.log"))).toBe(true);
  });

  it("is no log where one was left, but one whose records are gone is", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "audit.log");
    const [log, second] = [await AuditLog.open(file), await AuditLog.open(file)];
    await Promise.all([log.record({ kind: "start" }), second.record({ kind: "start" })]);
    await Promise.all([log.close(), second.close()]);
    appendFileSync(join(folder, "audit.3.log"), "");
    expect(existingLogs(file)).toEqual([file, second.file]);
    expect(rememberedLogs(file)).toEqual([file, second.file]);
    writeFileSync(second.file, "");
    expect(rememberedLogs(file)).toEqual([file, second.file]);
  });
});

it("columns of the table stay below each other, however long a value is", () => {
  const time = "2026-11-23T09:30:00.000Z";
  const of = (long: number): string =>
    tableRow({
      time,
      kind: "call.result",
      method: "tools/call",
      tool: "t".repeat(long),
      client: "c".repeat(long),
      arguments: { path: `/${"p".repeat(long)}` },
      outcome: "ok",
      decision: { allowed: true, rule: "RULE" },
    });
  const at = [1, 10, 80, 300].map((long) => of(long).indexOf("RULE"));
  expect(new Set(at)).toEqual(new Set([tableHead().indexOf("rule")]));
  expect(of(300)).toContain("…");
});

it("the code of a failure is a text, whoever failed", async () => {
  const house = new Household();
  houses.push(house);
  const failing = house.program("failing", { tools: [tool("go")] });
  const codeOf = ({ stderr }: Ran): Record<string, unknown> =>
    (JSON.parse(stderr) as { error: Record<string, unknown> }).error;
  const refused = await runQuickly(["read", "note://nobody", "--json"], { home: house.folder });
  expect(codeOf(refused)).toMatchObject({ code: "RPC_ERROR", number: expect.any(Number) as number });
  const prompt = await runQuickly(["prompt", "nobody", "--json", "--", process.execPath, failing], {
    home: house.folder,
  });
  expect(codeOf(prompt)).toMatchObject({ code: expect.any(String) as string });
});

/** Says things in every way there is, past its console too. */
const TALKATIVE = `import { definePlugin } from "mcp-secure-local/plugin";
import { log } from "node:console";
import fs from "node:fs";
console.log("at the top");
log("by the module");
fs.writeSync(1, "without an end");
export default definePlugin({
  name: "talkative",
  version: "1.0.0",
  tools: {
    greet: {
      description: "Greets.",
      input: { type: "object", properties: {} },
      annotations: { readOnlyHint: true },
      run: () => {
        console.log("in the call", { a: 1 });
        process.stdout.write('{"id":1}\\n');
        fs.writeSync(1, "in the middle");
        return "hello";
      },
    },
  },
});
`;

it("what a module plugin prints is no part of its answers, and is shown to its author", async () => {
  const home = temporaryFolder();
  const folder = join(home, "talkative");
  mkdirSync(folder);
  writeFileSync(join(folder, "plugin.mjs"), TALKATIVE);
  const policy = join(home, "policy.yaml");
  writeFileSync(
    policy,
    `version: "1.0"\nsandbox: none\ntools: { allowed: ["talkative_*"] }\nplugins: { load: [{ name: talkative, path: ${folder} }] }\n`,
  );
  await approvePlugins(policy, home);
  const called = await run(["call", "talkative_greet", "--policy", policy], { home });
  expect(called).toMatchObject({ code: 0, stdout: "hello\n" });
  const listed = await run(["plugins", "list", "--policy", policy], { home });
  expect(listed.stdout).toContain("ready");
});
