// A name or URI belongs to one owner: no plugin answers for the server or for another plugin, whatever the spelling.
import { connectInMemory } from "@secure-local/mcp/testing";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { readDescription } from "../../src/plugins/plugin-description.js";
import { catalogueOf } from "../../src/server/catalogue.js";
import { nameConflicts, SERVER_SCHEMES } from "../../src/server/plugin-names.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { lazyFileSystem } from "../../src/server/lazy-parts.js";

const BUILT_IN = { tools: ["read_file", "web_search", "calculate"], prompts: ["code_review"] };

interface Said {
  readonly tools?: readonly string[];
  readonly prompts?: readonly string[];
  readonly resources?: readonly string[];
}

/** What may not be offered, as `plugin: item`. */
function withheld(plugins: Readonly<Record<string, Said>>): string[] {
  const named = Object.entries(plugins).map(([name, { tools = [], prompts = [], resources = [] }]) => ({
    name,
    description: readDescription({
      name,
      tools: tools.map((each) => ({ name: each })),
      prompts: prompts.map((each) => ({ name: each })),
      resources: resources.map((uri) => ({ uri })),
    }),
  }));
  return [...nameConflicts(named, BUILT_IN)].flatMap(([plugin, items]) =>
    [...items.keys()].map((key) => `${plugin}: ${key}`),
  );
}

describe("of plugins", () => {
  it.each<readonly [string, Readonly<Record<string, Said>>]>([
    [
      "their own",
      { weather: { tools: ["now", "weather_now"], prompts: ["pack"], resources: ["weather://a", "sky:b"] } },
    ],
    ["names that begin alike", { note: { tools: ["search"] }, notes: { tools: ["find"] } }],
    ["the same tool of two", { a: { tools: ["go"] }, b: { tools: ["go"] } }],
    ["a tool and a prompt of one name", { a: { tools: ["go"], prompts: ["go"] } }],
    ["two letters of one case", { a: { resources: ["a://x", "a://X"] } }],
  ])("%s are offered", (_what, plugins) => expect(withheld(plugins)).toEqual([]));

  it.each<readonly [string, Readonly<Record<string, Said>>, readonly string[]]>([
    ["the server's tool", { read: { tools: ["file"] } }, ["read: tool read_file"]],
    ["what looks like the server's tool", { read: { tools: ["fi1e"] } }, ["read: tool read_fi1e"]],
    ["the server's tool in capitals", { Read: { tools: ["FILE"] } }, ["Read: tool Read_FILE"]],
    ["the server's prompt", { code: { prompts: ["review"] } }, ["code: prompt code_review"]],
    [
      "one name of two",
      { git: { tools: ["hub_search"] }, git_hub: { tools: ["search"] } },
      ["git: tool git_hub_search", "git_hub: tool git_hub_search"],
    ],
    ["the beginning of another", { git: { tools: ["hub_x", "log"] }, git_hub: {} }, ["git: tool git_hub_x"]],
    ["the beginning of another, otherwise", { git: { tools: ["Hub-x"] }, git_hub: {} }, ["git: tool git_Hub-x"]],
    [
      "two plugins of one spelling",
      { Git: { tools: ["a"] }, git: { tools: ["b"] } },
      ["Git: tool Git_a", "git: tool git_b"],
    ],
    ["one name twice", { a: { tools: ["go", "go"] } }, ["a: tool a_go"]],
    ["one URI twice", { a: { resources: ["a:x", "a:x"] } }, ["a: resource a:x"]],
    ["another's scheme", { a: { resources: ["b-c://x"] }, b_c: {} }, ["a: resource b-c://x"]],
    [
      "one scheme of two",
      { a: { resources: ["x:1"] }, b: { resources: ["x:2"] } },
      ["a: resource x:1", "b: resource x:2"],
    ],
    [
      "one URI of two, encoded",
      { a: { resources: ["a:x"] }, b: { resources: ["a:%78"] } },
      ["a: resource a:x", "b: resource a:%78"],
    ],
    ["git", { git: { resources: ["git:///P?path=README.md"] } }, ["git: resource git:///P?path=README.md"]],
    ["db", { db: { resources: ["db://sales/schema/users"] } }, ["db: resource db://sales/schema/users"]],
    ["server", { server: { resources: ["server://info"] } }, ["server: resource server://info"]],
  ])("%s is not offered", (_what, plugins, items) => expect(withheld(plugins)).toEqual(items));

  it.each(["GIT:///x", "git%3A///x", "{+scheme}:///x", "x:{+path}", "x:a b", "x:%zz", "file:///x", "x:\u0430"])(
    "%s is no URI",
    (uri) => expect(() => withheld({ a: { resources: [uri] } })).toThrow(/is no URI/),
  );
});

it("the schemes of all of the server's resources are the server's", async () => {
  const text = `version: "1.0"\nfilesystem: { readable_paths: ["/tmp/**"] }\ndatabases: { a: { file: /tmp/a.db } }\n`;
  const policy = await parsePolicy(text, { file: "policy.yaml", environment: {} });
  const files = lazyFileSystem(() => policy, []);
  const { resources, templates } = catalogueOf(policy, { identity: { name: "x", version: "1" }, tools: [], files });
  const schemes = [...resources.keys(), ...templates.keys()].map((uri) => uri.slice(0, uri.indexOf(":")));
  expect(schemes.length).toBeGreaterThan(2);
  for (const scheme of schemes) expect(SERVER_SCHEMES).toContain(scheme);
});

const folder = mkdtempSync(join(tmpdir(), "plugin-names-"));
const open: SecureServer[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((secure) => secure.stop()))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("what is withheld for its name is on record, told to the operator, and refused when it is called", async () => {
  const write = (name: string, said: object): void => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "manifest.yaml"), JSON.stringify({ name, run: ["sh"], ...said }));
  };
  write("git", { tools: [{ name: "hub_search" }, { name: "log" }], resources: [{ uri: "git:///P?path=README.md" }] });
  write("git_hub", { tools: [{ name: "search" }] });
  const text = `version: "1.0"\ntools: { allowed: ["*"] }\nresources: { allowed: ["git://*"] }\nsandbox: none\nplugins: { folder: ${folder}, load: [{ name: git }, { name: git_hub }] }\n`;
  const policy = await parsePolicy(text, { file: join(folder, "policy.yaml"), environment: {} });
  const [audit, said] = [new MemoryAudit(), [] as string[]];
  const secure = new SecureServer({ policy, audit, version: "1", say: (line) => said.push(line) });
  open.push(secure);
  secure.start();
  await vi.waitFor(() => expect(secure.pluginReviews()).toHaveLength(2), { timeout: 10_000, interval: 5 });
  await vi.waitFor(() => expect(secure.tools().map(({ name }) => name)).toContain("git_log"));
  expect(secure.tools().map(({ name }) => name)).not.toContain("git_hub_search");
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const answer = await peer.request("tools/call", { name: "git_hub_search", arguments: {} });
  expect(JSON.stringify(answer)).toMatch(/withheld: the plugin git(?:_hub)? offers that name as well/);
  const records = audit.records().filter(({ kind }) => kind === "plugins.quarantined");
  expect(records.map(({ tool }) => tool)).toEqual(expect.arrayContaining(["git", "git_hub"]));
  expect(said.join("\n")).toMatch(/plugin git_hub: tool git_hub_search is withheld: the plugin git offers that name/);
});
