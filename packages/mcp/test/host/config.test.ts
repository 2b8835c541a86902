// Configuration files: what is read, what is wrong and where, variables, and changes that leave the rest alone.
import { describe, expect, it } from "vitest";
import { type ConfigServer, expandServer, parseServersConfig } from "../../src/host/config/config-servers.js";
import { parseJsonTree, updateServer } from "../../src/host/config/json-tree.js";
import { repeated } from "../support/soak.js";

const CLAUDE = `{
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "server-files"], "env": { "KEY": "value", "PORT": 80 }, "cwd": "/tmp" },
    "remote": { "type": "streamable-http", "url": "https://host/mcp", "headers": { "Authorization": "Bearer \${TOKEN}" } },
    "old": { "type": "sse", "url": "https://host/sse", "disabled": true, "timeout": 5000, "oauth": { "x": 1 } },
    "plain": { "url": "http://localhost:1/mcp" },
  },
}`;
const CODE = `{
  // Asked for once
  "inputs": [{ "type": "promptString", "id": "key", "description": "API key", "password": true }, 7],
  "servers": {
    "name": { "type": "stdio", "command": "npx", "env": { "K": "\${input:key}" }, "envFile": "\${workspaceFolder}/.env", "dev": { "watch": "x" } }
  }
}`;

describe("reading", () => {
  it("takes Claude's and Cursor's form, comments and trailing commas too", () => {
    const { format, servers, problems } = parseServersConfig(CLAUDE);
    expect(format).toBe("mcpServers");
    expect(problems).toEqual([]);
    expect(servers.map(({ name, type, disabled, timeoutMs, line }) => [name, type, disabled, timeoutMs, line])).toEqual(
      [
        ["files", "stdio", false, undefined, 3],
        ["remote", "http", false, undefined, 4],
        ["old", "sse", true, 5000, 5],
        ["plain", "any", false, undefined, 6],
      ],
    );
    expect(servers[0]).toMatchObject({ args: ["-y", "server-files"], env: { KEY: "value", PORT: "80" }, cwd: "/tmp" });
    expect(servers[2]?.raw).toMatchObject({ oauth: { x: 1 } });
  });

  it("takes VS Code's, with inputs", () => {
    const { format, servers, inputs } = parseServersConfig(CODE);
    expect(format).toBe("servers");
    expect(inputs).toEqual([
      {
        id: "key",
        type: "promptString",
        description: "API key",
        password: true,
        default: undefined,
        options: undefined,
      },
    ]);
    expect(servers[0]).toMatchObject({ type: "stdio", envFile: "${workspaceFolder}/.env" });
  });

  it.each([
    ["", "line 1, column 1: a value was expected, the text ends instead"],
    [
      '{ "mcpServers": {\n  "a": { "command" "x" } } }',
      'line 2, column 20: ":" was expected, there is "\\"x\\" } } }"',
    ],
    ['{ "mcpServers": { "a": {}, "a": {} } }', 'line 1, column 28: the member "a" is there twice'],
    ["{ mcpServers: {} }", 'column 3: a string was expected, there is "mcpServers: "'],
    ['{ "mcpServers": {} } x', "column 22: there is something after the end"],
    ['{ "a": 01 }', "column 8: a value was expected"],
    ["[".repeat(100), "it nests deeper than 64"],
  ])("%j is no JSON, and says where", (text, message) => {
    expect(() => parseServersConfig(text)).toThrow(message);
    expect(() => parseServersConfig(text)).toThrow(expect.objectContaining({ code: "CONFIG_SYNTAX" }));
  });

  it.each([
    ["{}", 'line 1, column 1: there is no "mcpServers" and no "servers"'],
    ['{ "servers": [] }', '"servers" is no object'],
  ])("%j holds no servers", (text, message) => {
    expect(() => parseServersConfig(text, "mcp.json")).toThrow(message);
  });

  it.each([
    ["7", "a server must be an object"],
    ["{}", '"command" or "url" is missing'],
    ['{ "type": "stdio" }', '"command" is missing'],
    ['{ "type": "http" }', '"command" or "url" is missing'],
    ['{ "type": "carrier-pigeon", "url": "x" }', 'the type "carrier-pigeon" is not known'],
    ['{ "type": "__proto__", "url": "x" }', "is not known"],
    ['{ "command": "x", "args": "y" }', '"args" must be a list of strings'],
    ['{ "command": "x", "env": { "A": {} } }', '"env" must be an object of strings'],
    ['{ "command": "x", "url": "y" }', "which of them?"],
    ['{ "command": "x", "disabled": "no" }', '"disabled" must be true or false'],
    ['{ "command": "x", "timeout": 0 }', '"timeout" must be a number of milliseconds above 0'],
  ])("a server %s is a problem of its own", (text, message) => {
    const { servers, problems } = parseServersConfig(
      `{ "mcpServers": {\n "bad": ${text},\n "good": { "command": "x" } } }`,
    );
    expect(servers.map(({ name }) => name)).toEqual(["good"]);
    expect(problems).toEqual([
      expect.objectContaining({ name: "bad", line: 2, message: expect.stringContaining(message) as string }),
    ]);
  });
});

