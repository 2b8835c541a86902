// The command reference: help, completion and man page are made of it, so it has to be what the command line takes.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readCommandLine, refuseForeign } from "../../src/cli/command-line.js";
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { COMMON_OPTIONS, OPTION_PAGES, VARIABLES } from "../../src/cli/option-reference.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { type Ran, run } from "./command.js";
import { referenceTables } from "./command-page.js";
import { runQuickly } from "./command-in-thread.js";

function tried(...args: string[]): Promise<Ran> {
  return runQuickly(args, { home: temporaryFolder() });
}

describe("the command reference", () => {
  it("has every option that a command line takes, and each option belongs to a command", () => {
    const used = new Set([...COMMAND_PAGES.flatMap(({ options = [] }) => options), ...COMMON_OPTIONS]);
    expect([...used].toSorted()).toEqual(Object.keys(OPTION_PAGES).toSorted());
    for (const [name, { value }] of Object.entries(OPTION_PAGES)) {
      const words = value === undefined ? [name] : [name, "1"];
      expect(() => readCommandLine(words), name).not.toThrow();
    }
  });

  it("says of each command which options it takes", () => {
    for (const { name, options = [] } of COMMAND_PAGES) {
      const words = name.split(" ");
      for (const option of [...options, ...COMMON_OPTIONS]) {
        const line = readCommandLine([...words, option, ...(OPTION_PAGES[option]!.value === undefined ? [] : ["1"])]);
        expect(() => refuseForeign(line, words[0]), `${name} ${option}`).not.toThrow();
      }
    }
  });

  it("has examples that can be followed", () => {
    for (const { name, examples } of COMMAND_PAGES) {
      expect(examples.length, name).toBeGreaterThan(0);
      for (const [example] of examples) {
        expect(example.startsWith(name), example).toBe(true);
        const words = example
          .split(" > ")[0]!
          .match(/'[^']*'|\S+/g)!
          .map((word) => word.replaceAll("'", ""));
        const line = readCommandLine(words);
        expect(() => refuseForeign(line, words[0]), example).not.toThrow();
      }
    }
  });
});

describe("the page of the command line", () => {
  const file = fileURLToPath(new URL("../../../../docs/command-line.md", import.meta.url));
  const between = /(?<=<!-- commands \(written by npm run test:update\) -->\n\n)[^]*?(?=\n\n<!-- commands end -->)/;

  it("has every command, option and variable of the help", () => {
    const text = readFileSync(file, "utf8");
    const updated = text.replace(between, () => referenceTables());
    if (process.env["UPDATE_TRANSCRIPTS"] === "1") writeFileSync(file, updated);
    else expect(text).toBe(updated);
    expect(between.test(text)).toBe(true);
  });

  it("has every variable that the program lets a person set", () => {
    const sources = fileURLToPath(new URL("../../src", import.meta.url));
    const texts = readdirSync(sources, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(join(sources, name), "utf8"));
    const read = new Set(texts.flatMap((text) => text.match(/MCP_SECURE_LOCAL_[A-Z_]+/g) ?? []));
    // Set by the program itself for what it starts.
    for (const own of ["LAUNCH", "PARENT", "REACH", "SANDBOX_TRUSTED", "TREE"]) read.delete(`MCP_SECURE_LOCAL_${own}`);
    expect([...read].filter((name) => !VARIABLES.some(([known]) => known === name))).toEqual([]);
  });
});

