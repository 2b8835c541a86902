// A server that npx would fetch at each start: fetched once from a registry of this test, then started from what was kept.
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { wantedPackage } from "../../src/server/pinned-package.js";
import { start } from "../cli/command.js";
import { Household, type Program, said, tool } from "./household.js";

const house = new Household();
const NAME = "@test/kept-server";
const SLOW = "@test/slow-server";
const asked: string[] = [];
let slowAsked = (): void => undefined;
const tarballs = new Map<string, Buffer>();
const registry = createServer((request, response) => {
  const path = decodeURIComponent(request.url ?? "");
  asked.push(path);
  // Of this one nothing ever comes.
  if (path === `/${SLOW}`) return slowAsked();
  const archive = tarballs.get(path.replace(/^.*-(\d+\.\d+\.\d+)\.tgz$/, "$1"));
  if (path.endsWith(".tgz") && archive !== undefined) return void response.end(archive);
  if (path !== `/${NAME}`) return void response.writeHead(404).end("{}");
  const { port } = registry.address() as AddressInfo;
  const versions = [...tarballs].map(([version, bytes]) => {
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const tarball = `http://127.0.0.1:${port}/${NAME}/-/kept-server-${version}.tgz`;
    return [version, { name: NAME, version, bin: { "kept-server": "main.mjs" }, dist: { tarball, integrity } }];
  });
  const latest = [...tarballs.keys()].at(-1);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ name: NAME, "dist-tags": { latest }, versions: Object.fromEntries(versions) }));
});

function saysVersion(version: string): Program {
  return { tools: [tool("version")], answers: { version: `() => "${version} " + process.argv.slice(2).join()` } };
}

/** Where a version is kept. */
function own(version: string): string {
  const name = createHash("sha256")
    .update(NAME + version)
    .digest("hex")
    .slice(0, 32);
  return join(house.folder, "state/mcp-secure-local/packages", name);
}

/** A version of the server, which says which one it is; its script would leave a mark. */
function publish(version: string, offered: Program = saysVersion(version)): void {
  const source = house.program("kept", offered);
  const folder = join(house.folder, `package-${version}`, "package");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "main.mjs"), readFileSync(source), { mode: 0o755 });
  writeFileSync(join(folder, "main.json"), JSON.stringify(offered.tools));
  const scripts = { postinstall: `node -e "require('fs').writeFileSync('${house.folder}/ran', '')"` };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: NAME, version, type: "module", bin: { "kept-server": "main.mjs" }, scripts }),
  );
  const file = join(house.folder, `${version}.tgz`);
  spawnSync("tar", ["-czf", file, "-C", join(folder, ".."), "package"]);
  tarballs.set(version, readFileSync(file));
}

beforeAll(async () => {
  publish("1.0.0");
  await new Promise<void>((listening) => registry.listen(0, "127.0.0.1", listening));
  const { port } = registry.address() as AddressInfo;
  // Where the machine keeps its settings of npm: behind a proxy the certificates stand there, too.
  const machine = join(house.folder, "machine");
  mkdirSync(join(machine, "etc"), { recursive: true });
  writeFileSync(join(machine, "etc/npmrc"), `registry=http://127.0.0.1:${port}\n`);
  house.env = {
    PREFIX: machine,
    npm_config_cache: join(house.folder, "npm-cache"),
    npm_config_update_notifier: "false",
  };
});
afterAll(async () => {
  await house.close();
  registry.close();
});
beforeEach(() => entry(`${NAME}@1.0.0`));

function entry(spec: string): void {
  house.write(`version: "1.0"\ntools: { allowed: ["kept__*"] }
servers: { kept: { command: [npx, -y, "${spec}", --here] } }\n`);
}

const call = async (): Promise<string> => {
  const { stdout, stderr } = await house.run(["call", "kept__version"]);
  return `${stdout}${stderr}`;
};

