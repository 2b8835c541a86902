// What a consent is bound to beside the call: the program of others that would do it, as it is now.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { executors } from "../../src/server/executors.js";

const folder = mkdtempSync(join(tmpdir(), "executors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = join(folder, "program");
const policy = () =>
  parsePolicy(JSON.stringify({ version: "1.0", commands: { allowed: [{ name: "run", executable: program }] } }), {
    file: "policy.yaml",
  });
const locked = (hash: string) => ({ approved: new Map([["tool x", hash]]) }) as never;

it("is nothing for what is ours alone", async () => {
  const of = executors({ pluginOf: () => undefined, contentOf: () => undefined, serverOf: () => undefined });
  expect(of(await policy(), { tool: "read_file", arguments: {} })).toBeUndefined();
});

it("is another one when a plugin's content, a server's approval, or a command's program is", async () => {
  const [content, approval] = [{ now: "a" }, { now: locked("1") }];
  const of = executors({
    pluginOf: (_, name) => (name === "ours_x" ? "ours" : undefined),
    contentOf: () => content.now,
    serverOf: (_, name) => (name === "s__x" ? { grant: { name: "s" }, locked: approval.now } : undefined),
  });
  writeFileSync(program, "one");
  const under = await policy();
  const all = () => ["ours_x", "s__x", "run_command"].map((tool) => of(under, { tool, arguments: { command: "run" } }));
  const before = all();
  expect(all()).toEqual(before);
  content.now = "b";
  approval.now = locked("2");
  writeFileSync(program, "another");
  for (const [index, each] of all().entries()) expect(each).not.toBe(before[index]);
});

it("of a plugin that is not known is never the same twice", async () => {
  const of = executors({ pluginOf: () => "ours", contentOf: () => undefined, serverOf: () => undefined });
  const under = await policy();
  expect(of(under, { tool: "x" } as never)).not.toBe(of(under, { tool: "x" } as never));
});
