// Homes that are kept: a launcher of packages as uvx or npx is, which fills a cache, links out of it and runs what is there.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { persistentHome } from "../../src/capabilities/sandbox-environment.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { KEPT_HOME } from "../../src/sandbox/wall.js";
import { CACHE } from "../cli/command.js";
import { hasWall } from "./walls.js";

const BUNDLE = fileURLToPath(new URL("../../dist/mcp-secure-local.cjs", import.meta.url));
const folder = mkdtempSync(join(homedir(), ".homes-test-"));
const homes = join(folder, "homes");
const POLICY = builtInPolicy();
afterAll(() => rmSync(folder, { recursive: true }));

/** Fills the cache the first time, makes an environment of hard links, and becomes the interpreter, as uvx does. */
const UVX = `#!/bin/sh
set -e
tool="$1"; shift
cache="\${UV_CACHE_DIR:-\${XDG_CACHE_HOME:-$HOME/.cache}/uv}"
if [ ! -f "$cache/wheels/$tool.py" ]; then
  mkdir -p "$cache/wheels"
  echo "import os, sys; print('$tool', sys.argv[1:], os.environ['HOME'])" > "$cache/wheels/$tool.py.part"
  mv "$cache/wheels/$tool.py.part" "$cache/wheels/$tool.py"
  echo installed >&2
fi
venv="$cache/environments/$tool"
rm -rf "$venv"; mkdir -p "$venv/bin"
ln "$cache/wheels/$tool.py" "$venv/bin/tool.py"
ln -s /usr/bin/python3 "$venv/bin/python"
exec "$venv/bin/python" "$venv/bin/tool.py" "$@"
`;

function sandboxed(policy: string, args: readonly string[]): Promise<Record<"stdout" | "stderr", string>> {
  return ran(policy, (file) => ["sandbox", "--policy", file, "--", ...args]);
}

async function ran(
  policy: string,
  words: (file: string) => readonly string[],
): Promise<Record<"stdout" | "stderr", string>> {
  const file = join(folder, "policy.yaml");
  writeFileSync(file, policy, { mode: 0o600 });
  const child = spawn(process.execPath, [BUNDLE, ...words(file)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_CACHE_HOME: CACHE, PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` },
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
  await once(child, "close");
  return said;
}

function ready(): boolean {
  if (!hasWall()) return false;
  if (existsSync("/usr/bin/python3")) return true;
  if (process.env["CI"]) throw new Error("/usr/bin/python3 is required in CI");
  console.warn("skipped: /usr/bin/python3 is not installed");
  return false;
}

describe.skipIf(!ready())("a launcher of packages", () => {
  beforeAll(() => writeFileSync(join(folder, "uvx"), UVX, { mode: 0o755 }));

  test("fills a cache that vanishes, where the policy keeps no homes", async () => {
    const vanishing = 'version: "1.0"\n';
    for (let turn = 0; turn < 2; turn += 1)
      expect(await sandboxed(vanishing, ["uvx", "tool", "a b"])).toEqual({
        stdout: "tool ['a b'] /tmp\n",
        stderr: "installed\n",
      });
  });

  test("finds its cache again where it keeps them, and no other command finds it", async () => {
    const keeping = `version: "1.0"\nsandbox: { homes: "${homes}" }\n`;
    const told = { stdout: `tool ['a'] ${KEPT_HOME}\n` };
    expect(await sandboxed(keeping, ["uvx", "tool", "a"])).toEqual({ ...told, stderr: "installed\n" });
    expect(await sandboxed(keeping, ["uvx", "tool", "a"])).toEqual({ ...told, stderr: "" });
    expect((await sandboxed(keeping, ["uvx", "tool", "b"])).stderr).toBe("installed\n");
    expect(readdirSync(homes)).toHaveLength(2);
    expect((await sandboxed(keeping, ["ls", "-A", homes])).stderr).toContain("No such file");
  });

  test("is another one for another entry of the policy, though both are started by one command line", async () => {
    const entry = "{ command: [sh, -c, 'echo start >> $HOME/starts; cat $HOME/starts'] }";
    const two = `version: "1.0"\nsandbox: { homes: "${homes}" }\nservers: { one: ${entry}, two: ${entry} }\n`;
    const starts = async (name: string): Promise<string> =>
      (await ran(two, (file) => ["servers", "run", name, "--policy", file])).stdout;
    expect(await starts("one")).toBe("start\n");
    expect(await starts("one")).toBe("start\nstart\n");
    expect(await starts("two")).toBe("start\n");
    expect((await sandboxed(two, ["sh", "-c", "echo start >> $HOME/starts; cat $HOME/starts"])).stdout).toBe("start\n");
  });
});

describe("a home", () => {
  test("is its owner's alone, whatever the owner is called", async () => {
    const owners = [["a", "b"], ["a b"], ["a/../b"], ["../x"], [".."], ["-rf"], ["\u0000\n"], ["x".repeat(500)], [""]];
    const made = await Promise.all(owners.map((owner) => persistentHome(POLICY, homes, owner)));
    expect(new Set(made.map(({ path }) => path)).size).toBe(owners.length);
    for (const { path } of made) {
      expect(join(path, "..")).toBe(homes);
      expect(statSync(path).mode & 0o777).toBe(0o700);
    }
    expect((await persistentHome(POLICY, homes, ["a", "b"])).path).toBe(made[0]?.path);
  });

  test("that cannot be made is told with the key to change", async () => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "a file");
    writeFileSync(file, "");
    await expect(persistentHome(POLICY, file, ["x"])).rejects.toThrow("change sandbox.homes in the policy");
    expect(readFileSync(file, "utf8")).toBe("");
  });
});
