// What plugins ask their host for: commands under their own grant, and values that are there at the next start.
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { SecretBroker } from "../../src/capabilities/secret-broker.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { PluginGrant } from "../../src/policy/policy.js";
import { type CallReference, PluginPowers, readFetchAsk } from "../../src/plugins/plugin-powers.js";
import { PluginRequests, PluginProcess } from "../../src/plugins/plugin-process.js";
import { PluginError } from "../../src/plugins/plugin-description.js";
import { noWall } from "../../src/sandbox/find-wall.js";
import { startWalled } from "../../src/sandbox/start-walled.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall, LIMITS } from "../sandbox/walls.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const MODULE = `
import { definePlugin } from "mcp-secure-local/plugin";
const told = (work) => work.then((value) => JSON.stringify(value) ?? "undefined", (error) => "refused: " + error.message);
export default definePlugin({
  name: "mod", version: "1",
  tools: {
    run: { description: "Runs", run: ({ command, args }, { run }) => told(run(command, args)) },
    keep: { description: "Keeps", run: ({ how, key, value }, { storage }) => told(storage[how](key, value)) },
    both: { description: "Two at once", run: async (_args, { storage, run }) => {
      await Promise.all([storage.set("a", 1), storage.set("b", 2), run("count", []).catch(() => 0)]);
      return (await storage.keys()).join(); } },
  },
});
`;
const PYTHON = `
import json, sys
def ask(what, call):
    print(json.dumps({"ask": 1, "for": call["id"], **what}), flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        if told.get("answered") == 1:
            return told
for line in sys.stdin:
    call = json.loads(line)
    if "tool" in call:
        told = ask(call["arguments"], call)
        print(json.dumps({"id": call["id"], "content": json.dumps(told.get("value", told.get("error")))}), flush=True)
`;
const MANIFEST =
  'name: py\nversion: "1"\nrun: [python3, main.py]\npersistent: true\ntools: { ask: { description: Asks } }\n';

const folder = pluginFolder();
folder.write("mod", { "plugin.mjs": MODULE });
folder.write("py", { "manifest.yaml": MANIFEST, "main.py": PYTHON });
const place = mkdtempSync(join(homedir(), ".plugin-powers-"));
const storage = join(place, "storage");
const [mine, others] = [join(place, "mine.txt"), join(place, "others.txt")];
writeFileSync(mine, "one two three\n");
writeFileSync(others, "not for plugins\n");
let served: ServedPlugins | undefined;

/** By what each plugin is granted; waits for `tools`. */
async function serve(grants: Readonly<Record<string, string>>, tools: readonly string[]): Promise<ServedPlugins> {
  const load = Object.entries(grants).map(([name, grant]) => `{ name: ${name}${grant === "" ? "" : `, ${grant}`} }`);
  const text = `
version: "1.0"
tools: { allowed: ["mod_*", "py_*"], rate_limits: { default: 1000 } }
output: { mark_untrusted: false }
filesystem: { readable_paths: ["${place}/**"] }
commands: { allowed: [
  { name: count, executable: /usr/bin/wc, arguments: [{ path: read }], flags: [-w] },
  { name: environment, executable: /usr/bin/env } ] }
plugins: { folder: ${folder.path}, load: [${load.join(", ")}] }
`;
  served = await servePlugins(text, tools, { storage, own: [storage] });
  return served;
}

afterEach(async () => {
  await served?.secure.stop();
  served = undefined;
});
afterAll(() => {
  folder.remove();
  rmSync(place, { recursive: true });
});

describe.skipIf(!hasWall())("a command", () => {
  const grant = `commands: [count], filesystem: { readable_paths: ["${mine}"] }`;
  let all: ServedPlugins;

  beforeAll(async () => {
    all = await serve({ mod: grant, py: grant }, ["mod_run", "py_ask"]);
    served = undefined;
  });
  afterAll(() => all.secure.stop());

  test("is run for a plugin it was granted to, on the files of its grant", async () => {
    const { call, audit } = all;
    const result = JSON.parse(await call("mod_run", { command: "count", args: ["-w", mine] })) as object;
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, stdout: `3 ${mine}\n` });
    const records = audit.records().filter(({ kind }) => kind === "plugin.runs");
    expect(records).toMatchObject([
      { tool: "mod", arguments: { command: "count", args: ["-w", mine] }, decision: { allowed: true, line: 7 } },
    ]);
  });

  test("is run for a program in another language, too", async () => {
    expect(await all.call("py_ask", { run: { command: "count", args: [mine] } })).toContain("3");
  });

  test.each([
    ["a command of others", "environment", []],
    ["a command nobody has", "sh", ["-c", "id"]],
    ["a file of others", "count", [others]],
    ["a flag that is not allowed", "count", ["--files0-from=/etc/passwd"]],
  ])("%s is refused and recorded", async (_what, command, args) => {
    const before = all.audit.lines.length;
    expect(await all.call("mod_run", { command, args })).toMatch(/^refused: /);
    const recorded = all.audit.lines.slice(before);
    expect(recorded.filter((line) => line.includes(`"endpoint":"command ${command}"`))).toHaveLength(1);
  });
});

