// Servers that `install --move` brings come up in their sandboxes however they were installed, or stay in their client's file.
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasWall } from "../sandbox/walls.js";
import { Household, tool } from "./household.js";

const house = new Household();
afterAll(() => house.close());
const home = house.folder;
const cursor = join(home, ".cursor/mcp.json");

function write(file: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
  return file;
}

/** A server that loads a package of another folder before it says anything. */
function server(more = ""): string {
  const text = readFileSync(house.program("plain", { tools: [tool("go")] }), "utf8");
  const offered = text.replace(/JSON\.parse\(readFileSync\([^)]*\), "utf8"\)\)/, JSON.stringify([tool("go")]));
  return `#!/usr/bin/env node\nimport "dep";\n${more}${offered}`;
}

/** Installs by the ways there are; each is a command that a client is told of. */
function installed(): Record<string, { command: string; args: string[] }> {
  const dep = (root: string): void => {
    write(join(root, "node_modules/dep/package.json"), '{ "name": "dep", "type": "module", "main": "index.js" }');
    write(join(root, "node_modules/dep/index.js"), "");
  };
  const own = (folder: string): string => {
    write(join(folder, "package.json"), '{ "type": "module" }');
    return write(join(folder, "dist/index.js"), server(), 0o755);
  };
  const [scoped, project, workspaces] = ["scoped", "project", "workspaces"].map((name) => join(home, "sites", name));
  const file = own(join(scoped!, "node_modules/@scope/server"));
  write(join(dirname(file), "package.json"), '{ "type": "module" }');
  const bin = join(scoped!, "node_modules/.bin/scoped-server");
  mkdirSync(dirname(bin));
  symlinkSync("../@scope/server/dist/index.js", bin);
  const nested = own(join(scoped!, "node_modules/outer/node_modules/inner"));
  const hoisted = own(join(workspaces!, "packages/one"));
  const link = join(home, "sites/on-path/linked-server");
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(file, link);
  const mine = own(project!);
  for (const root of [scoped!, project!, workspaces!]) dep(root);
  return {
    scoped: { command: "node", args: [file] },
    bin: { command: bin, args: [] },
    nested: { command: "node", args: [nested] },
    hoisted: { command: "node", args: [hoisted] },
    project: { command: "node", args: [mine] },
    linked: { command: link, args: [] },
  };
}

beforeAll(() => house.write('version: "1.0"\n'));

it.skipIf(!hasWall())("come up as they were installed", { timeout: 120_000 }, async () => {
  const mcpServers = installed();
  write(cursor, JSON.stringify({ mcpServers }));
  const ran = await house.run(["install", "cursor", "--move", "--yes"]);
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" });
  expect(Object.keys((JSON.parse(readFileSync(cursor, "utf8")) as { mcpServers: object }).mcpServers)).toEqual([
    "secure-local",
  ]);
  for (const name of Object.keys(mcpServers)) expect(readFileSync(house.policy, "utf8")).toContain(`  ${name}:\n`);
  await house.run(["uninstall", "cursor"]);
});

