// Where the program looks for what it needs, and what it tells a person at a terminal.
import { resolve } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { clusterSettings, unknownVariables } from "../../src/cli/serve-http-settings.js";
import { readArguments } from "../../src/cli/call-arguments.js";
import { auditFile, ownPlaces, policyFile } from "../../src/cli/settings.js";
import { cacheFolder, stateFolder } from "../../src/policy/own-places.js";
import fc from "fast-check";
import { calm, styled } from "../../src/cli/terminal.js";
import { welcome } from "../../src/cli/welcome.js";

describe("settings", () => {
  it("take the option first, then the environment, then the policy, then the default", async () => {
    const env = {
      MCP_SECURE_LOCAL_POLICY: "/env/policy",
      MCP_SECURE_LOCAL_AUDIT: "/env/audit",
      XDG_STATE_HOME: "/state",
    };
    expect(policyFile({ policy: "/flag" }, env)).toBe("/flag");
    expect(policyFile({ policy: undefined }, env)).toBe("/env/policy");
    expect(policyFile({ policy: undefined }, { MCP_SECURE_LOCAL_POLICY: "" })).toBeUndefined();
    const policy = { audit: { logFile: "/policy/audit" } } as Parameters<typeof auditFile>[1];
    expect(auditFile({ audit: "/flag" }, policy, env)).toBe("/flag");
    expect(auditFile({ audit: undefined }, policy, env)).toBe("/env/audit");
    expect(auditFile({ audit: undefined }, policy, {})).toBe("/policy/audit");
    expect(auditFile({ audit: undefined }, undefined, { XDG_STATE_HOME: "/state" })).toBe(
      "/state/mcp-secure-local/audit.log",
    );
  });

  it("name everything that is the program's own, its kept code among it", () => {
    const env = {
      XDG_STATE_HOME: "/state",
      XDG_CACHE_HOME: "/cache",
      XDG_CONFIG_HOME: "/config",
      XDG_DATA_HOME: "/data",
    };
    const folders = ["/state", "/cache", "/config", "/data"].map((folder) => `${folder}/mcp-secure-local`);
    expect(ownPlaces({ audit: undefined }, env)).toEqual(expect.arrayContaining(folders));
    expect(cacheFolder({ XDG_CACHE_HOME: "not/absolute" }, "linux")).toMatch(/\.cache[\\/]mcp-secure-local$/);
    expect(cacheFolder({}, "darwin")).toMatch(/Library[\\/]Caches[\\/]mcp-secure-local$/);
  });

  it.each(["tokens", "shareKey", "socket"])("name what the command line names: %s", (option) => {
    expect(ownPlaces({ audit: undefined, [option]: "/srv/it" }, {})).toContain("/srv/it");
    expect(ownPlaces({ audit: undefined }, {})).not.toContain("/srv/it");
  });

  it("know the state folder of each system", () => {
    expect(stateFolder({}, "linux")).toMatch(/\.local[\\/]state[\\/]mcp-secure-local$/);
    expect(stateFolder({ XDG_STATE_HOME: "not/absolute" }, "linux")).not.toContain("not/absolute");
    expect(stateFolder({}, "darwin")).toMatch(/Library[\\/]Logs[\\/]mcp-secure-local$/);
    expect(stateFolder({ LOCALAPPDATA: "/local" }, "win32")).toMatch(/local[\\/]mcp-secure-local[\\/]Log$/);
  });
});

describe("variables of the environment", () => {
  it("that are empty where an address has to be are refused: whoever set it meant to share", () => {
    const line = { redis: undefined, shareKey: undefined, address: undefined, prefix: undefined };
    expect(() => clusterSettings(line, { MCP_SECURE_LOCAL_REDIS: "" })).toThrow("MCP_SECURE_LOCAL_REDIS is empty");
    expect(clusterSettings(line, {})).toBeUndefined();
    const given = clusterSettings({ ...line, redis: "redis://127.0.0.1" }, { MCP_SECURE_LOCAL_REDIS: "" });
    expect(given?.redis).toBe("redis://127.0.0.1");
  });

  it("that nobody reads are named, with what was meant", () => {
    const known = { MCP_SECURE_LOCAL_REDIS: "x", MCP_SECURE_LOCAL_TREE: "x", OTHER: "x" };
    expect(unknownVariables(known)).toBeUndefined();
    expect(unknownVariables({ ...known, MCP_SECURE_LOCAL_REDDIS: "x" })).toBe(
      'MCP_SECURE_LOCAL_REDDIS is a variable that nobody reads; did you mean "MCP_SECURE_LOCAL_REDIS"?',
    );
    expect(unknownVariables({ MCP_SECURE_LOCAL_REDIS_URL: "x", MCP_SECURE_LOCAL_XYZZY: "x" })).toBe(
      'MCP_SECURE_LOCAL_REDIS_URL is a variable that nobody reads; did you mean "MCP_SECURE_LOCAL_REDIS"? MCP_SECURE_LOCAL_XYZZY is a variable that nobody reads',
    );
  });
});

