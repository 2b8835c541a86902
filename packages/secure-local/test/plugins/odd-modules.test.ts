// Modules whose export or answer is not what it should be: one call fails, or one sentence says what to write.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const folder = pluginFolder();
let served: ServedPlugins | undefined;
afterEach(async () => {
  await served?.secure.stop();
  served = undefined;
});
afterAll(() => folder.remove());

it("an answer that is no JSON fails its own call, and the process goes on", async () => {
  const module = `let calls = 0;
export default { name: "odd", version: "1.0.0", tools: {
  big: { description: "Answers a BigInt", run: () => ({ structuredContent: { n: 1n } }) },
  bare: { description: "Answers a BigInt alone", run: () => 1n },
  ring: { description: "Answers itself", run: () => { const ring = {}; ring.ring = ring; return ring; } },
  count: { description: "Counts", run: () => String(++calls) },
} };\n`;
  folder.write("odd", { "plugin.mjs": module });
  const text = `version: "1.0"\nsandbox: none\ntools: { allowed: ["odd_*"] }\nplugins: { folder: ${folder.path}, load: [{ name: odd }] }\n`;
  served = await servePlugins(text, ["odd_count"]);
  expect(await served.call("odd_count")).toBe("1");
  for (const name of ["odd_big", "odd_bare", "odd_ring"])
    expect(await served.call(name)).toMatch(/^failed: The plugin failed/);
  expect(await served.call("odd_count")).toBe("2");
  expect(served.secure.pluginHealth()[0]).toMatchObject({ state: "ready", starts: 1 });
});

/** What `plugins list` says of modules, with the code as their default exports. */
async function listedOf(files: Readonly<Record<string, string>>, home = temporaryFolder()): Promise<string> {
  const load = Object.entries(files).map(([name, text]) => {
    mkdirSync(join(home, name));
    writeFileSync(join(home, name, name.startsWith("exec") ? "manifest.yaml" : "plugin.mjs"), text);
    return { name, path: join(home, name) };
  });
  const policy = join(home, "policy.yaml");
  writeFileSync(policy, JSON.stringify({ version: "1.0", sandbox: "none", plugins: { load } }), { mode: 0o600 });
  return (await runQuickly(["plugins", "list", "--policy", policy], { home })).stdout;
}

describe("plugins list", () => {
  it("says what was exported instead of an object", async () => {
    const said = await listedOf({
      fun: "export default () => ({ name: 'fun', tools: {} });",
      word: 'export default "w1";',
      none: "export default null;",
      many: "export default [];",
    });
    for (const kind of ["a function", "a string", "null", "a list"])
      expect(said).toContain(`The default export is ${kind}: export the object`);
    expect(said).not.toContain("top level");
  });

  it("shows a version as it was written, and that there is none", async () => {
    const said = await listedOf({
      exec: "name: exec\nversion: 1.10\nrun: [sh, -c, cat]\npersistent: true\ntools: []\n",
      bare: "export default { name: 'bare', tools: {} };",
    });
    expect(said).toContain("ready 1.10, 0 tools");
    expect(said).toContain("ready without a version, 0 tools");
  });

  it("says that the policy lets no tool of a plugin through", async () => {
    const tools = "{ a: { description: 'Says a', run: () => 'a' } }";
    const said = await listedOf({
      shut: `export default { name: 'shut', version: '1', tools: ${tools} };`,
      open: "export default { name: 'open', version: '1', tools: {} };",
    });
    expect(said.match(/No tool of it is offered.*/g)).toEqual([
      'No tool of it is offered: tools.allowed names none; add "shut_*" for all of them',
    ]);
  });

  it("says that nothing is locked, until it is", async () => {
    const home = temporaryFolder();
    expect(await listedOf({ one: "export default { name: 'one', version: '1', tools: {} };" }, home)).toContain(
      "Not locked; to approve what the plugins are now: mcp-secure-local plugins lock",
    );
    const policy = join(home, "policy.yaml");
    expect(await runQuickly(["plugins", "lock", "--yes", "--policy", policy], { home })).toBeDefined();
    writeFileSync(`${policy}.lock`, '{"version":2,"plugins":{}}', { mode: 0o600 });
    const { stdout } = await runQuickly(["plugins", "list", "--policy", policy], { home });
    expect(stdout).not.toContain("Not locked");
    expect(stdout).toContain("It was never approved");
    expect(stdout).not.toContain("launch was added");
  });
});

it("policy check says of a damaged lock what plugins list says", async () => {
  const home = temporaryFolder();
  await listedOf({ one: "export default { name: 'one', version: '1', tools: {} };" }, home);
  const policy = join(home, "policy.yaml");
  writeFileSync(`${policy}.lock`, "{", { mode: 0o600 });
  const { stdout, stderr, code } = await runQuickly(["policy", "check", policy], { home });
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain("is damaged");
  expect(stdout + stderr).not.toContain("unexpected");
});