describe.skipIf(!hasWall())("storage", () => {
  test("keeps values from one start to the next, in files of the user alone, and is no other plugin's", async () => {
    const first = await serve({ mod: "storage_kb: 4" }, ["mod_keep"]);
    expect(await first.call("mod_keep", { how: "set", key: "a/../b", value: { n: [1, "ä"] } })).toBe("undefined");
    await first.secure.stop();
    const { call } = await serve({ mod: "storage_kb: 4", py: "storage_kb: 4" }, ["mod_keep", "py_ask"]);
    expect(await call("mod_keep", { how: "get", key: "a/../b" })).toBe('{"n":[1,"ä"]}');
    expect(await call("mod_keep", { how: "keys" })).toBe('["a/../b"]');
    const [file = ""] = readdirSync(join(storage, "mod"));
    expect((statSync(join(storage, "mod", file)).mode & 0o777).toString(8)).toBe("600");
    expect((statSync(join(storage, "mod")).mode & 0o777).toString(8)).toBe("700");
    expect(await call("mod_keep", { how: "delete", key: "a/../b" })).toBe("true");
    expect(await call("mod_keep", { how: "delete", key: "a/../b" })).toBe("false");
    expect(await call("mod_keep", { how: "get", key: "a/../b" })).toBe("undefined");
    await call("mod_keep", { how: "set", key: "mine", value: 1 });
    expect(await call("py_ask", { storage: { keys: true } })).toBe("[]");
  });

  test("is not there without a grant, and has an end, which is told", async () => {
    const { call } = await serve({ mod: "storage_kb: 1", py: "" }, ["mod_keep", "py_ask"]);
    expect(await call("py_ask", { storage: { keys: true } })).toMatch(/granted no storage: add storage_kb to py/);
    expect(await call("mod_keep", { how: "set", key: "big", value: "x".repeat(2_000) })).toMatch(
      /2002 bytes do not fit/,
    );
    expect(await call("mod_keep", { how: "set", key: "k".repeat(121), value: 1 })).toMatch(/1 to 120 bytes/);
    expect(await call("mod_both")).toBe("a,b,mine");
  });
});