const folder = (): string => {
  const packages = join(house.folder, "state/mcp-secure-local/packages");
  return join(packages, readdirSync(packages).find((name) => !name.endsWith(".json")) as string);
};

it.each([
  [["npx", "-y", "a@1.0.0", "--x", "y"], { spec: "a@1.0.0", name: "a", args: ["--x", "y"] }],
  [["/usr/bin/npx", "@s/a"], { spec: "@s/a", name: "@s/a", args: [] }],
  [["npx", "--yes", "@s/a@^2", "-y"], { spec: "@s/a@^2", name: "@s/a", args: ["-y"] }],
  [["npx", "-p", "a", "b"], undefined],
  [["npx", "file:/tmp/a"], undefined],
  [["npx", "git+https://x.example/a.git"], undefined],
  [["npx"], undefined],
  [["node", "a"], undefined],
])("reads %j", (command, wanted) => expect(wantedPackage(command)).toEqual(wanted));

it("fetches it once, runs none of its scripts, and asks the registry nothing at later starts", async () => {
  const reviewed = await house.run(["servers", "review"]);
  expect(await house.approve()).toMatchObject({ code: 0 });
  expect(reviewed.stderr).toMatch(/kept: @test\/kept-server@1\.0\.0 is kept from now on \(sha512-/);
  expect(reviewed.stdout).not.toMatch(/npx fetches/);
  expect(asked.length).toBeGreaterThan(0);
  asked.length = 0;
  publish("1.1.0");
  const client = await house.client();
  expect(await said(client, "kept__version")).toBe("1.0.0 --here");
  expect(await call()).toContain("1.0.0 --here");
  expect((await house.run(["servers", "review", "--json"])).code).toBe(0);
  expect(asked).toEqual([]);
  expect(readdirSync(house.folder)).not.toContain("ran");
});

it("does not start what was changed since, though its name and version are the same", async () => {
  expect(await call()).toContain("1.0.0 --here");
  const file = join(folder(), "node_modules", NAME, "main.mjs");
  const before = readFileSync(file);
  appendFileSync(file, "\n// changed");
  expect(await call()).toMatch(/not as it was approved/);
  writeFileSync(file, before);
  expect(await call()).toContain("1.0.0 --here");
  writeFileSync(join(folder(), "node_modules", "more.js"), "");
  expect(await call()).toMatch(/not as it was approved/);
});

it.each([
  ["its folder is gone", () => rmSync(folder(), { recursive: true })],
  ["its folder is empty", () => rmSync(join(folder(), "node_modules"), { recursive: true })],
  ["the package in it is gone", () => rmSync(join(folder(), "node_modules", NAME), { recursive: true })],
  ["a file of it is gone", () => rmSync(join(folder(), "node_modules", NAME, "main.json"))],
  ["a file of it was changed", () => appendFileSync(join(folder(), "node_modules", NAME, "main.mjs"), "//")],
  ["what was written down of it is gone", () => rmSync(`${folder()}.json`)],
] as const)("is as it was approved again after a review, where %s", async (_, damage) => {
  rmSync(join(folder(), "node_modules", "more.js"), { force: true });
  damage();
  expect(await call()).toMatch(/not as it was approved|withheld/);
  const listed = await house.run(["servers", "list"]);
  if (/gone$|empty$/.test(_) && !_.startsWith("a file"))
    expect(listed).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("its package that was kept is gone") as string,
    });
  const review = await house.run(["servers", "review"]);
  expect(review).toMatchObject({ code: 0, stdout: expect.stringContaining("as it was approved") as string });
  expect(await call()).toContain("1.0.0 --here");
});

it("withholds another version until it is approved", async () => {
  entry(`${NAME}@1.1.0`);
  expect(await call()).toMatch(/withheld|not as it was approved/);
  expect((await house.approve()).code).toBe(0);
  expect(await call()).toContain("1.1.0 --here");
});