describe("help", () => {
  it("knows every command, in lines that fit a terminal", async () => {
    const { stdout } = await tried("help");
    expect(await tried("--help")).toMatchObject({ stdout });
    for (const { name } of COMMAND_PAGES) expect(stdout).toContain(`  ${name}`);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("explains one command with examples, whichever way it is asked for", async () => {
    const { stdout, code } = await tried("help", "policy", "check");
    expect(code).toBe(0);
    expect(stdout).toContain("Examples");
    expect(stdout).toContain("--strict");
    expect(stdout).not.toContain("--port");
    expect(await tried("policy", "check", "--help")).toMatchObject({ stdout });
    expect((await tried("help", "policy")).stdout).toContain("policy explain");
    expect((await tried("help", "polcy")).stderr).toContain('did you mean "policy"?');
  });

  it.runIf(existsSync("/usr/bin/man"))("is a man page without a complaint", async () => {
    const { stdout } = await tried("help", "man");
    const page = join(temporaryFolder(), "mcp-secure-local.1");
    writeFileSync(page, stdout);
    const ran = spawnSync("man", ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", page], { encoding: "utf8" });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: "" });
    // Bold is a character struck twice.
    // oxlint-disable-next-line no-control-regex -- the backspace is what is looked for
    expect(ran.stdout.replace(/.\u0008/g, "")).toContain("policy explain");
  });
});

describe("completion", () => {
  it.runIf(existsSync("/usr/bin/bash"))("completes commands, actions and options in bash", async () => {
    const { stdout } = await run(["completion", "bash"], { home: temporaryFolder() });
    const complete = (...words: string[]): string => {
      const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _mcp_secure_local; echo "\${COMPREPLY[@]}"`;
      return spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.trim();
    };
    expect(complete("mcp-secure-local", "pol")).toBe("policy");
    expect(complete("mcp-secure-local", "audit", "rep")).toBe("report");
    expect(complete("mcp-secure-local", "audit", "report", "--si")).toBe("--since");
  });

  it("knows the other shells, and says so of no other", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { stdout } = await tried("completion", shell);
      for (const word of ["policy", "explain", "since"]) expect(stdout).toContain(word);
    }
    expect((await tried("completion", "powershell")).code).toBe(2);
  });
});

describe("status, and doctor without a target", () => {
  const stateOf = (json: string): Record<string, string> =>
    Object.fromEntries((JSON.parse(json) as { name: string; state: string }[]).map(({ name, state }) => [name, state]));

  it("say what is in force here", async () => {
    const { stdout, code } = await tried("status");
    expect(code).toBe(0);
    for (const word of [
      "policy",
      "built in",
      "policy init",
      "audit log",
      "token",
      "sandbox",
      "clients",
      process.version.slice(1),
    ])
      expect(stdout).toContain(word);
  });

  it("find a policy that cannot be used, and a log that cannot be written", async () => {
    const home = temporaryFolder();
    const policy = join(home, "policy.yaml");
    writeFileSync(policy, "version: [", { mode: 0o600 });
    const broken = await runQuickly(["doctor", "--policy", policy], { home });
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining("policy check") as never });
    const lost = await runQuickly(["doctor", "--json", "--audit", "/proc/no/audit.log"], { home });
    expect(stateOf(lost.stdout)).toMatchObject({ policy: "ok" });
    const usual = await runQuickly(["doctor", "--json"], { home });
    expect(stateOf(usual.stdout)).toMatchObject({ program: "ok", policy: "ok", "audit log": "ok" });
  });
});

describe("policy map", () => {
  const POLICY = `version: "1.0"
tools: { allowed: [read_file, write_file] }
filesystem: { readable_paths: ["/notes/**"], allowed_paths: ["/<script>/**"] }
`;

  it("draws what may be reached, in the terminal and as a picture in which nothing runs", async () => {
    const home = temporaryFolder();
    const policy = join(home, "policy.yaml");
    writeFileSync(policy, POLICY, { mode: 0o600 });
    const { stdout } = await runQuickly(["policy", "map", policy], { home });
    expect(stdout).toContain("Files to read");
    expect(stdout).toContain("/notes/**");
    const picture = join(home, "map.svg");
    expect((await runQuickly(["policy", "map", policy, "--output", picture], { home })).code).toBe(0);
    expect((await runQuickly(["policy", "map", policy, "--output", picture], { home })).code).toBe(2);
    expect((await runQuickly(["policy", "map", policy, "--output", picture, "--force"], { home })).code).toBe(0);
    const svg = readFileSync(picture, "utf8");
    expect(svg).not.toMatch(/<script|<b>|xlink|<image|href/);
    expect(svg).toContain("/notes/**");
  });
});
