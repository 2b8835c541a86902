// What import, add and install write into the policy: it passes the program's own check, and each server comes up with it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lackingPath, loadingHint, readablePaths } from "../../src/cli/why-not.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { hasWall } from "../sandbox/walls.js";
import { Household, tool } from "./household.js";

let house: Household;
beforeEach(() => (house = new Household()));
afterEach(() => house.close());

/** A file below the home of the test. */
function file(name: string, text = ""): string {
  const path = join(house.folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function knownToCursor(
  servers: Readonly<Record<string, { readonly command: string; readonly args: readonly string[] }>>,
) {
  file(".cursor/mcp.json", JSON.stringify({ mcpServers: servers }));
}

describe.runIf(hasWall())("a policy that servers were brought into", () => {
  it("passes policy check --strict once they are approved, though none of them has a prompt", async () => {
    const [web, notes] = [
      house.program("web", { tools: [tool("go")] }),
      house.program("notes", { tools: [tool("a")] }),
    ];
    // What is added by hand is granted nothing but the program itself.
    writeFileSync(notes, readFileSync(notes, "utf8").replace(/JSON\.parse\(.*\);/, `${JSON.stringify([tool("a")])};`));
    knownToCursor({ web: { command: process.execPath, args: [web] } });
    house.write('version: "1.0"\ntools: { allowed: [calculate] }\n');
    await house.run(["install", "cursor", "--move", "--yes"]);
    const add = ["servers", "add", "notes", "--policy", house.policy, "--", process.execPath, notes];
    await runQuickly(add, { home: house.folder });
    for (const name of ["web", "notes"]) await house.approve(name);
    const { code, stdout } = await house.run(["policy", "check", "--strict"]);
    expect([code, stdout]).toEqual([0, expect.not.stringContaining("note")]);
    expect(readFileSync(house.policy, "utf8")).toContain("notes__*");
    expect((await house.run(["status"])).stdout).not.toContain("probably not meant");
  });

  it("lets a program of several files see what lies beside it", async () => {
    const program = house.program("web", { tools: [tool("go")] });
    const text = readFileSync(program, "utf8");
    file("programs/lib/first.mjs", 'export { one } from "../second.mjs";');
    file("programs/second.mjs", "export const one = 1;");
    writeFileSync(program, `import "./lib/first.mjs";\n${text}`);
    knownToCursor({ web: { command: process.execPath, args: [program] } });
    house.write('version: "1.0"\ntools: { allowed: [] }\n');
    const { stdout, stderr } = await house.run(["servers", "import", "cursor", "--yes"]);
    expect(stdout).toContain(`may read ${dirname(program)}/**`);
    expect(stderr).not.toContain("does not come up");
  });

  it("names what a Python program lacks, and the key for it", async () => {
    // In the home itself, which is never granted whole.
    const program = file("server.py", "import helper\n");
    const helper = file("helper.py", "one = 1\n");
    knownToCursor({ snake: { command: "/usr/bin/python3", args: [program] } });
    house.write('version: "1.0"\ntools: { allowed: [] }\n');
    const { stderr } = await house.run(["servers", "import", "cursor", "--yes"]);
    expect(stderr).toContain(
      `it does not see ${helper}. Grant it: servers.snake.filesystem.readable_paths: ["${helper}"]`,
    );
  });
});

describe("what a program may read", () => {
  const of = (path: string): readonly string[] | undefined =>
    readablePaths({ command: "/usr/bin/python3", args: [path], env: {} });

  it.each(["mcp/server.py", "mcp/server.mjs", "mcp/deep/start.sh"])("is the folder of %s", (name) => {
    const path = file(name);
    expect(of(path)).toEqual([`${dirname(path)}/**`]);
  });

  it.each([
    ["its package, for Python", "tool/pyproject.toml", "tool/src/server.py", "tool/**"],
    ["what is no program, alone", "x", "data/settings.json", "data/settings.json"],
    ["alone what lies in a folder with something secret", "mcp/client_secret.json", "mcp/server.py", "mcp/server.py"],
    ["a folder with a program that is called so", "mcp/tokens.py", "mcp/server.py", "mcp/**"],
  ])("is %s", (_what, beside, name, expected) => {
    file(beside);
    expect(of(file(name))).toEqual([join(house.folder, expected)]);
  });
});

describe("what a program lacked, by its own words", () => {
  it.each([
    ["Node", "Cannot find module './util' Require stack:\n- HOME/app/main.cjs", "app/util.js", "app/**"],
    ["Bun", `Cannot find module "../lib/b.ts" from "HOME/app/main.ts"`, "lib/b.ts", "lib/**"],
    ["Deno", `Module not found "file://HOME/lib/c.ts".`, "lib/c.ts", "lib/**"],
    ["Ruby", "cannot load such file -- HOME/lib/d (LoadError)", "lib/d.rb", "lib/**"],
    [
      "Python",
      `File "HOME/app/s.py", line 1, in <module>\nModuleNotFoundError: No module named 'e.f'`,
      "app/e/f.py",
      "app/e/**",
    ],
  ])("is found for %s", (_program, words, name, expected) => {
    file(name);
    const lacking = lackingPath(words.replaceAll("HOME", house.folder));
    expect(lacking).toEqual({ path: join(house.folder, expected), key: "readable_paths" });
  });

  it.each(["Warning: Cannot access directory HOME/notes, skipping", "unable to read the folder 'HOME/notes'"])(
    "is a folder that it names in words of its own: %s",
    (words) => {
      mkdirSync(join(house.folder, "notes"), { recursive: true });
      const lacking = lackingPath(words.replaceAll("HOME", house.folder));
      expect(lacking).toEqual({ path: join(house.folder, "notes/**"), key: "readable_paths" });
      expect(lackingPath(words.replaceAll("HOME", "/nowhere"))).toBeUndefined();
    },
  );

  it("is said to be a matter of the key where nothing is found", () => {
    const words = "ModuleNotFoundError: No module named 'nowhere'";
    expect(lackingPath(words)).toBeUndefined();
    expect(loadingHint("snake", words)).toContain("servers.snake.filesystem.readable_paths");
    expect(loadingHint("snake", "no key: set KEY")).toBeUndefined();
  });
});
