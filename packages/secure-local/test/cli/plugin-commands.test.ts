// A new plugin in the terminal: written, listed, its tools shown and called as a client would call them.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

it.skipIf(process.platform === "win32")("is written, found by tools, called by call, and on record", async () => {
  const home = temporaryFolder();
  const [policy, audit] = [join(home, "policy.yaml"), join(home, "audit.log")];
  const own = ["--policy", policy, "--audit", audit];
  // Beside each other in a folder that was never seen; without a wall, which not every machine has.
  const text = `version: "1.0"\nsandbox: none\ntools: { allowed: ["hello_*", calculate] }\nplugins: { folder: ${home}, load: [{ name: hello }] }\n`;
  writeFileSync(policy, text, { mode: 0o600 });
  expect(await runQuickly(["plugins", "new", join(home, "hello"), "sh"], { home })).toMatchObject({ code: 2 });
  const made = await run(["plugins", "new", "hello", "sh"], { home, cwd: home });
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("hello_*") as string });
  expect((await runQuickly(["tools", ...own], { home })).stdout).toMatch(/^hello_greet +Greets/m);
  expect(await runQuickly(["call", "hello_greet", "who=Ada", ...own], { home })).toMatchObject({
    code: 0,
    stdout: "Hello, Ada!\n",
  });
  const records = (await run(["audit", "query", "tool=hello_greet", "--json", ...own], { home })).stdout
    .trim()
    .split("\n");
  expect(records.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(["call.intent", "call.result"]);
});

it("runs modules without a wall too, the package they import made up where it is not installed", async () => {
  const home = temporaryFolder();
  const policy = join(home, "policy.yaml");
  const text = `version: "1.0"\nsandbox: none\ntools: { allowed: ["says_*"] }\nplugins: { folder: ${home}, load: [{ name: says }] }\n`;
  writeFileSync(policy, text, { mode: 0o600 });
  mkdirSync(join(home, "says"));
  const module = `import { definePlugin } from "mcp-secure-local/plugin";
const tools = { it: { description: "Says it", run: ({ text }: { text: string }) => \`it is \${text}\` } };
export default definePlugin({ name: "says", version: "1", tools });
`;
  writeFileSync(join(home, "says", "plugin.ts"), module);
  const ran = await run(["call", "says_it", "text=good", "--policy", policy], { home });
  expect(ran).toMatchObject({ code: 0, stdout: "it is good\n" });
});

it("says what cannot be hashed in one line", async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, "odd"));
  symlinkSync("../elsewhere", join(home, "odd", "out"));
  const hashed = await runQuickly(["plugins", "hash", join(home, "odd")], { home });
  expect(hashed.code).toBe(1);
  expect(hashed.stderr).toMatch(/^[^\n]*the link out leads out of the plugin, to \.\.\/elsewhere\.[^\n]*\n$/);
});

it("list says where a plugin keeps data, and whose the folder of its name is", async () => {
  const home = temporaryFolder();
  const policy = join(home, "policy.yaml");
  const listed = async (path: string): Promise<string> => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "plugin.mjs"), 'export default { name: "notes", version: "1.0.0", tools: {} };\n');
    const text = `version: "1.0"\nsandbox: none\nplugins: { load: [{ name: notes, path: ${path}, storage_kb: 4 }] }\n`;
    writeFileSync(policy, text, { mode: 0o600 });
    return (await runQuickly(["plugins", "list", "--policy", policy], { home })).stdout;
  };
  const first = await listed(join(home, "first"));
  const folder = /keeps data in (\S+notes)$/m.exec(first)?.[1] ?? "";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "plugin-folder"), join(home, "first"));
  const second = await listed(join(home, "second"));
  expect(second).toMatch(/keeps data in \S+notes@[0-9a-f]{32}$/m);
  expect(second).toContain(`not in ${folder}, which belongs to the plugin in ${join(home, "first")};`);
});
