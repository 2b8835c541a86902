// Every command: what it prints, and how it exits. Each is run as the built program once at least, here or where it was packed.
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const PACKAGE = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };

function built(...args: string[]): Promise<Ran> {
  return run(args, { home: temporaryFolder() });
}

function inHome(...args: string[]): Promise<Ran> {
  return runQuickly(args, { home: temporaryFolder() });
}

function policyFile(text: string): string {
  const file = join(temporaryFolder(), "policy.yaml");
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

describe("--version and --help", () => {
  it("say what they are asked for", async () => {
    expect(await inHome("--version")).toEqual({ code: 0, stdout: `${PACKAGE.version}\n`, stderr: "" });
    const help = await inHome("--help");
    expect(help.code).toBe(0);
    for (const word of ["tools", "call", "policy check", "policy show", "audit verify", "--policy"]) {
      expect(help.stdout).toContain(word);
    }
  });
});

describe("a wrong command line", () => {
  const AS_PROGRAM = "--polcy";

  it.each([
    [["--polcy", "x"], 'there is no option --polcy; did you mean "--policy"?'],
    [["--frobnicate"], "there is no option --frobnicate; see mcp-secure-local --help"],
    [["--policy"], "--policy needs the name of a file"],
    [["--policy", "a", "--policy", "b"], "--policy is given twice"],
    [["--json=yes", "tools"], '--json takes no value; leave out "=yes"'],
    [["--json"], "--json belongs to a command"],
    [["--nope"], "there is no option --nope; see mcp-secure-local --help"],
    [["tool"], 'there is no command "tool"; did you mean "tools"?'],
    [["tools", "calculate"], 'there is no server "calculate"'],
    [["call"], "call needs the name of a tool"],
    [["call", "calculate", "1+1"], '"1+1" is neither key=value nor one JSON object'],
    [["call", "calculate", "{1}"], "the arguments are not JSON"],
    [["policy"], "policy needs one of init, check, show, map, explain, test, import, export"],
    [["policy", "chek"], 'did you mean "check"?'],
    [["policy", "show", "a", "b"], 'takes one file, not also "b"'],
    [["policy", "init"], "policy init asks in a terminal"],
    [["policy", "init", "--yes", "--preset", "ofline"], 'there is no preset "ofline"; did you mean "offline"?'],
    [["policy", "check", "--preset", "offline"], "--preset belongs to policy init"],
    [["policy", "explain"], "name a call"],
    [["policy", "explain", "fetch", "a", "b"], 'fetch takes one thing, not also "b"'],
    [["policy", "test"], "policy test needs a file of cases"],
    [["policy", "import", "vscode"], "policy import needs what and which"],
    [["policy", "import", "vscode", "/no/such.json"], "/no/such.json cannot be read: there is no such file"],
    [["policy", "export"], "policy export needs what for"],
    [["audit"], "audit needs one of verify"],
    [["audit", "verfy"], 'did you mean "verify"?'],
    [["policy", "check", "--frobnicate"], "there is no option --frobnicate; see mcp-secure-local help policy"],
    [["tools", "http://127.0.0.1:9", "--header", "key"], "what stands after --header has no name and value"],
    [["call", "a", "b=1", "--env", "key", "--", "node"], "what stands after --env has no name and value"],
    [["migrate", "/no/such"], "migrate cannot read the folder /no/such (there is no such file)"],
    [["audit", "verify", "--audit", "/no/such.log"], "the first call makes it; name another with --audit"],
  ])("%j gets one line on stderr and exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await (args[0] === AS_PROGRAM ? built : inHome)(...args);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});

describe("tools", () => {
  it("lists what the policy allows, with limits", async () => {
    const { code, stdout } = await built("tools");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^web_search +Search the web using DuckDuckGo \(20 a minute, 30 s each\)$/m);
    expect(stdout).not.toContain("\u001b");
  });

  it("answers in JSON, and for the policy of the environment", async () => {
    const env = {
      MCP_SECURE_LOCAL_POLICY: policyFile('version: "1.0"\ntools: { rate_limits: { calculate: 5 }, timeout: 2 }'),
    };
    const { stdout } = await runQuickly(["tools", "--json"], { home: temporaryFolder(), env });
    expect(JSON.parse(stdout)).toMatchObject([
      { name: "calculate", rateLimit: 5, timeoutMs: 2_000, input: { type: "object" } },
    ]);
  });
});

describe("call", () => {
  it("prints the text of a result", async () => {
    expect(await inHome("call", "calculate", "expression=2 + 3 * 4")).toEqual({ code: 0, stdout: "14\n", stderr: "" });
    const json = await inHome("call", "calculate", '{"expression":"2^10"}', "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ content: [{ type: "text", text: "1024" }] });
  });

  it("exits with 5 when the tool fails, gets wrong arguments or does not exist", async () => {
    const failed = await inHome("call", "calculate", "expression=1/0");
    expect(failed).toMatchObject({ code: 5, stdout: "", stderr: expect.stringContaining("division by zero") });
    expect(await inHome("call", "calculate")).toMatchObject({ code: 5, stderr: expect.stringContaining("expression") });
    expect(await inHome("call", "nothing")).toMatchObject({
      code: 5,
      stderr: "mcp-secure-local: Unknown tool: nothing (error -32602)\n",
    });
  });

  it("passes the guard: what the policy denies is denied and on record", async () => {
    const policy = policyFile('version: "1.0"\ntools: { allowed: ["*"], denied: ["calculate"] }');
    const home = temporaryFolder();
    const log = join(home, "log", "audit.log");
    const denied = await run(["call", "calculate", "expression=1", "--policy", policy, "--audit", log], { home });
    expect(denied).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("tools.denied: calculate (line 2 of the policy)"),
    });
    expect(readFileSync(log, "utf8")).toContain('"kind":"denied"');
    if (process.platform !== "win32") {
      expect(statSync(log).mode & 0o777).toBe(0o600);
      expect(statSync(dirname(log)).mode & 0o777).toBe(0o700);
    }
    expect(await runQuickly(["audit", "verify", log], { home })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("1 records"),
    });
  });
});

describe("policy", () => {
  it("checks and shows a policy that reads back the same", async () => {
    expect(await inHome("policy", "check")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The built-in policy can be used"),
    });
    const shown = await inHome("policy", "show");
    const again = policyFile(shown.stdout);
    expect(await inHome("policy", "check", again)).toMatchObject({ code: 0 });
    const body = (text: string): string => text.slice(text.indexOf("\n"));
    expect(body((await inHome("policy", "show", again)).stdout)).toBe(body(shown.stdout));
    const { stdout } = await inHome("policy", "show", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ version: "1.0", resources: { allowed: ["server://info"] } });
  });

  it.each(["policy check", "tools", "call calculate", ""])(
    "with faults stops `%s` with every place on stderr and exit code 2",
    async (command) => {
      const file = policyFile('version: "1.0"\ntolls: {}\ntools:\n  rate_limits: { default: -1 }\n');
      const { code, stdout, stderr } = await inHome(...command.split(" ").filter(Boolean), "--policy", file);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`${file}:2:1: `);
      expect(stderr).toContain(`${file}:4:`);
      expect(stderr.trimEnd().split("\n")).toHaveLength(2);
    },
  );

  it("is refused where it is missing, a folder, or writable by everyone", async () => {
    const missing = join(temporaryFolder(), "none.yaml");
    expect(await inHome("--policy", missing)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${missing}:1:1: `),
    });
    expect(await inHome("--policy", dirname(missing))).toMatchObject({ code: 2 });
    if (process.platform === "win32") return;
    const open = policyFile('version: "1.0"');
    chmodSync(open, 0o666);
    expect(await inHome("--policy", open)).toMatchObject({ code: 2, stderr: expect.stringContaining("chmod go-w") });
  });
});

describe("audit verify", () => {
  it("passes a sound log and names the first bad line of another", async () => {
    const home = temporaryFolder();
    const log = join(home, "state", "mcp-secure-local", "audit.log");
    // Nothing is found to be changed by what could not be read: 1 means that something is.
    expect(await runQuickly(["audit", "verify"], { home })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no audit log"),
    });
    await runQuickly(["call", "calculate", "expression=1"], { home });
    expect(await runQuickly(["audit", "verify"], { home })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("2 records"),
    });
    const [first, second] = readFileSync(log, "utf8").split("\n");
    writeFileSync(log, `${first}\n${second?.replace('"ok"', '"no"')}\n`);
    expect(await runQuickly(["audit", "verify", log], { home })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${log}:2: `),
    });
    expect(await runQuickly(["audit", "verify", `${log}.x`], { home })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no file"),
    });
  });
});

describe("an audit log that cannot be used", () => {
  it("keeps the server from serving", async () => {
    const home = temporaryFolder();
    const log = join(policyFile("not a folder"), "audit.log");
    const { code, stdout, stderr } = await run(["--audit", log], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("the audit log cannot be opened");
  });
});

describe("the README", () => {
  const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const blocks = (language: string): string[] =>
    [...text.matchAll(new RegExp("```" + language + "\\n([\\s\\S]*?)```", "g"))].map(([, block]) => block ?? "");

  it("shows a policy that can be used, and configurations that are JSON", async () => {
    const [policy] = blocks("yaml");
    expect(await inHome("policy", "check", policyFile(policy ?? ""))).toMatchObject({ code: 0 });
    for (const block of blocks("json")) expect(() => JSON.parse(block) as unknown).not.toThrow();
  });
});
