// What is covered where no keeper can be asked: every denied name below a folder that is granted, however deep and beside whatever else.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { SandboxView } from "../../src/capabilities/sandbox-reach.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Wall } from "../../src/sandbox/wall.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "covers-")));
afterAll(() => rmSync(folder, { recursive: true }));
const FILES = [
  "plain/a.txt",
  "plain/.env",
  "private/b.txt",
  "kept/c.txt",
  "kept/deep/d.txt",
  "kept/deep/private/e.txt",
  "kept/deep/.ssh/id",
];

beforeAll(() => {
  for (const name of FILES) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "x");
  }
  symlinkSync(join(folder, "private"), join(folder, "link"));
});

async function coversOf(access: "read" | "write", wall: Wall["name"] = "sandbox-exec"): Promise<string[]> {
  const lists = 'denied_paths: ["**/private/**"], denied_write_paths: ["**/kept/**"]';
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"], ${lists} }\n`;
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  const view = await SandboxView.of({ policy, own: ownFiles(policy, []), wall });
  const [granted, ...covers] = (await view.reach({ path: folder, access })) ?? [];
  expect(granted).toMatchObject({ path: folder, access });
  granted?.held?.close?.();
  return covers
    .map(
      ({ path, at, access: how }) => `${how} ${path.slice(folder.length + 1)}${at?.endsWith("/") === true ? "/" : ""}`,
    )
    .sort();
}

it("in a folder that may be written is hidden what may not be read, and read what may not be written, at every depth", async () => {
  expect(await coversOf("write")).toEqual([
    "hidden kept/deep/.ssh/",
    "hidden kept/deep/private/",
    "hidden plain/.env",
    "hidden private/",
    "read kept",
  ]);
});

it("in a folder that may be read only what may not be read is covered", async () => {
  expect(await coversOf("read")).toEqual([
    "hidden kept/deep/.ssh/",
    "hidden kept/deep/private/",
    "hidden plain/.env",
    "hidden private/",
  ]);
});

it("nothing is covered where a keeper judges each name", async () => {
  expect(await coversOf("write", "bubblewrap")).toEqual([]);
});
