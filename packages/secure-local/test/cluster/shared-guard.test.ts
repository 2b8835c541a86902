// What one guard knows of a caller another one knows: what was read, and what nobody can be asked about.
import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fleetOf, memoryStores, type SharedStores } from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import { aesSeal, Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { hasRedis, startRedis } from "../../../mcp/test/cluster/redis-fixture.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { SharedMemory } from "../../src/cluster/open-cluster.js";
import type { ApprovalQuestion } from "../../src/guard/approvals/approvals.js";
import { Guard } from "../../src/guard/guard.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const TAINTED =
  'version: "1.0"\ntools: { allowed: ["*"] }\napprovals:\n  - { approve: tainted, answer_by: [terminal] }\n';

interface Guarded {
  readonly questions: ApprovalQuestion[];
  call(name: string): Promise<string>;
}

/** A process with tools that read what is private or strange, and one that sends something out. */
async function guarded(stores: SharedStores): Promise<Guarded> {
  const questions: ApprovalQuestion[] = [];
  const server = new Server({ name: "guarded", version: "1", report: false });
  const guard = new Guard({
    policy: await parsePolicy(TAINTED, { file: "policy.yaml" }),
    audit: new MemoryAudit(),
    exists: () => true,
    flow: (_, { name }) => ({ private: name === "own", untrusted: name === "strange", sends: name === "send" }),
    channel: {
      async ask(question) {
        questions.push(question);
        return { answer: "deny" };
      },
    },
    memory: new SharedMemory(stores, { processes: () => 2, away: () => false }),
  });
  server.use(guard.middleware);
  for (const name of ["own", "strange"]) server.tool(name, { run: () => name });
  server.tool("send", {
    run: async (_, ctx) =>
      (await guard.consent({ ctx, tool: "send", destructive: false, arguments: {} }))?.text ?? "sent",
  });
  const peer = await connectInMemory(server);
  return {
    questions,
    async call(name) {
      const result = (await peer.request("tools/call", { name, arguments: {} })) as { content: { text: string }[] };
      return result.content[0]?.text ?? "";
    },
  };
}

describe("what was read at one process and at another", () => {
  it("is known to both, so that sending it out is asked about wherever that is", async () => {
    const stores = memoryStores();
    const [one, two, three] = [await guarded(stores), await guarded(stores), await guarded(stores)];
    expect(await one.call("own")).toBe("own");
    expect(await three.call("send")).toBe("sent");
    expect(await two.call("strange")).toBe("strange");
    expect(await three.call("send")).toContain("the person who was asked said no");
    expect(three.questions).toHaveLength(1);
    expect(three.questions[0]?.text).toContain("own");
  });

  it("may be anything while nobody can be asked: nothing is sent, and nothing that was read is shown", async () => {
    const stores = memoryStores();
    const away = (): Promise<never> => Promise.reject(new Error("away"));
    const one = await guarded({ ...viewOf(stores), records: { put: away, get: away, list: away, delete: away } });
    expect(await one.call("own")).toContain("so its result is withheld");
    expect(await one.call("send")).toContain("UNREACHABLE");
    expect(one.questions).toHaveLength(0);
  });
});

describe.runIf(hasRedis)("what was kept in Redis for some time", () => {
  it.each(["consent", "taint"] as const)("is not kept longer by who writes to Redis: %s", async (kind) => {
    const redis = await startRedis();
    const key = randomBytes(32);
    const stores = redisStores(redis.url, { key });
    await stores.open("one", fleetOf(key));
    onTestFinished(() => stores.close());
    const memory = new SharedMemory(stores, { processes: () => 1, away: () => false });
    await memory.keep(kind, "the very call", "yes", 60_000);
    for (const each of redis.cli("--scan").split("\n")) redis.cli("persist", each);
    expect(await memory.find(kind, "the very call")).toBe("yes");
    onTestFinished(() => void vi.restoreAllMocks());
    const later = Date.now() + 60_001;
    vi.spyOn(Date, "now").mockReturnValue(later);
    expect(await memory.find(kind, "the very call")).toBeUndefined();
  });
});

describe.runIf(hasRedis)("what was read while the shared key is changed", () => {
  it("is known to all, whichever step each is in, and after it", async () => {
    const redis = await startRedis();
    const [old, next] = [randomBytes(32), randomBytes(32)];
    const steps = [[old], [old, next], [next, old], [next]];
    const open = async (key: readonly Buffer[], node: string): Promise<SharedStores> => {
      const stores = redisStores(redis.url, { key });
      await stores.open(node, fleetOf(key));
      onTestFinished(() => stores.close());
      return stores;
    };
    const beats: ReturnType<typeof setInterval>[] = [];
    onTestFinished(() => beats.forEach(clearInterval));
    let before = await open(steps[0] ?? [], "n0");
    await (await guarded(before)).call("own");
    await (await guarded(before)).call("strange");
    await before.beat("n0", "tcp://127.0.0.1:1");
    for (const [at, step] of steps.entries()) {
      if (at === 0) continue;
      // The last one waits until those with both keys have carried over what the old one had sealed.
      const stores = await open(step, `n${at}`);
      for (const each of [before, stores]) expect(await (await guarded(each)).call("send")).toContain("said no");
      const beat = (): Promise<unknown> => stores.beat(`n${at}`, "tcp://127.0.0.1:1");
      await beat();
      beats.push(setInterval(() => void beat().catch(() => undefined), 100));
      clearInterval(beats[at - 2]);
      await before.leave(`n${at - 1}`);
      await before.close();
      before = stores;
    }
  });
});

function viewOf({ limits, marks, locks, bus }: SharedStores): SharedStores {
  return { limits, marks, locks, bus } as SharedStores;
}

it("an answer to a question of a process that has ended counts for nothing, and its caller is told to call again", async () => {
  const seal = aesSeal(randomBytes(32));
  const ran: string[] = [];
  const process = async (): Promise<Awaited<ReturnType<typeof connectInMemory>>> => {
    const server = new Server({ name: "guarded", version: "1", report: false, seal });
    const guard = new Guard({
      policy: await parsePolicy(TAINTED.replace("tainted, answer_by: [terminal]", "[send]"), { file: "policy.yaml" }),
      audit: new MemoryAudit(),
      exists: () => true,
    });
    server.use(guard.middleware);
    server.tool("send", {
      annotations: { readOnlyHint: true },
      run: async (_, ctx) => {
        const refused = await guard.consent({ ctx, tool: "send", destructive: false, arguments: {} });
        if (refused === undefined) ran.push("send");
        return refused?.text ?? "sent";
      },
    });
    return connectInMemory(server, { revision: "2026-07-28", capabilities: { elicitation: { form: {} } } });
  };
  const [one, two] = [await process(), await process()];
  const asked = (await one.request("tools/call", { name: "send", arguments: {} })) as Record<string, unknown>;
  expect(asked["resultType"]).toBe("input_required");
  const [key = ""] = Object.keys(asked["inputRequests"] as object);
  const answer = { action: "accept", content: { decision: "approve this one call" } };
  const { requestState } = asked;
  const params = { name: "send", arguments: {}, requestState, inputResponses: { [key]: answer } };
  const told = JSON.stringify(await two.request("tools/call", params));
  expect(told).toContain("the process that had asked has ended");
  expect(told).toContain("make the call again");
  expect(ran).toEqual([]);
});
