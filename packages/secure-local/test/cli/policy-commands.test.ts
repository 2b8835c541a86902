// The commands that make, explain and test a policy. Each is run as the built program once at least.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const POLICY = `version: "1.0"
network:
  allowed_endpoints: [{ host: docs.example.com }]
filesystem:
  readable_paths: ["/srv/notes/**"]
tools:
  allowed: [calculate, read_file]
  denied: [web_search]
`;

function inFolder(text: string, name = "policy.yaml", folder: string = temporaryFolder()): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function policy(...args: string[]): Promise<Ran> {
  return runQuickly(["policy", ...args], { home: temporaryFolder() });
}

function built(...args: string[]): Promise<Ran> {
  return run(["policy", ...args], { home: temporaryFolder() });
}

describe("policy init", () => {
  it("writes a policy for its owner only, and keeps one that is there", async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, "new"));
    const file = join(home, "new", "policy.yaml");
    const first = await run(["policy", "init", file, "--yes", "--preset", "read-only"], { home });
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining(`written  ${file}`), stderr: "" });
    expect(readFileSync(file, "utf8")).toContain("extends: read-only");
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await runQuickly(["policy", "check", file], { home })).toMatchObject({ code: 0 });
    const before = readFileSync(file, "utf8");
    const second = await runQuickly(["policy", "init", file, "--yes"], { home });
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("writes to the folder of settings where no file is named", async () => {
    const home = temporaryFolder();
    const env = { XDG_CONFIG_HOME: join(home, "config") };
    await runQuickly(["policy", "init", "--yes"], { home, env });
    expect(readFileSync(join(home, "config", "mcp-secure-local", "policy.yaml"), "utf8")).toContain("web_search");
  });
});

describe("policy check", () => {
  it("says what is probably not meant", async () => {
    const file = inFolder('version: "1.0"\ntools: { allowed: [calculate], denied: ["*"] }\n');
    const { code, stdout } = await built("check", file);
    expect(code).toBe(0);
    expect(stdout).toContain("note  the policy allows no tool".replace("no tool", "nothing at all"));
    expect(stdout).toContain(`note  ${file}:2:20: "tools.allowed: calculate" never counts`);
    const json = await policy("check", file, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, remarks: [{ message: expect.any(String) }, {}] });
  });
});

describe("policy explain", () => {
  it("names the rule that decides, and its line", async () => {
    const file = inFolder(POLICY);
    const explain = async (...words: string[]): Promise<string> =>
      (await policy("explain", ...words, "--policy", file)).stdout;
    const denied = await explain("web_search", '{"query":"x"}');
    expect(denied).toMatch(/^denied\n/);
    expect(denied).toContain(`rule: tools.denied: web_search (${file}:8:12)`);
    expect(await explain("fetch", "https://docs.example.com/a")).toContain(
      `allowed_endpoints: docs.example.com (${file}:3:`,
    );
    expect(await explain("read", "/srv/notes/a")).toMatch(/^allowed\n/);
    expect(await explain("write", "/srv/notes/a")).toContain("allows only reading it");
    expect(await explain("read", "/etc/passwd")).toContain("rule: default deny");
    const json = await built("explain", "calculate", "--json", "--policy", file);
    expect(JSON.parse(json.stdout)).toMatchObject({ verdict: "allowed", steps: [{ rule: { line: 7 } }] });
  });
});

describe("policy test", () => {
  const cases = `policy: policy.yaml
cases:
  - allow: calculate
  - deny: web_search
    arguments: { query: x }
    rule: tools.denied
  - allow: fetch https://docs.example.com/
  - deny: fetch http://127.0.0.1/
  - allow: read /srv/notes/a b
`;
  it("passes cases that hold", async () => {
    const file = inFolder(cases, "cases.yaml");
    inFolder(POLICY, "policy.yaml", join(file, ".."));
    expect(await built("test", file)).toEqual({
      code: 0,
      stdout: `ok  5 cases of ${file} passed\n`,
      stderr: "",
    });
  });

  it("shows a table of those that do not, and exits with 1", async () => {
    const wrong = `${cases}  - deny: calculate\n  - approve: 'calculate {"expression": "1"}'\n`;
    const file = inFolder(wrong, "cases.yaml");
    inFolder(POLICY, "policy.yaml", join(file, ".."));
    const { code, stdout, stderr } = await policy("test", file);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^line +call +wanted +got +rule$/m);
    expect(stderr).toMatch(/^10 +calculate {} +denied +allowed +tools.allowed: calculate/m);
    expect(stderr).toMatch(/^11 +calculate {"expression":"1"} +approval +allowed/m);
    expect(stderr).toContain("2 of 7 cases");
    const json = await policy("test", file, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ cases: 7, failures: [{ line: 10 }, { line: 11 }] });
  });

  it("names the place of a case that cannot be read", async () => {
    const file = inFolder(
      "cases:\n  - alow: calculate\n  - { allow: a, deny: b }\n  - deny: fetch a b\n",
      "cases.yaml",
    );
    const { code, stderr } = await policy("test", file);
    expect(code).toBe(2);
    expect(stderr).toContain(`${file}:2:5: cases[0] needs one of allow, deny, approve`);
    expect(stderr).toContain('did you mean "allow"?');
    expect(stderr).toContain(`${file}:3:5: cases[1] needs one of`);
    expect(stderr).toContain(`${file}:4:11: cases[2]: fetch takes one thing`);
  });
});

describe("policy import and export", () => {
  const configuration = `{
  // comments are allowed here, and "commas, ]"
  "servers": {
    "plain": { "command": "npx" },
    "files": {
      "command": "npx", "sandboxEnabled": true,
      "sandbox": {
        "filesystem": { "allowWrite": ["\${workspaceFolder}/out", "./tmp", "~/cache"], "denyRead": ["~/.ssh"], "denyWrite": ["**/.git"] },
        "network": { "allowedDomains": ["*.npmjs.org", "*"], "deniedDomains": ["evil.example"], },
      },
    },
  }
}`;

  it("make a policy of a sandbox block, and say what it cannot hold", async () => {
    const file = inFolder(configuration, "mcp.json");
    const { code, stdout } = await built("import", "vscode", file);
    expect(code).toBe(0);
    expect(stdout).toContain('# The domain "*" stands for every host');
    const folder = join(file, "..");
    const saved = inFolder(stdout);
    const explain = async (...words: string[]): Promise<string> =>
      (await policy("explain", ...words, "--policy", saved)).stdout.split("\n")[0]!;
    expect(await explain("write", join(folder, "out", "x"))).toBe("allowed");
    expect(await explain("write", join(folder, "tmp", "x"))).toBe("allowed");
    expect(await explain("read", join(folder, "src", "x"))).toBe("denied");
    expect(await explain("fetch", "https://registry.npmjs.org/x")).toBe("allowed");
    const again = await built("export", "vscode", saved);
    expect(JSON.parse(again.stdout)).toMatchObject({
      sandbox: {
        filesystem: { denyRead: [expect.stringContaining(".ssh/**")] },
        network: { deniedDomains: ["evil.example"] },
      },
    });
    expect(again.stderr).toContain("knows no ports");
  });

  it.each([
    ["{", "is not JSON"],
    ["[]", "has no server with a sandbox"],
    [
      '{"servers":{"a":{"sandbox":{"network":{"allowedDomains":"x"}}}}}',
      'network.allowedDomains of "a" must be a list',
    ],
    ['{"servers":{"a":{"sandbox":{}},"b":{"sandbox":{}}}}', "these servers with a sandbox: a, b; name one"],
  ])("refuse %s", async (text, message) => {
    const { code, stderr } = await policy("import", "vscode", inFolder(text, "mcp.json"));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });
});
