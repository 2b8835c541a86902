// What three strangers met who had nothing but the package: a user with servers, an administrator, an author of plugins.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { DOCUMENTATION } from "../../src/cli/command-reference.js";
import { inOptions } from "../../src/cli/failure.js";
import { run } from "../cli/command.js";
import { hasWall } from "../sandbox/walls.js";
import { Household, tool } from "./household.js";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const house = new Household();
afterAll(() => house.close());

/** A server that may read its folder, one whose program is gone, and one that ends at its start. */
function writePolicy(): void {
  const notes = house.program("notes", {
    tools: [tool("read"), tool("write"), tool("purge")],
    answers: {
      write: `async () => {
        const { writeFileSync } = await import("node:fs");
        try { writeFileSync(${JSON.stringify(join(house.folder, "programs/new.txt"))}, "x"); return "written"; }
        catch (error) { return error.code; }
      }`,
    },
  });
  const ends = join(house.folder, "programs/ends.mjs");
  writeFileSync(ends, `console.error("no key: set WEATHER_KEY"); process.exit(3);`);
  house.write(`version: "1.0"
tools: { allowed: [calculate, "notes__*", "gone__*"] }
secrets: { key: { from: "env:NOTES_KEY", hosts: [] } }
servers:
  notes:
    command: [node, ${notes}]
    env: { KEY: "\${secret:key}" }
    tools: { denied: [purge] }
    ${house.readable}
  gone: { command: [/opt/old/server] }
  ends: { command: [node, ${ends}], ${house.readable} }
`);
  house.env = { NOTES_KEY: "a-key-that-is-long-enough" };
}

describe.skipIf(!hasWall())("a user with servers", { timeout: 120_000 }, () => {
  it("reads why one cannot be started in its own words, and what waits", async () => {
    writePolicy();
    const { stderr, stdout, code } = await house.approve();
    expect(code).toBe(1);
    expect(stdout).toContain("added tool read");
    expect(stderr).toContain('there is no program "/opt/old/server"');
    expect(stderr).toContain("no key: set WEATHER_KEY");
    // How it is started is ours to know, and a line break is one.
    expect(stderr).not.toMatch(/servers run|\\n|initialize was not|Before that|server\/discover/);
    const { stdout: status } = await house.run(["status"]);
    expect(status.replace(/\s+/g, " ")).toContain("notes approved, gone not approved, ends not approved");
  });

  it("sees the servers on the map, with what they may reach", async () => {
    const { stdout } = await house.run(["policy", "map"]);
    for (const line of ["Server notes", "Tools: notes__*", "never Tools: notes__purge", "Secrets: key", "Server gone"])
      expect(stdout).toContain(line);
    expect(stdout).toContain(`Files to read: ${house.folder}/programs/**`);
    expect(stdout).toContain("No tools: the policy allows none of ends__*");
  });

  it("reads in policy explain what the sandbox of a server lets it reach, whatever the arguments say", async () => {
    const { stdout } = await house.run(["policy", "explain", "call", "notes__write", "path=/etc/passwd"]);
    expect(stdout).toContain(
      `note: whatever its arguments say, notes runs in a sandbox: Files to read: ${house.folder}/programs/**`,
    );
  });

  it("is told whose tool it would be", async () => {
    const { stderr } = await house.run(["call", "gone__read"]);
    expect(stderr).toContain(`mcp-secure-local servers review gone --policy ${house.policy}`);
  });

  it("finds in the log what the sandbox refused, of which server, and nothing that no person did", async () => {
    expect((await house.run(["call", "notes__write"])).stdout).toMatch(/EROFS|EACCES|EPERM/);
    const { stdout } = await house.run(["audit", "query", "server=notes"]);
    const lines = stdout.split("\n");
    expect(lines.some((line) => /\bserver\.started +notes\b/.test(line))).toBe(true);
    const refused = lines.filter((line) => / sandbox .* denied/.test(line));
    expect(refused.length).toBeGreaterThan(0);
    for (const line of refused) expect(line).toContain(`write ${house.folder}/programs/new.txt`);
    expect(lines.find((line) => /sandbox .* allowed/.test(line))).toMatch(
      / policy +sandbox .* servers: notes \(line \d+\)$/,
    );
    expect(stdout).not.toContain("a person started it");
  });

  it("reads in each line by which policy it was decided, and asks for it by that name", async () => {
    await house.run(["call", "calculate", "expression=1"]);
    const { stdout } = await house.run(["audit", "query", "policy=policy", "tool=calculate"]);
    expect(stdout).toMatch(/^time .*client +policy +tool/);
    expect(stdout).toMatch(/mcp-secure-local \S+ +policy +calculate/);
    expect((await house.run(["audit", "query", "policy=other", "tool=calculate"])).stdout).not.toContain("ok");
    const page = join(house.folder, "report.html");
    await house.run(["audit", "report", "--output", page]);
    expect(readFileSync(page, "utf8")).toContain("<th>policy</th>");
  });

  it("is told that the secrets of a server stay", async () => {
    const { stdout } = await house.run(["servers", "remove", "notes"]);
    expect(stdout).toContain(
      "Its secrets stay until you delete them, in the section secrets and where they are kept: key",
    );
  });
});

