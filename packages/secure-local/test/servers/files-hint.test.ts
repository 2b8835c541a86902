// A server whose file system is read-only hears from us where its owner lets it write.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { whyNot } from "../../src/cli/why-not.js";
import { stateFolder } from "../../src/policy/own-places.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { ServerGrant } from "../../src/policy/policy.js";
import { filesHint } from "../../src/server/sandbox-hints.js";
import { serverWords } from "../../src/server/server-words.js";

async function grantOf(entry: object): Promise<ServerGrant> {
  const text = JSON.stringify({ version: "1.0", servers: { memory: entry } });
  return (await parsePolicy(text, { file: "policy.yaml" })).servers.get("memory") as ServerGrant;
}

const NONE = { command: ["/opt/memory"] };
const SOME = { command: ["/opt/memory"], filesystem: { allowed_paths: ["/srv/notes/**"] } };
const KEY = "servers.memory.filesystem.allowed_paths";

const PATH = "/home/ada/memory.json";
it.each([
  `EROFS: read-only file system, open '${PATH}'`,
  `[Errno 30] Read-only file system: '${PATH}'`,
  `open ${PATH}: read-only file system`,
])("names the file and the key: %s", async (said) => {
  expect(filesHint(await grantOf(NONE), said)).toBe(
    `The sandbox of memory lets it change no file. If it is to, its owner adds the folder of ${PATH} to ${KEY}.`,
  );
  expect(filesHint(await grantOf(SOME), said)).toContain("no file but those of /srv/notes/**");
  expect(filesHint(await grantOf({ url: "https://a.example" }), said)).toBeUndefined();
});

const READING = { command: ["/opt/memory"], filesystem: { readable_paths: ["/srv/notes/**"] } };
const ONE_FILE = { command: ["/opt/memory"], filesystem: { allowed_paths: [PATH] } };
it.each([
  [NONE, `ENOENT: no such file or directory, open '${PATH}.c7.tmp'`],
  [NONE, `EACCES: permission denied, open '${PATH}'`],
  [NONE, `[Errno 2] No such file or directory: '${PATH}'`],
  [NONE, `[Errno 13] Permission denied: '${PATH}'`],
  [NONE, `open ${PATH}: no such file or directory`],
  [SOME, `ENOENT: no such file or directory, open '${PATH}'`],
  [ONE_FILE, `ENOENT: no such file or directory, open '${PATH}.c7.tmp'`],
  [ONE_FILE, `ENOENT: no such file or directory, open '${PATH}'`],
  [READING, "EACCES: permission denied, open '/srv/notes/a'"],
])("names the key where a folder was not granted: %j %s", async (entry, said) => {
  const path = /\/(?:home|srv)[^': ]+/.exec(said)![0];
  expect(filesHint(await grantOf(entry), said)).toContain(
    `If it is to write there, its owner adds the folder of ${path} to ${KEY}.`,
  );
});

it.each([
  [SOME, "ENOENT: no such file or directory, open '/srv/notes/missing'"],
  [SOME, "EACCES: permission denied, open '/srv/notes/closed'"],
  [READING, "ENOENT: no such file or directory, open '/srv/notes/missing'"],
  [NONE, "ENOENT: no such file or directory, open '/usr/lib/missing'"],
  [NONE, "ENOENT: no such file or directory, open '/tmp/missing'"],
  [NONE, "ENOENT: no such file or directory, open 'missing'"],
  [NONE, "spawn git ENOENT"],
])("says nothing of what is not there, or closed, for another reason: %j %s", async (entry, said) => {
  expect(filesHint(await grantOf(entry), said)).toBeUndefined();
});

it.each([
  ["EACCES: permission denied, open '/srv/notes/.env'", "read or change"],
  ["[Errno 13] Permission denied: '/home/ada/.ssh/id_ed25519'", "read or change"],
  ["EROFS: read-only file system, open '/srv/notes/prek.toml'", "change"],
])("says of a protected name that no grant opens it: %s", async (said, what) => {
  for (const entry of [NONE, READING, SOME]) {
    const hint = filesHint(await grantOf(entry), said);
    expect(hint).toMatch(new RegExp(`is protected \\(.+\\), and no policy lets a server ${what} it\\.$`));
    expect(hint).not.toContain(KEY);
  }
});

it.each(["/srv/notes", "/srv/notes/"])("says that a folder was named alone: %s", async (folder) => {
  const grant = await grantOf({ command: ["/opt/memory"], filesystem: { allowed_paths: [folder] } });
  for (const code of ["EACCES: permission denied", "ENOENT: no such file or directory"])
    expect(filesHint(grant, `${code}, open '/srv/notes/a.tmp'`)).toMatch(
      new RegExp(`^${KEY} names the folder /srv/notes/? only, and nothing in it: write /srv/notes/\\*\\* for all`),
    );
});

it("never advises to grant what is this program's own", async () => {
  const state = mkdtempSync(join(tmpdir(), "own-"));
  vi.stubEnv("XDG_STATE_HOME", state);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(state, { recursive: true });
  });
  const path = join(stateFolder(), "packages/64/node_modules/x/dist/index.js");
  mkdirSync(dirname(path), { recursive: true });
  for (const said of [`EACCES: permission denied, open '${path}'`, `EROFS: read-only file system, open '${path}'`]) {
    expect(filesHint(await grantOf(SOME), said)).toMatch(/^memory would keep that in its own package, which stays/);
    const plain = said.replace("packages", "plugins");
    expect(filesHint(await grantOf(SOME), plain)).toMatch(/\/plugins\/\S+ is this program's own: no server is let/);
    const why = whyNot(new Error(`memory exited with status 1\n${said}`), await grantOf(SOME));
    expect(why).toContain("is this program's own, and no grant opens it");
    expect(why).not.toContain("Grant it");
  }
});

it("advises no grant that a server has already", async () => {
  const folder = mkdtempSync(join(homedir(), ".granted-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const said = new Error(`it exited with status 1\nCannot access directory ${folder}`);
  expect(whyNot(said, await grantOf(NONE))).toContain(`readable_paths: ["${folder}/**"]`);
  const has = { ...NONE, filesystem: { readable_paths: [`${folder}/**`] } };
  expect(whyNot(said, await grantOf(has))).toContain(`Cannot access directory ${folder}`);
});

it("does not blame a sandbox where there is none", async () => {
  const said = `ENOENT: no such file or directory, open '${PATH}'`;
  expect(filesHint(await grantOf(NONE), said, "none")).toBeUndefined();
});

it("names the key where no file is named, and says nothing of other words", async () => {
  expect(filesHint(await grantOf(NONE), "Read-only file system (os error 30)")).toContain(
    `the folder that it writes in to ${KEY}`,
  );
  expect(filesHint(await grantOf(NONE), "this list is read-only")).toBeUndefined();
});

it("stands below an answer that is an error", async () => {
  const unused = { record: () => Promise.resolve(), mayAsk: () => Promise.resolve(), failed: () => undefined };
  const words = serverWords(await grantOf(NONE), {
    ...unused,
    links: () => ({ policy: { sandbox: { mode: "required" }, output: {} } }) as never,
  });
  const content = [{ type: "text", text: `EROFS: read-only file system, open '${PATH}'` }];
  const answer = words.answer?.({ isError: true, content }, { kind: "tool", shown: "x" } as never);
  expect(answer).toEqual({
    isError: true,
    content: [...content, { type: "text", text: expect.stringContaining(KEY) }],
  });
});
