// Servers are found by name in every shape of configuration file there is.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ClientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { configuredTarget as foundTarget, type TargetRequest } from "@secure-local/mcp-tools/configured-servers";
import { readHeaders, readVariables, targetText } from "@secure-local/mcp-tools/target";
import { CLIENTS, SERVER } from "../../src/cli/client-files.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

function around(files: Readonly<Record<string, string>>): ClientEnvironment {
  const root = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const environment = { TOKEN: "secret", EMPTY: "" };
  return { folder: join(root, "work"), home: join(root, "home"), platform: "linux", environment };
}

/** With somebody who allows everything. */
const configuredTarget = (name: string, wanted: TargetRequest) =>
  foundTarget(name, { consent: () => Promise.resolve(), ...wanted });

const NODE = { kind: "command", command: "node", args: ["a.js"], env: {} };

describe("a name", () => {
  it.each([
    ["work/.mcp.json", "mcpServers"],
    ["work/.vscode/mcp.json", "servers"],
    ["work/.cursor/mcp.json", "mcpServers"],
    ["home/.claude.json", "mcpServers"],
    ["home/.config/Claude/claude_desktop_config.json", "mcpServers"],
    ["home/.config/Code/User/mcp.json", "servers"],
    ["home/.config/Code/User/settings.json", "mcp.servers"],
    ["home/.copilot/mcp-config.json", "mcpServers"],
    ["home/.gemini/settings.json", "mcpServers"],
    ["home/.config/zed/settings.json", "context_servers"],
    ["home/.config/opencode/opencode.json", "mcp"],
    ["home/.codeium/windsurf/mcp_config.json", "mcpServers"],
    ["home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "mcpServers"],
  ])("is found in %s", async (file, key) => {
    const text = JSON.stringify({ [key]: { one: { command: "node", args: ["a.js"] } } });
    expect(await configuredTarget("one", { around: around({ [file]: text }) })).toEqual(NODE);
  });

  it("is found in Codex's TOML and Continue's YAML", async () => {
    const toml = '[mcp_servers.one]\ncommand = "node"\nargs = ["a.js"]\n[mcp_servers.one.env]\nK = "v"\n';
    const yaml = "mcpServers:\n  - name: two\n    command: node\n    env: { K: '${{ secrets.TOKEN }}' }\n";
    const places = around({ "home/.codex/config.toml": toml, "home/.continue/config.yaml": yaml });
    expect(await configuredTarget("one", { around: places })).toEqual({ ...NODE, env: { K: "v" } });
    expect(await configuredTarget("two", { around: places })).toMatchObject({ env: { K: "secret" } });
    const bad = around({ "work/c.toml": "[x", "work/c.yaml": "a: [" });
    for (const file of ["c.toml", "c.yaml"])
      await expect(configuredTarget("one", { file, around: bad })).rejects.toMatchObject({ code: "USAGE" });
  });

  it.each(CLIENTS)("is found in what we print for $name, as a program and at a URL", async ({ file, text }) => {
    const at = join("home", ...file);
    const program = { command: "/usr/bin/node", args: ["/opt/a b.cjs", "--policy", 'C:\\x "y".yaml'] };
    expect(await configuredTarget(SERVER, { around: around({ [at]: text(program) }) })).toEqual({
      kind: "command",
      ...program,
      env: {},
    });
    const place = { url: "http://127.0.0.1:3333/mcp", headers: { Authorization: "Bearer a-b_c" } };
    expect(await configuredTarget(SERVER, { around: around({ [at]: text(place) }) })).toEqual({
      kind: "url",
      ...place,
    });
  });

  it("is found in the file that is named, and nowhere else", async () => {
    const places = around({
      "work/.mcp.json": '{"mcpServers":{"one":{"command":"node"}}}',
      "work/own.json":
        '{"mcpServers":{"two":{"type":"http","url":"https://a.example/mcp","headers":{"X":"${TOKEN}"}}}}',
    });
    expect(await configuredTarget("two", { file: "own.json", around: places })).toEqual({
      kind: "url",
      url: "https://a.example/mcp",
      headers: { X: "secret" },
    });
    await expect(configuredTarget("one", { file: "own.json", around: places })).rejects.toThrow("there are two");
    await expect(configuredTarget("one", { file: "no.json", around: places })).rejects.toThrow("cannot be read");
  });

  it("that is nowhere names what there is; broken files of others are passed over", async () => {
    const places = around({ "work/.mcp.json": "{", "work/.cursor/mcp.json": '{"mcpServers":{"one":{"command":"x"}}}' });
    await expect(configuredTarget("two", { around: places })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining('no server "two" in the usual configuration files (there are one)') as string,
    });
    await expect(configuredTarget("one", { around: places })).resolves.toMatchObject({ command: "x" });
  });

  it("has its variables filled in, by the workspace of its file", async () => {
    const server = {
      command: "${userHome}/bin",
      args: ["${workspaceFolder}/x"],
      env: { K: "${env:TOKEN}" },
      cwd: "sub",
    };
    const places = around({ "work/.vscode/mcp.json": JSON.stringify({ servers: { one: server } }) });
    expect(await configuredTarget("one", { around: places })).toEqual({
      kind: "command",
      command: `${places.home}/bin`,
      args: [`${places.folder}/x`],
      env: { K: "secret" },
      cwd: join(places.folder, "sub"),
    });
  });
});

