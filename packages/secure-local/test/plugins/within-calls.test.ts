// Plugins act within a call: what they ask for belongs to one that is under way, is judged as that call is, and ends with it.
import { mkdtempSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import type { ApprovalChannel, ApprovalQuestion, ApprovalReply } from "../../src/guard/approvals/approvals.js";
import { STATELESS, yes } from "../approvals/approving-server.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { askingPlugin } from "./asking-plugin.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const folder = pluginFolder();
const mark = mkdtempSync(join(homedir(), ".within-calls-"));
for (const name of ["asker", "other"]) folder.write(name, askingPlugin(name, mark));
writeFileSync(join(mark, "note.sh"), `#!/bin/sh\necho ran >> ${mark}/ran\n`, { mode: 0o755 });
writeFileSync(join(mark, "slow.sh"), `#!/bin/sh\necho $$ >> ${mark}/began\nexec sleep 30\n`, { mode: 0o755 });
let served: ServedPlugins | undefined;
const said: string[] = [];
const questions: ApprovalQuestion[] = [];

afterEach(async () => {
  await served?.secure.stop();
  served = undefined;
  for (const list of [said, questions]) list.length = 0;
  for (const file of ["ran", "early", "began"]) rmSync(join(mark, file), { force: true });
});
afterAll(() => {
  folder.remove();
  rmSync(mark, { recursive: true });
});

/** `sandbox: none`, since nothing here is about the wall. */
async function serve(more = "", answer?: ApprovalReply["answer"] | ApprovalChannel["ask"]): Promise<ServedPlugins> {
  const text = `
version: "1.0"
sandbox: none
tools: { allowed: ["*"], rate_limits: { default: 1000, run_command: 5 }, timeouts: { asker_wait: 1 } }
resources: { allowed: ["asker://*"] }
prompts: { allowed: ["*"] }
output: { mark_untrusted: false }
commands: { allowed: [{ name: note, executable: ${mark}/note.sh }, { name: slow, executable: ${mark}/slow.sh }] }
plugins: { folder: ${folder.path}, load: [{ name: asker, commands: [note, slow], storage_kb: 4 }, { name: other }] }
${more}`;
  const ask: ApprovalChannel["ask"] = (question, signal) => {
    questions.push(question);
    return typeof answer === "function" ? answer(question, signal) : Promise.resolve({ answer } as ApprovalReply);
  };
  served = await servePlugins(text, ["asker_ask", "other_ask"], {
    storage: join(mark, "storage"),
    say: (line) => said.push(line),
    ...(answer === undefined ? {} : { channel: { ask } }),
  });
  return served;
}
const records = (kind: string): readonly Record<string, unknown>[] =>
  (served?.audit.records() ?? []).filter((record) => record.kind === kind);
const ran = (): boolean => existsSync(join(mark, "ran"));

describe("what a plugin asks for", () => {
  test("before any call is refused, recorded and told, whatever it is", async () => {
    writeFileSync(join(mark, "early"), "");
    const { call } = await serve();
    const refusals = async (): Promise<unknown> => (await call("asker_told")).match(/a plugin acts within a call/g);
    await vi.waitFor(async () => expect(await refusals()).toHaveLength(3), { timeout: 10_000, interval: 10 });
    expect(ran()).toBe(false);
    expect(records("plugin.runs")).toEqual([]);
    expect(
      records("denied")
        .filter(({ tool }) => tool === "asker")
        .map(({ detail }) => detail),
    ).toEqual([
      { endpoint: "run outside of a call" },
      { endpoint: "fetch outside of a call" },
      { endpoint: "storage outside of a call" },
    ]);
    expect(said.join("\n")).toContain("plugin asker: it asked for run outside of a call; that is refused");
  });

  test("is done for the call it names, and is on record with that call", async () => {
    const { call } = await serve();
    expect(await call("asker_ask")).toContain('"exitCode": 0');
    expect(await call("asker_ask")).toContain('"exitCode": 0');
    const [intent, second] = records("call.intent");
    expect(records("plugin.runs")).toMatchObject([
      { tool: "asker", id: intent?.["id"], connection: intent?.["connection"], policy: intent?.["policy"] },
      { tool: "asker", id: second?.["id"] },
    ]);
  });

  test("for what is none of its calls under way is refused", async () => {
    const { call } = await serve();
    expect(await call("asker_leave")).toBe("gone");
    let denied = 0;
    for (const named of ["none", 0, -1, 1e9, "1", null, [1], {}, true, "ended"]) {
      expect(await call("asker_ask", { for: named }), JSON.stringify(named)).toMatch(/acts within a call/);
      expect(ran()).toBe(false);
      const before = denied;
      denied = records("denied").length;
      expect(denied, JSON.stringify(named)).toBeGreaterThan(before);
    }
  });

  test("after its call has ended is refused", async () => {
    const { call } = await serve();
    expect(await call("asker_leave")).toBe("gone");
    await vi.waitFor(async () => expect(await call("asker_told")).toMatch(/"late".*acts within a call/));
    expect(ran()).toBe(false);
  });

  test("is within the rate of the tool that does the same", async () => {
    const { call } = await serve();
    const answers: string[] = [];
    for (let tries = 0; tries < 6; tries += 1) answers.push(await call("asker_ask"));
    expect(answers.filter((answer) => answer.includes('"exitCode": 0'))).toHaveLength(5);
    expect(answers.at(-1)).toMatch(/Too many calls of run_command: at most 5 a minute/);
    expect(records("denied").at(-1)).toMatchObject({ decision: { allowed: false, rule: "rate limit: 5 a minute" } });
  });

  test("is within the same rate when a prompt or a resource asks for it", async () => {
    const { peer } = await serve();
    const answers: string[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      const asked = tries % 2 === 0 ? { name: "asker_ask" } : { uri: "asker://ask" };
      answers.push(JSON.stringify(await peer.request(tries % 2 === 0 ? "prompts/get" : "resources/read", asked)));
    }
    expect(answers.slice(0, 5).every((answer) => answer.includes("exitCode"))).toBe(true);
    expect(answers.at(-1)).toMatch(/Too many calls of run_command/);
  });

  test.each([
    ["[run_command]", 1],
    ['["plugin:asker"]', 1],
    ['["plugin:*"]', 1],
    ["[asker_ask]", 1],
    ["all", 2],
    ["destructive", 2],
    ["[run_command], when: { command: note }", 1],
    ["[run_command], when: { command: slow }", 0],
    ['["plugin:other"]', 0],
  ])("asks a person for a command under approve: %s", async (rule, asked) => {
    const { call } = await serve(`approvals: [{ approve: ${rule} }]`, "approve");
    expect(await call("asker_ask")).toContain('"exitCode": 0');
    expect(questions).toHaveLength(asked);
  });

  test("is not done when the person says no, and the record says what was asked", async () => {
    const { call } = await serve("approvals: [{ approve: [run_command] }]", "deny");
    expect(await call("asker_ask")).toMatch(
      /Denied\. This call needs a person's consent, and the person who was asked said no/,
    );
    expect(ran()).toBe(false);
    expect(questions[0]?.text).toMatch(/run_command[^]*"?plugin"?:? *"asker"/);
    const does = { tool: "run_command", arguments: { command: "note", plugin: "asker", for: "asker_ask" } };
    expect(records("approval.asked")).toMatchObject([{ tool: "asker_ask", detail: { actor: "plugin:asker", does } }]);
    expect(records("approval.denied")).toHaveLength(1);
  });

  test("is not done when its call is cancelled while a person is asked", async () => {
    let answer = (_reply: ApprovalReply): void => undefined;
    const channel: ApprovalChannel["ask"] = () => new Promise((resolve) => (answer = resolve));
    const { peer } = await serve("approvals: [{ approve: [run_command] }]", channel);
    const asked = peer.request("tools/call", { name: "asker_ask", arguments: {} }).catch(String);
    await vi.waitFor(() => expect(questions).toHaveLength(1), { timeout: 10_000 });
    const [{ id } = { id: 0 }] = records("call.intent") as unknown as readonly { readonly id: number }[];
    peer.notify("notifications/cancelled", { requestId: id });
    await vi.waitFor(() => expect(records("approval.denied")).toHaveLength(1));
    answer({ answer: "approve" });
    await vi.waitFor(() => expect(records("call.result")).toHaveLength(1));
    expect(ran()).toBe(false);
    void asked;
  });

  test("ends with its call: cancelled, or out of time", async () => {
    const slow = { ask: { run: { command: "slow", args: [] } } };
    const { call } = await serve();
    expect(await call("asker_wait", slow)).toMatch(/timed out after 1 s/);
    await vi.waitFor(async () =>
      expect(await call("asker_told")).toMatch(/ended because its call was|The call has ended/),
    );
  });
});

test("a question to the client's own user ends one round of a stateless call, and the command runs in the next", async () => {
  const { secure } = await serve("approvals: [{ approve: [run_command] }]");
  const peer = await connectInMemory(secure.server, { revision: STATELESS, capabilities: { elicitation: {} } });
  const params = { name: "asker_ask", arguments: {} };
  const asked = (await peer.request("tools/call", params)) as Record<string, unknown>;
  expect(asked).toMatchObject({ resultType: "input_required" });
  expect(ran()).toBe(false);
  const keys = Object.keys(asked["inputRequests"] as object);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, yes()]));
  const answer = await peer.request("tools/call", { ...params, requestState: asked["requestState"], inputResponses });
  expect(JSON.stringify(answer)).toContain("exitCode");
  expect(ran()).toBe(true);
});
