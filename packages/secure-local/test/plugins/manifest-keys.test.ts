// What a person who writes a plugin gets wrong in its manifest and its answers, and is told.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readPluginAnswer } from "../../src/plugins/plugin-description.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { runQuickly } from "../cli/command-in-thread.js";

interface Written {
  /** Of the manifest, beside name and program. */
  readonly manifest: object;
  /** Of its entry in the policy. */
  readonly grant?: object;
}

/** State and note of each plugin, as `plugins list` has them; nothing of them is run. */
async function listed(plugins: Readonly<Record<string, Written>>): Promise<Record<string, string>> {
  const home = temporaryFolder();
  const load = Object.entries(plugins).map(([name, { manifest, grant }]) => {
    const path = join(home, name);
    mkdirSync(path);
    writeFileSync(join(path, "main.sh"), "#!/bin/sh\n");
    chmodSync(join(path, "main.sh"), 0o755);
    writeFileSync(join(path, "manifest.yaml"), JSON.stringify({ name, run: ["./main.sh"], ...manifest }));
    return { name, path, ...grant };
  });
  const policy = join(home, "policy.yaml");
  const network = { allowed_endpoints: [{ host: "127.0.0.1", ports: [3955] }] };
  const filesystem = { readable_paths: ["~/places/**"] };
  const text = { version: "1.0", sandbox: "none", network, filesystem, plugins: { load } };
  writeFileSync(policy, JSON.stringify(text), { mode: 0o600 });
  const { stdout } = await runQuickly(["plugins", "list", "--json", "--policy", policy], { home });
  const found = JSON.parse(stdout) as { name: string; state: string; note: string }[];
  return Object.fromEntries(found.map(({ name, state, note }) => [name, `${state}: ${note}`]));
}

describe("a manifest", () => {
  const tool = { description: "Says it", input: { type: "object" } };
  const wrong: Readonly<Record<string, readonly [manifest: object, says: string]>> = {
    top: [{ tool: { say: tool } }, 'there is no key "tool"; did you mean "tools"?'],
    needs: [{ needs2: { network: [] } }, 'there is no key "needs2"; did you mean "needs"?'],
    inner: [{ needs: { netwrk: [] } }, 'there is no key "netwrk" in needs; did you mean "network"?'],
    tools: [{ tools: { say: { descripton: "x" } } }, 'no key "descripton" in tools.say; did you mean "description"?'],
    list: [{ tools: [{ name: "say", inputs: {} }] }, 'no key "inputs" in tools.0; did you mean "input"?'],
    prompts: [{ prompts: { p: { arguments: { a: { requred: true } } } } }, "in prompts.p.arguments.a; did you mean"],
    far: [{ zzz: 1 }, "known keys are name, version, needs"],
  };

  it("with a key there is not is refused, with the key that was meant", async () => {
    const plugins = Object.entries(wrong).map(([name, [manifest]]) => [name, { manifest }] as const);
    const notes = await listed({ ...Object.fromEntries(plugins), right: { manifest: { tools: { say: tool } } } });
    for (const [name, [, says]] of Object.entries(wrong)) expect(notes[name], name).toContain(says);
    expect(notes["right"]).toMatch(/^ready/);
  });

  it("that needs what its grant has is ready, and one that does not is told what was compared", async () => {
    const network = { allowed_endpoints: [{ host: "127.0.0.1", ports: [3955] }] };
    const filesystem = { readable_paths: ["~/places/**"] };
    const notes = await listed({
      bare: { manifest: { needs: { network: ["127.0.0.1"] } }, grant: { network } },
      port: { manifest: { needs: { network: ["127.0.0.1:3955"] } }, grant: { network } },
      home: { manifest: { needs: { filesystem: ["~/places/**"] } }, grant: { filesystem } },
    });
    expect(notes["bare"]).toContain(
      'the host 127.0.0.1 port 443 (a need without a port means 443; of another port it is written "127.0.0.1:8080")',
    );
    expect(notes["port"]).toMatch(/^ready/);
    expect(notes["home"]).toMatch(/^ready/);
  });
});

it("a word that plugins new and list do not know is told, and what is meant is understood", async () => {
  const home = temporaryFolder();
  const plugins = (...words: string[]): ReturnType<typeof runQuickly> =>
    runQuickly(["plugins", ...words], { home, cwd: home });
  expect((await plugins("new", "pw", "py")).stdout).toContain("main.py");
  expect((await plugins("new", "2weather")).stderr).toContain("a letter first");
  expect(await plugins("list", "weather")).toMatchObject({ code: 2, stderr: expect.stringContaining("leave it out") });
});

it("a policy with several faults is one line of status", async () => {
  const home = temporaryFolder();
  const policy = join(home, "policy.yaml");
  writeFileSync(policy, 'version: "1.0"\ntols: {}\nnetwrk: {}\n', { mode: 0o600 });
  const { stdout } = await runQuickly(["status", "--policy", policy], { home });
  expect(stdout).not.toContain("\\n");
  expect(stdout.replace(/\s+/g, " ")).toMatch(/tols.*; .*netwrk/);
});

describe("an answer", () => {
  it("that is an object of which nothing would be shown is refused, with its members", () => {
    expect(() => readPluginAnswer({ answer: { temperature: 5 } })).toThrow(
      "an object with temperature, of which nothing is shown: put it into structuredContent, or return a string",
    );
    expect(readPluginAnswer({ answer: { structuredContent: { temperature: 5 } } }).structured).toEqual({
      temperature: 5,
    });
    expect(readPluginAnswer({ answer: {} }).text).toBe("");
    // The id is that of the call, and a module's own one is nothing that is shown.
    expect(() => readPluginAnswer({ id: 1, temperature: 5 })).toThrow("an object with temperature, of which nothing");
    expect(() => readPluginAnswer({ id: 1 })).toThrow("answered nothing that can be shown");
    expect(() => readPluginAnswer({ id: 1, answer: { id: 7 } })).toThrow(
      "an object with id, of which nothing is shown",
    );
    expect(readPluginAnswer({ id: 1, content: "fine" }).text).toBe("fine");
  });
});
