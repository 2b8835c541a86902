// Plugins of every kind behind the wall, as a client of the server meets them.
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { noAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { hashPlugin } from "../../src/plugins/plugin-content.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { MODULE, pluginFolder, PYTHON, PYTHON_MANIFEST, SHELL, SHELL_MANIFEST } from "./plugin-folder.js";
import { hasWall } from "./walls.js";

const folder = pluginFolder();
const words = folder.write("words", { "plugin.mjs": MODULE, "data.txt": "its own file" });
folder.write("counter", { "manifest.yaml": PYTHON_MANIFEST, "main.py": PYTHON });
folder.write("shout", { "manifest.yaml": SHELL_MANIFEST, "main.sh": SHELL });
folder.write("flood", {
  "manifest.yaml": "name: flood\nversion: '1'\nrun: [sh, main.sh]\npersistent: true\ntools: { flood: {} }\n",
  "main.sh": "read -r line; yes | tr -d '\\n'\n",
});
const secret = join(folder.path, "secret.txt");
writeFileSync(secret, "not for plugins");
const open: SecureServer[] = [];

interface Served {
  readonly secure: SecureServer;
  readonly peer: MemoryPeer;
  call(name: string, args?: object): Promise<string>;
}

/** Serves plugins by the text of plugins.load, and waits until these tools are listed. */
async function served(load: string, tools: readonly string[]): Promise<Served> {
  const text = `
version: "1.0"
tools: { allowed: ["words_*", "counter_*", "shout_*", "flood_*"], rate_limits: { default: 1000 } }
resources: { allowed: ["words://*"] }
prompts: { allowed: ["words_*"] }
output: { mark_untrusted: false }
plugins:
  folder: ${folder.path}
  load: ${load}
`;
  const policy = await parsePolicy(text, { file: "policy.yaml", environment: {} });
  const secure = new SecureServer({ policy, audit: noAudit, version: "1" });
  open.push(secure);
  secure.start();
  const listed = (): string[] => secure.tools().map(({ name }) => name);
  await vi.waitFor(() => expect(listed()).toEqual(expect.arrayContaining([...tools])), {
    timeout: 15_000,
    interval: 10,
  });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = async (name: string, args: object = {}): Promise<string> => {
    const answer = (await peer.request("tools/call", { name, arguments: args })) as {
      readonly content: readonly { readonly text: string }[];
      readonly isError?: boolean;
    };
    return `${answer.isError === true ? "failed: " : ""}${answer.content.map(({ text }) => text).join("")}`;
  };
  return { secure, peer, call };
}

afterAll(async () => {
  await Promise.all(open.splice(0).map((secure) => secure.stop()));
  folder.remove();
});

describe.skipIf(!hasWall())("plugins", () => {
  let secure: SecureServer;
  let peer: MemoryPeer;
  let call: Served["call"];

  beforeAll(async () => {
    const tools = ["words_shout", "counter_next", "shout_shout", "flood_flood"];
    ({ secure, peer, call } = await served(
      "[{ name: words }, { name: counter }, { name: shout }, { name: flood }]",
      tools,
    ));
  });
  const healthOf = (name: string): string | undefined =>
    secure.pluginHealth().find((plugin) => plugin.name === name)?.state;
  /** What the counter answers to the next call. */
  const nextCount = async (): Promise<string> => String(Number(await call("counter_next", { step: 0 })) + 1);

  test("in JavaScript, Python and shell answer calls", async () => {
    expect(await call("words_shout", { text: "quiet" })).toBe("QUIET");
    expect(await Promise.all([1, 2, 3].map(() => call("counter_next", { step: 2 })))).toEqual(["2", "4", "6"]);
    expect(await call("shout_shout")).toMatch(/^[1-9] processes$/);
    expect(await peer.request("resources/read", { uri: "words://list" })).toMatchObject({
      contents: [{ text: "alpha\nbeta" }],
    });
    const prompt = { name: "words_greet", arguments: { who: "Ada" } };
    expect(await peer.request("prompts/get", prompt)).toMatchObject({ messages: [{ content: { text: "Greet Ada" } }] });
    expect(await call("words_steps")).toBe("done");
  });

  test("see their own folder, and nothing else of this machine", async () => {
    expect(await call("words_read", { path: join(words, "data.txt") })).toBe("its own file");
    for (const path of [secret, "/etc/shadow", `/proc/1/root${secret}`]) {
      expect(await call("words_read", { path })).toMatch(/^failed: The plugin failed/);
    }
  });

  test("cannot answer for each other, nor for a call that is not theirs", async () => {
    const next = await nextCount();
    const answers = await Promise.all([call("words_noise"), call("counter_forge"), call("counter_next")]);
    expect(answers).toEqual(["said", "mine", next]);
  });

  test("that end are told apart from those that fail, and come back", async () => {
    expect(await call("words_crash")).toBe("failed: The plugin ended before it answered.");
    expect(await call("words_shout", { text: "x" })).toMatch(/^failed: The plugin words is (?:waiting|starting): /);
    await vi.waitFor(async () => expect(await call("words_shout", { text: "x" })).toBe("X"), {
      timeout: 10_000,
      interval: 50,
    });
  });

  test("that write without end are ended, and others do not notice", async () => {
    await vi.waitFor(() => expect(healthOf("flood")).toBe("ready"), { timeout: 10_000, interval: 20 });
    const next = await nextCount();
    const answers = await Promise.all([call("flood_flood"), call("counter_next")]);
    expect(answers).toEqual([
      "failed: The plugin was ended: an answer of it was longer than 4 MiB, the most one may have. Ask for less at once.",
      next,
    ]);
  });

  test("change their tools when their files change", async () => {
    const other = folder.write("counter", { "manifest.yaml": PYTHON_MANIFEST, "main.py": PYTHON });
    writeFileSync(join(other, "manifest.yaml"), PYTHON_MANIFEST.replace("name: next", "name: after"));
    const names = (): string[] => secure.tools().map(({ name }) => name);
    await vi.waitFor(() => expect(names()).toContain("counter_after"), { timeout: 10_000, interval: 20 });
    expect(names()).not.toContain("counter_next");
    folder.write("counter", { "manifest.yaml": PYTHON_MANIFEST });
  });

  test("are not started with other content than the policy pins, under another name, or with needs not granted", async () => {
    const greedy = folder.write("greedy", {
      "plugin.mjs":
        'export default { name: "greedy", version: "1", needs: { network: ["api.test", "127.0.0.1:28098"], filesystem: ["read:/srv/places"], secrets: ["key"] }, tools: {} };',
    });
    const hash = hashPlugin(words);
    const load = `[{ name: words, sha256: ${hash} }, { name: counter, sha256: ${"ab".repeat(32)} }, { name: greedy }, { name: missing }, { name: alias, path: ${greedy} }]`;
    const pinned = await served(load, ["words_shout"]);
    const notes = (): Record<string, string> =>
      Object.fromEntries(pinned.secure.pluginHealth().map(({ name, state, note }) => [name, `${state}: ${note}`]));
    await vi.waitFor(() => expect(Object.values(notes()).filter((note) => note.startsWith("starting"))).toEqual([]), {
      timeout: 15_000,
      interval: 20,
    });
    expect(notes()["words"]).toMatch(/^ready/);
    expect(notes()["counter"]).toMatch(/^refused: Its content is not the one the policy knows/);
    const greed = notes()["greedy"];
    expect(greed).toMatch(/^refused: It needs the host api\.test port 443 .* it is written "api\.test:8080"\)/);
    for (const grant of [
      'add { host: "api.test", ports: [443] } to network.allowed_endpoints of greedy in plugins.load',
      'the host 127.0.0.1:28098: add { host: "127.0.0.1", ports: [28098] } to network.allowed_endpoints of greedy',
      "to read /srv/places: add it to filesystem of greedy",
      "the secret key: add it to secrets of greedy",
    ])
      expect(greed).toContain(grant);
    expect(notes()["missing"]).toMatch(/^refused: There is nothing at/);
    expect(notes()["alias"]).toMatch(/^refused: It calls itself greedy/);
  });
});
