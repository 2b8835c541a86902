// What processes share fails, in the middle of calls that are asked about, counted, recorded and noted: nothing ends the program.
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { memoryStores } from "@secure-local/mcp/cluster";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { FAILING, faultyStores, settled, unheard } from "../../../mcp/test/cluster/faulty-stores.js";
import { until } from "../../../mcp/test/cluster/redis-fixture.js";
import { AuditLog } from "../../src/audit/audit-log.js";
import { AuditHeads, SharedMemory } from "../../src/cluster/open-cluster.js";
import { SharedQuestions } from "../../src/cluster/shared-questions.js";
import { OpenQuestions } from "../../src/control/control-socket.js";
import type { QuestionMessage } from "../../src/control/control-client.js";
import type { ApprovalChannel, ApprovalQuestion } from "../../src/guard/approvals/approvals.js";
import { Guard } from "../../src/guard/guard.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

const POLICY = `version: "1.0"
tools: { allowed: ["*"], rate_limits: { own: 100 } }
approvals:
  - { approve: destructive, answer_by: [terminal], remember: session }
  - { approve: tainted, answer_by: [terminal] }
`;
const QUESTION: ApprovalQuestion = { id: "ab12", text: "Sure?", remember: undefined, timeoutMs: 60_000 };
const never = (): AbortSignal => new AbortController().signal;

/** A guard with all that its calls share, and the people at its process. */
async function member(faulty: ReturnType<typeof faultyStores>, node: string) {
  const { records, bus } = faulty.stores;
  const local = new OpenQuestions(() => undefined);
  const told: QuestionMessage[] = [];
  local.join({ tell: (message: QuestionMessage) => void told.push(message) });
  const questions = new SharedQuestions({ node, bus, records, local, away: () => false });
  await questions.start();
  const heads = new AuditHeads({
    ...{ node, records, witnessMs: 5 },
    key: generateKeyPairSync("ed25519").privateKey,
  });
  const audit = await AuditLog.open(join(temporaryFolder(), "audit.log"), { sync: false, checkpoints: heads });
  await heads.start(audit, {});
  const server = new Server({ name: "guarded", version: "1", report: false });
  const guard = new Guard({
    policy: await parsePolicy(POLICY, { file: "policy.yaml" }),
    audit,
    exists: () => true,
    flow: (_, { name }) => ({ private: name === "own", untrusted: name === "own", sends: name === "send" }),
    channel: questions,
    memory: new SharedMemory(faulty.stores, { processes: () => 2, away: () => false }),
  });
  server.use(guard.middleware);
  server.tool("own", {
    run: (_, ctx) => {
      guard.reads(ctx);
      return "read";
    },
  });
  for (const [tool, destructive] of Object.entries({ send: false, erase: true }))
    server.tool(tool, {
      run: async (_, ctx) => (await guard.consent({ ctx, tool, destructive, arguments: {} }))?.text ?? "done",
    });
  return { questions, told, guard, audit, heads, peer: await connectInMemory(server) };
}

describe("what processes share fails", () => {
  it.each(FAILING)("with calls in each phase, and %s: nothing ends the program", async (failing) => {
    const found = unheard();
    const faulty = faultyStores(memoryStores());
    const one = await member(faulty, "one");
    const two = await member(faulty, "two");
    const call = (name: string): Promise<unknown> => one.peer.request("tools/call", { name, arguments: {} });
    const open = call("erase").catch(() => undefined);
    await until(() => two.told.some(({ kind }) => kind === "question"));
    faulty.failing = failing;
    for (const { missed } of faulty.listeners) missed();
    const answers = await Promise.all([call("own"), call("send"), one.peer.request("tools/list", {})]);
    expect(JSON.stringify(answers)).toContain("UNREACHABLE");
    one.guard.approvals.reloaded();
    await settled();
    one.questions.close();
    two.questions.close();
    await one.peer.close();
    await open;
    await Promise.all([one, two].flatMap(({ audit, heads }) => [audit.close(), heads.close()]));
    await settled();
    expect(found).toEqual([]);
  });

  it("and what was missed meanwhile is looked at once it is back", async () => {
    const found = unheard();
    const faulty = faultyStores(memoryStores());
    const { records, bus } = faulty.stores;
    const shown: string[] = [];
    const local: ApprovalChannel = {
      ask(question) {
        shown.push(question.id);
        return new Promise(() => undefined);
      },
    };
    const questions = new SharedQuestions({ node: "one", bus, records, local, away: () => false });
    await questions.start();
    const text = JSON.stringify({ node: "two", question: QUESTION, until: Date.now() + 60_000 });
    await records.put("questions", QUESTION.id, text, 60_000);
    faulty.failing = "rejects";
    for (const { missed } of faulty.listeners) missed();
    await settled();
    expect(shown).toEqual([]);
    faulty.failing = undefined;
    questions.present(new Map([["two", ""]]));
    await settled();
    expect(shown).toEqual([QUESTION.id]);
    questions.close();
    expect(found).toEqual([]);
  });

  it.each(["rejects", "throws at once"])("a place to ask at that %s decides nothing and ends nothing", async (how) => {
    const found = unheard();
    const { records, bus } = memoryStores();
    const local: ApprovalChannel = {
      ask(question) {
        void question.settled?.().then(() => undefined);
        const error = new Error("The terminal is broken");
        if (how === "rejects") return Promise.reject(error);
        throw error;
      },
    };
    const asking = new SharedQuestions({ node: "one", bus, records, local, away: () => false });
    const other = new SharedQuestions({ node: "two", bus, records, local, away: () => false });
    await asking.start();
    await other.start();
    expect(await asking.ask(QUESTION, never())).toEqual({ answer: undefined, reason: "the question could not be put" });
    await settled();
    for (const each of [asking, other]) each.close();
    expect(found).toEqual([]);
  });
});