describe("a configuration file", () => {
  const inFile = (text: string, name = "a", given: string[] = []) =>
    configuredTarget(name, {
      file: "f.json",
      given,
      around: around({ "work/f.json": text, "work/.env": "FROM=file" }),
    });

  it("may have comments and trailing commas", async () => {
    const text = '{ // the servers\n "servers": { /* one */ "a": { "url": "http://x//y", }, }, }';
    expect(await inFile(text)).toEqual({ kind: "url", url: "http://x//y", headers: {} });
  });

  it("has servers of one folder before those of all", async () => {
    const places = around({});
    const text = JSON.stringify({
      mcpServers: { a: { command: "all" }, b: { command: "other" } },
      projects: { [places.folder]: { mcpServers: { a: { command: "mine" } } } },
    });
    mkdirSync(places.home, { recursive: true });
    writeFileSync(join(places.home, ".claude.json"), text);
    expect(await configuredTarget("a", { around: places })).toMatchObject({ command: "mine" });
    expect(await configuredTarget("b", { around: places })).toMatchObject({ command: "other" });
  });

  it("may have its variables in another file", async () => {
    const target = await inFile(
      '{"servers":{"a":{"command":"x","envFile":"${workspaceFolder}/.env","env":{"B":"b"}}}}',
    );
    expect(target).toMatchObject({ env: { FROM: "file", B: "b" } });
  });

  it.each([
    ["{", "f.json"],
    ["{}", "mcpServers"],
    ['{"mcpServers":{"a":{"command":5}}}', '"command" must be a string'],
  ])("%s is refused", (text, message) =>
    expect(inFile(text)).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining(message) as string }),
  );

  it("may ask for values, which have to be given", async () => {
    const text = '{"servers":{"a":{"command":"x","env":{"KEY":"${input:key}"}}}}';
    await expect(inFile(text)).rejects.toThrow("give the value with --env or --header");
    expect(await inFile(text, "a", ["KEY"])).toMatchObject({ env: {} });
  });
});

describe("options of targets", () => {
  it("are names and values", () => {
    expect(readVariables(["A=b=c", "B="])).toEqual({ A: "b=c", B: "" });
    expect(readHeaders(["X-Key: a:b", "Y:z"])).toEqual({ "X-Key": "a:b", Y: "z" });
    expect(() => readVariables(["secret"])).toThrow(/^(?!.*secret)/);
    expect(() => readHeaders(["X: a\nY: b"])).toThrow("Name: value");
  });

  it("are not shown with the target", () => {
    expect(targetText({ kind: "command", command: "node", args: ["a b", "it's"], env: { K: "secret" } })).toBe(
      "node 'a b' 'it'\\''s'",
    );
    expect(targetText({ kind: "url", url: "https://a.example/mcp?key=secret", headers: {} })).toBe(
      "https://a.example/mcp?key=…",
    );
  });
});
