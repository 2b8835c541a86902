// `audit verify FOLDER` on a whole state folder, where copies of what servers said lie below `servers`, which are no audit logs.
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { refusingPort } from "../../../mcp/test/support/refusing-port.js";
import { AuditLog } from "../../src/audit/audit-log.js";
import { ServerLog, serverLogFile } from "../../src/server/server-log.js";
import type { Ran } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { temporaryFolder } from "./temporary-folder.js";

let home: string;
let state: string;
let said: string;

beforeEach(async () => {
  home = temporaryFolder();
  state = join(home, "state/mcp-secure-local");
  fs.mkdirSync(state, { recursive: true, mode: 0o700 });
  await write(join(state, "audit.log"), 3);
  said = serverLogFile(join(state, "servers"), "/p.yaml", "notes");
  const log = new ServerLog(join(state, "servers"), said);
  for (const line of ["listening", '{"seq":1,"hash":"x"}']) log.add(line);
  for (let line = 0; line < 1_100; line++) log.add("busy");
  await log.settled();
});

async function write(file: string, count: number): Promise<void> {
  const audit = await AuditLog.open(file);
  for (let index = 0; index < count; index++) await audit.record({ kind: "denied", tool: `t${index}` });
  await audit.close();
}

const verify = (...words: string[]): Promise<Ran> => runQuickly(["audit", "verify", ...words], { home });

it("is in order as it is, and as a copy of the whole folder", async () => {
  expect(fs.readFileSync(said, "utf8")).toContain("more lines were left out");
  const copy = join(home, "copy");
  fs.cpSync(state, copy, { recursive: true });
  for (const folder of [state, copy]) {
    const { code, stdout, stderr } = await verify(folder);
    expect([code, stderr], stdout).toEqual([0, ""]);
    expect(stdout).toContain("audit.log: 3 records");
    expect(stdout).not.toContain("notes-");
  }
});

it.each([
  ["another name", (file: string) => fs.renameSync(file, join(state, "servers/notes.log"))],
  ["another place", (file: string) => fs.renameSync(file, join(state, "notes-12345678.log"))],
  [
    "another folder",
    (file: string) => (fs.mkdirSync(join(state, "other")), fs.renameSync(file, join(state, "other/n-12345678.log"))),
  ],
  ["a line that begins otherwise", (file: string) => fs.appendFileSync(file, '{"seq":1}\n')],
  ["a head beside it", (file: string) => fs.writeFileSync(`${file}.head`, "x")],
  ["what was archived beside it", (file: string) => fs.writeFileSync(`${file}.archived`, "x")],
  ["a full file beside it", (file: string) => fs.writeFileSync(`${file}.0000000000000009`, "x")],
  ["another content", (file: string) => fs.writeFileSync(file, "x\n")],
])("is not in order where a file may be an audit log, by %s", async (_, change) => {
  change(said);
  expect((await verify(state)).code).toBe(1);
});

it("verifies as one what has no line yet: nothing says that it is no audit log", async () => {
  fs.truncateSync(said);
  expect((await verify(state)).stdout).toContain(`${basename(said)}: 0 records`);
});

it("verifies an audit log that was named and put as such a copy is", async () => {
  await write(join(state, "servers/audit-12345678.log"), 2);
  const { stdout } = await verify(state);
  expect(stdout).toContain("audit-12345678.log: 2 records");
  fs.writeFileSync(join(state, "servers/audit-12345678.log"), "{}\n");
  expect((await verify(state)).code).toBe(1);
});

it("is the folder of the log in use where --redis names no other", async () => {
  const port = await refusingPort();
  const key = join(state, "share-key-of-test");
  fs.writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
  const { stderr } = await verify("--redis", `redis://127.0.0.1:${port}`, "--share-key", key);
  expect(stderr).toContain("cannot be reached");
  const said = async (log: string): Promise<string> =>
    (await verify(join(state, log), "--redis", "redis://127.0.0.1")).stderr;
  expect(await said("audit.log")).toContain("name its folder, or none");
  expect(await said("none")).toContain(`there is no folder ${join(state, "none")}`);
});