describe("arguments of call", () => {
  const schema = { properties: { query: { type: "string" }, max_results: { type: "integer" } } };

  it("are text where the schema says so and JSON elsewhere", () => {
    expect(readArguments(["query=3", "max_results=3"], schema)).toEqual({ query: "3", max_results: 3 });
    expect(readArguments(["other=a=b", "list=[1]"], schema)).toEqual({ other: "a=b", list: [1] });
    // Nobody knows which of two was meant.
    expect(() => readArguments(["query=3", "n=1", "query=4"], schema)).toThrow(
      `query is given twice; give it once, a list as query='["A", "B"]'`,
    );
    for (const twice of ['{"a":1,"a":2}', '{"a":{"b":1,"\\u0062":2}}'])
      expect(() => readArguments([twice], schema)).toThrow("a key is given twice in one object");
    expect(readArguments(['{"a":{"a":1},"b":[{"a":1},{"a":2}]}'], schema)).toEqual({
      a: { a: 1 },
      b: [{ a: 1 }, { a: 2 }],
    });
    expect(readArguments(['{"query":"x"}'], schema)).toEqual({ query: "x" });
    expect(readArguments([], undefined)).toEqual({});
  });
});

describe("welcome", () => {
  /** The JSON blocks of the text, parsed. */
  const blocks = (text: string): unknown[] =>
    text
      .split(/\n\n|\)\n/)
      .filter((part) => part.startsWith("{"))
      .map((part) => JSON.parse(part) as unknown);
  const installed = "/usr/lib/node_modules/mcp-secure-local/dist/mcp-secure-local.cjs";

  it.each([
    ["linux", ".config/Claude/claude_desktop_config.json"],
    ["darwin", "Library/Application Support/Claude/"],
    ["win32", "AppData"],
  ])("tells how to connect the clients on %s", (platform, path) => {
    // Never a name: who registers it first would run code here.
    const start = { command: process.execPath, args: [installed] };
    vi.stubEnv("XDG_CONFIG_HOME", "");
    const text = welcome(platform, installed);
    expect(text).toContain(path);
    const mcpServers = { mcpServers: { "secure-local": start } };
    const servers = { servers: { "secure-local": { type: "stdio", ...start } } };
    expect(blocks(text).slice(0, 3)).toEqual([mcpServers, mcpServers, servers]);
    const command = [start.command, ...start.args].join(" ");
    expect(text).toContain(`claude mcp add secure-local -- ${command}`);
    expect(text).toContain(`${command} call calculate "expression=2 + 3 * 4"`);
  });

  it("names a copy that is not installed by its path", () => {
    const args = ["/src/dist/x.mjs", "--policy", resolve("policy.yaml")];
    expect(blocks(welcome("linux", "/src/dist/x.mjs", "policy.yaml"))[0]).toEqual({
      mcpServers: { "secure-local": { command: process.execPath, args } },
    });
    expect(blocks(welcome("linux", "/src/dist/x.mjs"))[0]).toEqual({
      mcpServers: { "secure-local": { command: process.execPath, args: ["/src/dist/x.mjs"] } },
    });
  });

  afterEach(() => void vi.unstubAllEnvs());
});

describe("colours", () => {
  const terminal = process.stdout.isTTY;
  afterEach(() => {
    process.stdout.isTTY = terminal;
    vi.unstubAllEnvs();
  });

  it("are for terminals only, and NO_COLOR turns them off", () => {
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("TERM", "xterm");
    process.stdout.isTTY = true;
    expect(calm(styled("bold", "x"))).toBe("\u001b[1mx\u001b[0m");
    vi.stubEnv("NO_COLOR", "1");
    expect(styled("bold", "x")).toBe("x");
    vi.stubEnv("NO_COLOR", "");
    process.stdout.isTTY = false;
    expect(styled("bold", "x")).toBe("x");
  });

  it("are our own alone: nothing that a stranger wrote acts on a terminal, whatever stands around it", () => {
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("FORCE_COLOR", "1");
    const codes = fc.constantFrom(
      "\u001b[32m",
      "\u001b[8m",
      "\u001b[0m",
      "\u001b[2J",
      "\u009b1m",
      "\u001b<1m",
      "\r",
      "\u202e",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(codes, fc.string()), { maxLength: 8 }), (pieces) => {
        const [before, after] = calm(`${styled("red", "ours")}|${pieces.join("")}|${styled("dim", "ours")}`).split(
          /(?<=^[^|]*)\|/,
        );
        expect(before).toBe("\u001b[31mours\u001b[0m");
        const theirs = after?.slice(0, after.lastIndexOf("|"));
        // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
        expect(theirs).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
      }),
    );
  });
});