it("starts from its own package, which lies in a folder that it may read, and sees nothing else of ours there", async () => {
  const looking = `async ({ path, to }) => {
    const { appendFileSync, readFileSync } = await import("node:fs");
    try { return to === undefined ? readFileSync(path, "utf8").length + " characters" : String(appendFileSync(path, to)) }
    catch (error) { return error.code }
  }`;
  publish("1.2.0", { tools: [tool("look")], answers: { look: looking } });
  house.write(`version: "1.0"\ntools: { allowed: ["kept__*"] }
servers:
  kept: { command: [npx, -y, "${NAME}@1.2.0"], filesystem: { readable_paths: ["${house.folder}/state/**"] } }\n`);
  expect(await house.approve()).toMatchObject({ code: 0 });
  const client = await house.client();
  const at = join(own("@1.2.0"), "node_modules", NAME, "main.mjs");
  const other = join(own("@other"), "main.mjs");
  mkdirSync(own("@other"));
  writeFileSync(other, "");
  writeFileSync(join(house.folder, "state", "mine.txt"), "mine");
  expect(await said(client, "kept__look", { path: at })).toMatch(/^\d+ characters$/);
  expect(await said(client, "kept__look", { path: join(house.folder, "state", "mine.txt") })).toBe("4 characters");
  expect(await said(client, "kept__look", { path: other })).toBe("EACCES");
  expect(await said(client, "kept__look", { path: `${own("@1.2.0")}.json` })).toBe("EACCES");
  for (const path of [at, join(own("@1.2.0"), "more.js"), other])
    expect(await said(client, "kept__look", { path, to: "//" })).toMatch(/^E(?:ACCES|ROFS)$/);
});

it("says which data a package kept beside its program until it was moved under the policy", async () => {
  house.write('version: "1.0"\n');
  const copy = join(house.folder, "npm-cache/_npx/0123456789abcdef/node_modules", NAME);
  mkdirSync(copy, { recursive: true });
  writeFileSync(join(copy, "package.json"), JSON.stringify({ name: NAME, version: "1.0.0" }));
  writeFileSync(join(copy, "main.mjs"), "");
  writeFileSync(join(copy, "memory.jsonl"), "{}");
  const cursor = join(house.folder, ".cursor/mcp.json");
  mkdirSync(join(house.folder, ".cursor"));
  const install = async (spec: string): Promise<string> => {
    writeFileSync(cursor, JSON.stringify({ mcpServers: { memories: { command: "npx", args: ["-y", spec] } } }));
    const { stderr } = await house.run(["install", "cursor", "--move", "--yes"]);
    expect((await house.run(["uninstall", "cursor"])).code).toBe(0);
    house.write('version: "1.0"\n');
    return stderr;
  };
  const told = `memories has kept data in its own package until now: ${join(copy, "memory.jsonl")}. `;
  expect(await install(`${NAME}@1.0.0`)).toContain(told);
  expect(await install(`${NAME}@1.1.0`)).not.toContain("has kept data");
});

it("leaves neither npm nor a half folder behind when a fetch is interrupted, and removes what a killed process left", async () => {
  entry(`${SLOW}@1.0.0`);
  const packages = join(house.folder, "state/mcp-secure-local/packages");
  const left = join(packages, `${"0".repeat(32)}.0123456789ab`);
  mkdirSync(left);
  utimesSync(left, 1, 1);
  const begun = new Promise<void>((resolve) => (slowAsked = resolve));
  const child = start(["servers", "review"], {
    home: house.folder,
    env: { ...house.env, MCP_SECURE_LOCAL_POLICY: house.policy },
  });
  const ended = once(child, "close");
  await begun;
  expect(readdirSync(packages).filter((name) => /\.[0-9a-f]{12}$/.test(name))).toHaveLength(1);
  const npm = childrenOf(child.pid as number);
  expect(npm).not.toEqual([]);
  child.kill("SIGINT");
  await ended;
  expect(readdirSync(packages).filter((name) => /\.[0-9a-f]{12}$/.test(name))).toEqual([]);
  await expect.poll(() => npm.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}