it.skipIf(!hasWall())(
  "stay with the client where they do not, and the key that mends it is named",
  { timeout: 120_000 },
  async () => {
    house.write('version: "1.0"\n');
    const data = write(join(home, "elsewhere/data.bin"), "x");
    const reads = write(
      join(home, "bad/reads.mjs"),
      `import "node:fs";\n(await import("node:fs")).readFileSync("${data}");\n`,
    );
    const writes = write(
      join(home, "bad/writes.mjs"),
      `(await import("node:fs")).writeFileSync("${home}/elsewhere/new", "");`,
    );
    const needs = write(join(home, "bad/needs.mjs"), `console.error("BOARD_KEY is required");\nprocess.exit(1);\n`);
    const good = house.program("good", { tools: [tool("go")] });
    const token = { API_TOKEN: "tok-0123456789" };
    const mcpServers = {
      reads: { command: "node", args: [reads], env: token },
      good: { command: "node", args: [good], env: token },
      writes: { command: "node", args: [writes, join(home, "elsewhere")] },
      needs: { command: "node", args: [needs] },
    };
    write(cursor, JSON.stringify({ mcpServers }));
    const ran = await house.run(["install", "cursor", "--move", "--yes"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(`servers.reads.filesystem.readable_paths: ["${data}"]`);
    expect(ran.stderr).toContain(`servers.writes.filesystem.allowed_paths: ["${home}/elsewhere/**"]`);
    expect(ran.stderr).toContain(`Put BOARD_KEY into "env" of its entry in ${cursor}, and run install --move again.`);
    expect(ran.stderr).not.toContain("servers.needs");
    expect(ran.stderr).not.toMatch(/node:internal|\n\s+at /);
    const left = (JSON.parse(readFileSync(cursor, "utf8")) as { mcpServers: typeof mcpServers }).mcpServers;
    expect([left.reads, left.writes]).toEqual([mcpServers.reads, mcpServers.writes]);
    expect(Object.keys(left).sort()).toEqual(["needs", "reads", "secure-local", "writes"]);
    const policy = readFileSync(house.policy, "utf8");
    expect([policy.includes("  good:"), policy.includes("  reads:")]).toEqual([true, false]);
    // Nothing of the trial is left.
    const state = join(home, "state/mcp-secure-local");
    expect([...readdirSync(home), ...readdirSync(state)].filter((name) => name.includes("trial"))).toEqual([]);
    expect(readdirSync(join(home, ".config/mcp-secure-local/secrets"))).toEqual(["good_api_token"]);
  },
);

it("leaves a remote server with its client that cannot be reached, and takes one that only wants a login", async () => {
  const { createServer } = await import("node:http");
  const far = createServer((_request, response) => void response.writeHead(401).end());
  await new Promise<void>((done) => void far.listen(0, "127.0.0.1", done));
  const { port } = far.address() as { readonly port: number };
  const entries = { near: { url: `http://127.0.0.1:${port}/mcp` }, gone: { url: "http://127.0.0.1:9/mcp" } };
  write(cursor, JSON.stringify({ mcpServers: entries }));
  const ran = await house.run(["install", "cursor", "--move", "--yes"]);
  far.close();
  expect(ran.stderr).toContain("gone cannot be reached, so it stays where it is:");
  const { mcpServers } = JSON.parse(readFileSync(cursor, "utf8")) as { mcpServers: Record<string, unknown> };
  expect(Object.keys(mcpServers).sort()).toEqual(["gone", "secure-local"]);
  expect(readFileSync(house.policy, "utf8")).toContain("near:");
});

it("names what each client leaves in the policy as the policy names it, and nothing that another client needs", async () => {
  house.write('version: "1.0"\n');
  const code = join(home, ".claude.json");
  const serverIn = (folder: string): object => {
    const text = readFileSync(house.program(folder, { tools: [tool("go")] }), "utf8");
    const alone = text.replace(/JSON\.parse\(readFileSync\([^)]*\), "utf8"\)\)/, JSON.stringify([tool("go")]));
    return { command: "node", args: [write(join(home, folder, "main.mjs"), alone)] };
  };
  write(cursor, JSON.stringify({ mcpServers: { notes: serverIn("ones"), both: serverIn("shared") } }));
  write(code, JSON.stringify({ mcpServers: { notes: serverIn("others"), both: serverIn("shared") } }));
  const first = await house.run(["install", "cursor", "--move", "--yes"]);
  expect(first.stdout).toContain("Nothing of notes, both is offered until you have approved it");
  expect((await house.approve()).code).toBe(0);
  const second = await house.run(["install", "claude-code", "--move", "--yes"]);
  expect(second.stdout).toContain("Nothing of notes-2 is offered until you have approved it");
  const undone = await house.run(["uninstall", "claude-code"]);
  expect(undone.stdout).toMatch(/The policy still has what was moved: notes-2\. /);
  expect((await house.run(["uninstall", "cursor"])).stdout).toMatch(/what was moved: notes, both\. /);
});