describe("a client with other servers", () => {
  it("goes on starting them itself, which install says", async () => {
    const home = house.folder;
    const file = join(home, ".cursor/mcp.json");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{ "mcpServers": { "board": { "command": "node", "args": ["/srv/board.mjs"] } } }');
    const { stdout } = await run(["install", "cursor", "--yes"], { home });
    expect(stdout).toContain("Not under the policy: board.");
    expect(stdout).toContain("mcp-secure-local install cursor --move");
    const again = await run(["install", "cursor", "--yes", "--json"], { home });
    expect(JSON.parse(again.stdout)).toMatchObject({ client: "cursor", file, written: false });
    const undone = await run(["uninstall", "cursor", "--json"], { home });
    expect(JSON.parse(undone.stdout)).toMatchObject({ client: "cursor", file, state: "restored", copies: [] });
  });
});

describe("an administrator", () => {
  it("finds the pages and units in the package", () => {
    expect(existsSync(DOCUMENTATION), DOCUMENTATION).toBe(true);
    for (const name of ["docs/README.md", "deploy/mcp-secure-local.service", "deploy/local.mcp-secure-local.plist"])
      expect(existsSync(join(ROOT, "packages/secure-local/dist", name)), name).toBe(true);
  });

  it("who asks with --debug is shown the line of the source, and nobody else is", async () => {
    const { stderr } = await run(["sandbox", "--debug"], { home: house.folder });
    const [, file = "", line] = /^ +at .*\((packages\/\S+\.ts):(\d+):\d+\)$/m.exec(stderr) ?? [];
    expect(file).toBe("packages/secure-local/src/cli/sandbox-command.ts");
    const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
    expect(lines[Number(line) - 1]).toContain('throw new UsageError("sandbox needs a command');
    expect(stderr).not.toMatch(/\bat .*\.cjs:/);
    expect((await run(["sandbox"], { home: house.folder })).stderr).not.toContain(" at ");
  });

  it.each([
    ["Give its authority in the option ca", "NODE_EXTRA_CA_CERTS"],
    ["It wants authorization: give a token in `headers`, or an authorizer.", "--token-file"],
    ["x is 10.0.0.1, not an address on the internet; if you trust it, name it in allowHosts", "--token-file"],
    ["register one there with the redirect URI r and give it as preRegistered", "--token-file"],
    ['Report it to the server, or set validateOutput to "warn".', "Report it to the server."],
    [
      "opened by xdg-open: show the user the address (option show), or have them paste the answer (pastedRedirect)",
      "open it yourself",
    ],
  ])("reads %j in words of the command line", (text, option) => {
    expect(inOptions(text, { takes: () => true })).toContain(option);
    expect(inOptions(text, { takes: () => true })).not.toMatch(
      /\b(?:option|headers|allowHosts|preRegistered|validateOutput|pastedRedirect)\b/,
    );
  });

  it.each(["calculate", "read_file", "web_search"])("who types the tool %s is told how it is called", async (name) => {
    const { stderr, code } = await run([name], { home: house.folder });
    expect({ stderr, code }).toEqual({
      stderr: `mcp-secure-local: there is no command "${name}"; to call a tool: mcp-secure-local call ${name}\n`,
      code: 2,
    });
  });
});
