// Follows the beginning of docs/plugins.md word for word: its commands, its policy, and what it says they print.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall } from "../sandbox/walls.js";
import { runQuickly } from "./command-in-thread.js";

const PAGE = readFileSync(new URL("../../../../docs/plugins.md", import.meta.url), "utf8");
const [, BEGIN = ""] = PAGE.split(/^## /m);
/** The blocks of the first section: what a shell is given, a policy, and commands with what they print. */
const BLOCKS = BEGIN.split(/^```\w*\n/m).filter((_, index) => index % 2 === 1);
const folder = pluginFolder();
afterAll(() => folder.remove());

it.skipIf(!hasWall())("is true of every command", async () => {
  const home = folder.path;
  const cwd = join(home, "plugins");
  const [shell = "", policy = "", session = ""] = BLOCKS;
  expect(shell).toMatch(/^mkdir -p ~\/plugins && cd ~\/plugins\nmcp-secure-local plugins new weather +#/);
  mkdirSync(cwd);
  expect(await runQuickly(["plugins", "new", "weather"], { home, cwd })).toMatchObject({ code: 0 });
  expect(shell).toContain("(cd weather && node --test)");
  execFileSync(process.execPath, ["--test"], { cwd: join(cwd, "weather"), env: { HOME: home } });
  writeFileSync(join(cwd, "policy.yaml"), policy, { mode: 0o600 });
  const commands = session.split(/^\$ mcp-secure-local /m).slice(1);
  expect(commands).toHaveLength(2);
  for (const each of commands) {
    const [line = "", ...printed] = each.trimEnd().split("\n");
    const { stdout, stderr } = await runQuickly(line.split(" "), { home, cwd });
    expect(`${stdout}${stderr}`.trimEnd(), line).toBe(printed.join("\n").trimEnd());
  }
});
