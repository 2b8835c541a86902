// Folders of egress proxies whose process was killed are removed by the next one; those of others stay.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { spawnSync } from "node:child_process";
import { removeStaleFolders } from "../../src/capabilities/egress-proxy.js";

let parent = "";
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "sweep-"));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** Listens at a path, and is killed. */
const KILLED = `const server = require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"));`;
const OLD = new Date(Date.now() - 3_600_000);

function folderOf(name: string, { old = true } = {}): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  if (old) utimesSync(folder, OLD, OLD);
  return folder;
}

function aged(folder: string): string {
  utimesSync(folder, OLD, OLD);
  return folder;
}

it.skipIf(process.platform === "win32")("removes what a killed process left, and nothing else", async () => {
  const killed = folderOf("mcp-egress-killed");
  spawnSync(process.execPath, ["-e", KILLED, join(killed, "egress.sock")]);
  expect(existsSync(join(aged(killed), "egress.sock"))).toBe(true);
  const bare = folderOf("mcp-egress-bare");
  const young = folderOf("mcp-egress-young", { old: false });
  const other = folderOf("other-egress-1");
  const live = folderOf("mcp-egress-live");
  const server = createServer();
  await once(server.listen(join(live, "egress.sock")), "listening");
  aged(live);
  const target = folderOf("target");
  writeFileSync(join(target, "kept"), "kept");
  symlinkSync(target, join(parent, "mcp-egress-link"));
  writeFileSync(join(parent, "mcp-egress-file"), "");

  await removeStaleFolders(parent);

  expect([killed, bare].filter(existsSync)).toEqual([]);
  const stay = [young, other, live, join(target, "kept"), join(parent, "mcp-egress-file")];
  expect(stay.filter((path) => !existsSync(path))).toEqual([]);
  server.close();
});