it("reads JSON exactly as JSON.parse does, trailing commas and members that are there twice apart", () => {
  const parts = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    "1",
    "-0.5e3",
    "true",
    "null",
    " ",
    '"\\u0041"',
    '"\\x"',
    "01",
    "tru",
    "+1",
  ];
  const random = randomNumbers(7);
  for (let round = 0; round < repeated(1_000, 10_000); round++) {
    const text = Array.from({ length: 1 + random(8) }, () => parts[random(parts.length)]).join("");
    const [wanted, found] = [outcomeOf(() => JSON.parse(text) as unknown), outcomeOf(() => parseJsonTree(text).value)];
    if (/,\s*[}\]]/.test(text) || found.error?.includes("is there twice")) continue;
    expect({ text, ...found, error: found.error && "no JSON" }).toEqual({
      text,
      ...wanted,
      error: wanted.error && "no JSON",
    });
  }
});

function outcomeOf(parse: () => unknown): { value?: unknown; error?: string | undefined } {
  try {
    return { value: parse() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Whole numbers below a limit, the same ones every time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

const VARIABLES = {
  env: { TOKEN: "secret", EMPTY: "", NESTED: "${TOKEN}" },
  userHome: "/home/ada",
  workspaceFolder: "/home/ada/work",
  input: (id: string) => Promise.resolve(id === "key" ? "typed" : undefined),
};

async function expanded(text: string, format: "mcpServers" | "servers"): Promise<[string | undefined, ...unknown[]]> {
  const { servers } = parseServersConfig(JSON.stringify({ [format]: { x: { command: "c", args: [text] } } }));
  const { server, unset, missing } = await expandServer(servers[0] as ConfigServer, format, VARIABLES);
  return [server.args[0], unset, missing];
}

describe("variables", () => {
  it.each([
    ["${TOKEN}", "secret", []],
    ["a ${TOKEN} b ${TOKEN}", "a secret b secret", []],
    ["$TOKEN", "$TOKEN", []],
    ["${NOT_SET}", "${NOT_SET}", ["NOT_SET"]],
    ["${NOT_SET:-default}", "default", []],
    ["${EMPTY:-default}", "default", []],
    ["${TOKEN:-default}", "secret", []],
    ["${NESTED}", "${TOKEN}", []],
    ["${env:TOKEN}", "secret", []],
    ["${env:NOT_SET}", "", ["NOT_SET"]],
    ["${userHome}/x", "/home/ada/x", []],
    ["${workspaceFolder}/${workspaceFolderBasename}", "/home/ada/work/work", []],
    ["${input:key}", "${input:key}", []],
    ["${a b}", "${a b}", []],
    ["${constructor}", "${constructor}", ["constructor"]],
  ])("under mcpServers %s is %s", async (text, value, unset) => {
    expect(await expanded(text, "mcpServers")).toEqual([value, unset, []]);
  });

  it.each([
    ["${input:key}", "typed", []],
    ["${input:other}", "${input:other}", ["other"]],
    ["${TOKEN}", "${TOKEN}", []],
    ["${env:TOKEN}", "secret", []],
  ])("under servers %s is %s", async (text, value, missing) => {
    expect(await expanded(text, "servers")).toEqual([value, [], missing]);
  });

  it("are replaced everywhere", async () => {
    const [, remote] = parseServersConfig(CLAUDE).servers;
    const { server } = await expandServer(remote as ConfigServer, "mcpServers", VARIABLES);
    expect(server.headers).toEqual({ Authorization: "Bearer secret" });
  });
});

describe("changes", () => {
  it("touch the members named and keep comments, order and what nobody knows", () => {
    const text = `{
  // my servers
  "mcpServers": {
    "a": { "command": "x", /* old */ "disabled": true, "oauth": { "k": 1 } },
    "b": { "command": "y" }
  },
  "other": 1
}`;
    const changed = updateServer(text, "a", { disabled: false });
    expect(changed).toBe(text.replace('"disabled": true', '"disabled": false'));
    const more = updateServer(changed, "a", { timeout: 5000, command: "z" });
    expect(parseServersConfig(more).servers[0]).toMatchObject({
      command: "z",
      timeoutMs: 5000,
      raw: { oauth: { k: 1 } },
    });
    expect(more).toContain("// my servers");
    expect(more).toContain("/* old */");
  });

  it("add, take out, and begin", () => {
    const one = updateServer("{}", "a", { command: "x" });
    expect(JSON.parse(one)).toEqual({ mcpServers: { a: { command: "x" } } });
    const two = updateServer(one, "b", { url: "https://x", disabled: undefined });
    expect(JSON.parse(two)).toEqual({ mcpServers: { a: { command: "x" }, b: { url: "https://x" } } });
    expect(JSON.parse(updateServer(two, "a", undefined))).toEqual({ mcpServers: { b: { url: "https://x" } } });
    expect(updateServer(two, "c", undefined)).toBe(two);
    expect(JSON.parse(updateServer(two, "b", { url: undefined, command: "y" })).mcpServers.b).toEqual({ command: "y" });
  });

  it("stay in the format of the file", () => {
    const changed = updateServer(CODE, "more", { command: "z" });
    expect(parseServersConfig(changed).servers.map(({ name }) => name)).toEqual(["name", "more"]);
    expect(changed).toContain("// Asked for once");
  });
});

describe("forms of single clients", () => {
  const read = (value: object, source?: string) => parseServersConfig(JSON.stringify(value), source);
  const filled = async (value: object, source?: string) => {
    const { format, servers } = read(value, source);
    const variables = {
      env: { TOKEN: "t" },
      userHome: "/h",
      workspaceFolder: "/w",
      input: () => Promise.resolve(undefined),
    };
    return await expandServer(servers[0] as ConfigServer, format, variables);
  };

  it.each([
    [
      "Gemini",
      { mcpServers: { a: { httpUrl: "https://h/$TOKEN", headers: { X: "${TOKEN}-$NONE" } } } },
      { url: "https://h/t", headers: { X: "t-$NONE" }, type: "any" },
    ],
    [
      "opencode",
      { mcp: { a: { type: "local", command: ["npx", "-y", "x"], environment: { K: "{env:TOKEN}" }, enabled: false } } },
      { command: "npx", args: ["-y", "x"], env: { K: "t" }, disabled: true },
    ],
    [
      "opencode, a server called servers",
      { mcp: { servers: { type: "remote", url: "https://h", headers: { A: "Bearer {env:TOKEN}" } } } },
      { name: "servers", url: "https://h", headers: { A: "Bearer t" }, type: "any" },
    ],
    [
      "Zed",
      {
        theme: "x",
        context_servers: { a: { source: "custom", command: "x", args: ["${TOKEN}"], env: { K: "$TOKEN" } } },
      },
      { command: "x", args: ["${TOKEN}"], env: { K: "$TOKEN" } },
    ],
    [
      "Zed's older form",
      { context_servers: { a: { command: { path: "x", args: ["b"], env: { K: "v" } } } } },
      { command: "x", args: ["b"], env: { K: "v" } },
    ],
    ["Windsurf", { mcpServers: { a: { serverUrl: "https://h/${env:TOKEN}" } } }, { url: "https://h/t" }],
    [
      "Cline's newer form",
      { mcpServers: { a: { transport: { type: "stdio", command: "x", args: ["b"] }, timeout: 60, autoApprove: [] } } },
      { command: "x", args: ["b"], timeoutMs: 60_000 },
    ],
    [
      "Cline's newer form of a URL",
      {
        mcpServers: {
          a: { transport: { type: "streamableHttp", url: "https://h", headers: { A: "b" } }, disabled: true },
        },
      },
      { url: "https://h", type: "http", headers: { A: "b" }, disabled: true },
    ],
    [
      "VS Code's settings",
      { "editor.x": 1, mcp: { servers: { a: { command: "x", env: { K: "${env:TOKEN}" } } } } },
      { command: "x", env: { K: "t" } },
    ],
    ["VS Code's settings, by their full name", { "mcp.servers": { a: { command: "x" } } }, { command: "x" }],
    [
      "Codex",
      {
        mcp_servers: {
          a: {
            url: "https://h",
            bearer_token_env_var: "TOKEN",
            http_headers: { L: "${TOKEN}" },
            env_http_headers: { E: "TOKEN" },
            tool_timeout_sec: 90,
          },
        },
      },
      { headers: { Authorization: "Bearer t", L: "${TOKEN}", E: "t" }, timeoutMs: 90_000 },
    ],
    [
      "Codex, a program",
      { mcp_servers: { a: { command: "x", env_vars: ["TOKEN"], enabled: false } } },
      { env: { TOKEN: "t" }, disabled: true },
    ],
  ])("are read as that client does: %s", async (_client, value, server) => {
    expect((await filled(value)).server).toMatchObject(server);
    expect(read(value).problems).toEqual([]);
  });

  it.each([
    [60, undefined, {}, 60_000],
    [60, undefined, { autoApprove: [] }, 60_000],
    [3600, "/x/settings/cline_mcp_settings.json", {}, 3_600_000],
    [3600, "/w/.kilocode/mcp.json", {}, 3_600_000],
    [3600, undefined, { alwaysAllow: ["x"] }, 3_600_000],
    [5000, undefined, {}, 5_000],
    [600_000, "/h/.gemini/settings.json", {}, 600_000],
  ])("count the time of a call in their own unit: %j in %j", (timeout, source, more, ms) => {
    expect(read({ mcpServers: { a: { command: "x", timeout, ...more } } }, source).servers[0]?.timeoutMs).toBe(ms);
  });

  it("tell of $NAME where it is passed on as it is written", async () => {
    const server = {
      command: "sh",
      args: ["-c", "echo $HOME"],
      env: { K: "$TOKEN", L: "${TOKEN}", M: "a$b", N: "\\$X" },
    };
    expect((await filled({ mcpServers: { a: server } })).literal).toEqual(["TOKEN"]);
    expect((await filled({ mcpServers: { a: server } }, "/h/.gemini/settings.json")).literal).toEqual([]);
  });

  it("do not take files into a server by themselves", async () => {
    const { missing } = await filled({
      mcp: { a: { type: "remote", url: "https://h", headers: { A: "{file:~/key}" } } },
    });
    expect(missing).toEqual(["file:~/key"]);
  });
});
