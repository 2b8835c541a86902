// Which files of Python's environments count as a sandbox's own, as the judge is asked: those that it made, and no others of the name.
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { SandboxView } from "../../src/capabilities/sandbox-reach.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Reach } from "../../src/sandbox/wall.js";

let folder: string;
let settings: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "own-environments-")));
  settings = join(folder, "v/pyvenv.cfg");
  mkdirSync(join(folder, "v/lib/python3.11/site-packages"), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Asked {
  /** Whether the sandbox may write the file. */
  mayWrite(path: string): boolean;
  /** Tells that the sandbox made it, by default as the file that is there. */
  made(path: string, inode?: bigint): void;
}

async function sandbox(): Promise<Asked> {
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"] }\n`;
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  const view = await SandboxView.of({ policy, own: ownFiles(policy, []), wall: "bubblewrap" });
  const [reach] = (await view.reach({ path: folder, access: "write" })) as readonly [Reach];
  reach.held?.close?.();
  return {
    mayWrite: (path) => reach.judge?.(path, "write") === true,
    made: (path, inode = statSync(path, { bigint: true }).ino) => reach.made?.(path, inode),
  };
}

it("the one that was made, where that was told of the very file", async () => {
  const { mayWrite, made } = await sandbox();
  writeFileSync(settings, "");
  expect(mayWrite(settings)).toBe(false);
  made(settings, statSync(folder, { bigint: true }).ino);
  expect(mayWrite(settings)).toBe(false);
  made(settings);
  expect(mayWrite(settings)).toBe(true);
});

it("not another one that came into its place, and none that is not there", async () => {
  const { mayWrite, made } = await sandbox();
  writeFileSync(settings, "");
  made(settings);
  writeFileSync(join(folder, "other"), "");
  renameSync(join(folder, "other"), settings);
  expect(mayWrite(settings)).toBe(false);
  expect(() => made(join(folder, "v/none"), 1n)).not.toThrow();
});

it("with it what Python runs at its start, and not in an environment of somebody else", async () => {
  const [own, other] = [await sandbox(), await sandbox()];
  writeFileSync(settings, "");
  own.made(settings);
  const runs = join(folder, "v/lib/python3.11/site-packages/own.pth");
  expect([own.mayWrite(runs), other.mayWrite(runs)]).toEqual([true, false]);
  expect([own, other].map(({ mayWrite }) => mayWrite(join(folder, "v/bin/activate")))).toEqual([true, false]);
});