describe("asks", () => {
  test("of one process are sixteen at a time; what is not there and what fails is told without its text", async () => {
    const sent: object[] = [];
    const ended: AbortSignal[] = [];
    const answer = (asked: object, { signal }: CallReference): Promise<unknown> => {
      ended.push(signal);
      if ("fail" in asked) throw new Error("secret text");
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    };
    const outside: object[] = [];
    const told = (asked: object, isTooMuch: boolean): number => outside.push({ ...asked, isTooMuch });
    const asks = new PluginRequests({ answer, send: (message) => sent.push(message), outside: told });
    const [call, other] = [new AbortController(), new AbortController()];
    const leave = (): Promise<object> => Promise.resolve({});
    asks.take({ ask: 0, fail: true }, { signal: other.signal, leave });
    await vi.waitFor(() => expect(sent).toEqual([{ answered: 0, error: "The host failed to do it." }]));
    for (let id = 1; id <= 16; id += 1)
      asks.take({ ask: id }, { signal: (id === 1 ? call : new AbortController()).signal, leave });
    for (const odd of [null, {}, [], undefined]) asks.take({ ask: odd }, { signal: other.signal, leave });
    asks.take({ ask: 17 }, { signal: other.signal, leave });
    await vi.waitFor(() => expect(sent).toHaveLength(2));
    expect(sent[1]).toMatchObject({ answered: 17, error: expect.stringMatching(/^16 asks are under way/) as string });
    call.abort(new Error("cancelled"));
    await vi.waitFor(() => expect(sent[2]).toMatchObject({ answered: 1 }));
    asks.close();
    await vi.waitFor(() => expect(sent).toHaveLength(18));
    expect(ended.slice(1).every(({ aborted }) => aborted)).toBe(true);
    for (let id = 1; id <= 1_002; id += 1) asks.take({ ask: id, run: {} }, undefined);
    await vi.waitFor(() => expect(sent).toHaveLength(18 + 1_002));
    expect(sent.at(-1)).toMatchObject({
      error: expect.stringMatching(/^Refused: a plugin acts within a call/) as string,
    });
    expect(outside).toHaveLength(16 + 2);
    expect(outside.at(-1)).toEqual({ run: {}, isTooMuch: true });
  });

  test.each([
    [{ fetch: "https://a.test" }],
    [{ fetch: { url: "https://a.test", method: "CONNECT" } }],
    [{ fetch: { url: "https://a.test", headers: { "x y": "z" } } }],
    [{ fetch: { url: "https://a.test", headers: { x: "a\r\nb: c" } } }],
    [{ fetch: { url: "https://a.test", body: {} } }],
  ])("for %j are refused", ({ fetch }) => {
    expect(() => readFetchAsk(fetch)).toThrow(PluginError);
  });

  test("for a command that cannot be recorded run nothing", async () => {
    const text =
      'version: "1.0"\ncommands: { allowed: [{ name: count, executable: /usr/bin/wc }] }\nplugins: { load: [{ name: mod, path: /x, commands: [count] }] }\n';
    const policy = await parsePolicy(text, { file: "policy.yaml", environment: {} });
    const grant = [...policy.plugins.load.values()][0] as PluginGrant;
    const powers = new PluginPowers({
      granted: grantedPolicy(policy, grant),
      grant,
      own: [],
      storage: undefined,
      secrets: new SecretBroker([], { learn: () => [] }),
      refused: () => undefined,
      records: () => Promise.reject(new Error("disk full")),
    });
    const asked = powers.answer(
      { run: { command: "count", args: [] } },
      {
        signal: new AbortController().signal,
        leave: () => Promise.resolve({}),
      },
    );
    await expect(asked).rejects.toThrow(/^The audit log is unavailable, so nothing is run/);
  });

  test("cannot set what the host writes itself", () => {
    const headers = {
      Host: "evil.test",
      "Transfer-Encoding": "chunked",
      Connection: "x",
      "Content-Length": "1",
      Accept: "a",
    };
    expect(readFetchAsk({ url: "https://a.test", headers }).headers).toEqual({ accept: "a" });
  });
});

test("a plugin that asks and never reads is ended before its answers fill the memory", async () => {
  const asks = Array.from({ length: 16 }, (_, ask) => `${JSON.stringify({ ask, for: 1 })}\n`).join("");
  const script = `process.stdin.once("data", () => { process.stdin.pause(); process.stdout.write(${JSON.stringify(asks)}); }); setInterval(() => {}, 1000);`;
  const command = { executable: process.execPath, args: ["-e", script], limits: LIMITS };
  const child = startWalled(noWall, command, ["pipe", "pipe", "pipe"]);
  const page = "x".repeat(4 * 1024 * 1024);
  const asking = new PluginProcess(noWall, child, {
    ready: () => undefined,
    asked: () => Promise.resolve(page),
    ended: () => undefined,
  });
  const call = asking.call({ tool: "x" }).catch(String);
  await once(child, "close");
  expect(await call).toMatch(/ended before it answered/);
  expect(asking.stray).toBe(0);
  expect(child.signalCode).toBe("SIGKILL");
});

describe.skipIf(!hasWall())("a need", () => {
  test.each([
    ["commands: [count]", "the command count: add it to commands of needy"],
    ["storage: true", "storage: add storage_kb to needy"],
  ])("of %s that is not granted is told", async (needs, note) => {
    const body = "run: [python3, main.py]\npersistent: true\ntools: { ask: { description: Asks } }\n";
    folder.write("needy", {
      "manifest.yaml": `name: needy\nversion: "1"\nneeds: { ${needs} }\n${body}`,
      "main.py": PYTHON,
    });
    served = await servePlugins(`version: "1.0"\nplugins: { folder: ${folder.path}, load: [{ name: needy }] }\n`, []);
    await vi.waitFor(() => expect(served?.secure.pluginHealth()[0]?.state).toBe("refused"), { timeout: 15_000 });
    expect(served.secure.pluginHealth()[0]?.note).toContain(note);
  });
});
