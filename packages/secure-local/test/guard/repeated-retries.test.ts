// The time of a handler that the same retry is sent to again and again: it is over when it is, whoever waits by then.
import { Server } from "@secure-local/mcp/server";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import type { Call, Middleware } from "@secure-local/mcp/server";
import { expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Guard } from "../../src/guard/guard.js";
import { guardedServer, policyOf } from "./guarded-server.js";

type Json = Record<string, unknown>;

const POLICY = `version: "1.0"
tools: { allowed: ["*"], rate_limits: { default: 10000 }, timeouts: { default: 0.3 } }
`;
const CAN = { revision: "2026-07-28", capabilities: { elicitation: {} } } as const;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What becomes of the request before, once the next is there. */
const BEFORE = {
  waits: () => undefined,
  "is cancelled": (peer: MemoryPeer, requestId: unknown) => peer.notify("notifications/cancelled", { requestId }),
  "loses its connection": (peer: MemoryPeer) => void peer.close(),
} as const;
const WAYS = Object.keys(BEFORE) as (keyof typeof BEFORE)[];

/** Middleware behind the guard that answers for a request as soon as that is cancelled. */
const HASTY: Middleware = (call, next) =>
  Promise.race([next(), new Promise<object>((resolve) => call.whenCancelled(() => resolve({})))]) as never;

const told = (answer: Promise<Json>): Promise<string> =>
  answer.then(
    ({ content }) => (content as { text: string }[])[0]?.text ?? "",
    (error: Error) => error.message,
  );

async function retryOf(peer: MemoryPeer): Promise<Json> {
  const first = await peer.request("tools/call", { name: "ask", arguments: {} });
  const inputResponses = { "ask-1": { action: "accept", content: { v: "x" } } };
  return { name: "ask", arguments: {}, requestState: first["requestState"], inputResponses };
}

it.concurrent.for(
  WAYS.flatMap((way) => [true, false].flatMap((heeds) => [true, false].map((hasty) => ({ way, heeds, hasty })))),
)(
  "is over for all, where the request before $way when the next comes (the handler heeds it: $heeds, hasty middleware: $hasty)",
  async ({ way, heeds, hasty }, { expect }) => {
    const calls: Call[] = [];
    const around: Middleware = (call, next) => (calls.push(call), next());
    const { tools, audit, connect } = await guardedServer({
      policy: POLICY,
      around,
      ...(hasty ? { within: HASTY } : {}),
    });
    const seen = { began: 0, stoppedMs: 0, ran: 0 };
    tools["ask"] = async (_args, ctx) => {
      await ctx.elicit({ message: "?", schema: { v: { type: "string" } } });
      seen.began = performance.now();
      seen.ran++;
      ctx.signal.addEventListener("abort", () => (seen.stoppedMs = performance.now() - seen.began));
      const isOver = (): boolean => performance.now() - seen.began > 1_500 || (heeds && ctx.signal.aborted);
      while (!isOver()) await pause(10);
      return "done";
    };
    const retry = await retryOf(await connect(CAN));
    const last: Promise<string>[] = [];
    let before: MemoryPeer | undefined;
    for (let round = 0; round < 10; round++) {
      const peer = await connect(CAN);
      const number = calls.length;
      const answer = told(peer.request("tools/call", retry));
      last.push(answer);
      let isAnswered = false;
      void answer.then(() => (isAnswered = true));
      // It waits for the handler, or comes when that is over.
      await expect.poll(() => isAnswered || calls[number]?.handling !== undefined, { interval: 5 }).toBe(true);
      await pause(50);
      if (before !== undefined) BEFORE[way](before, calls[number - 1]?.id);
      before = peer;
      await pause(50);
    }
    expect(seen.ran).toBe(1);
    expect(seen.stoppedMs).toBeGreaterThan(200);
    expect(seen.stoppedMs).toBeLessThan(800);
    expect(await last.at(-1)).toContain("timed out after 0.3 s");
    if (way === "waits") for (const answer of last) expect(await answer).toContain("timed out after 0.3 s");
    expect(audit.records().map(({ outcome }) => outcome)).not.toContain("ok");
  },
);

it.concurrent.each(WAYS)("stands still for all while a person is asked, where the request before %s", async (way) => {
  const ids: unknown[] = [];
  const server = new Server({ name: "guarded", version: "1", report: false });
  const policy = await policyOf(`${POLICY}approvals: [{ approve: all, answer_by: [terminal] }]\n`);
  let answer = (): void => undefined;
  const channel = {
    ask: () => new Promise<{ answer: "approve" }>((resolve) => (answer = () => resolve({ answer: "approve" }))),
  };
  const guard: Guard = new Guard({ policy, audit: new MemoryAudit(), exists: () => true, channel });
  server.use((call, next) => (ids.push(call.id), next()));
  server.use(guard.middleware);
  let goOn = (): void => undefined;
  const letGo = new Promise<void>((resolve) => (goOn = resolve));
  server.tool("ask", {
    async run(_args, ctx) {
      await ctx.elicit({ message: "?", schema: { v: { type: "string" } } });
      await letGo;
      return (await guard.consent({ ctx, tool: "ask", destructive: false, arguments: {} }))?.text ?? "done";
    },
  });
  const connect = (): Promise<MemoryPeer> => connectInMemory(server, CAN);
  const retry = await retryOf(await connect());
  const [one, other] = [await connect(), await connect()];
  const number = ids.length;
  const answers = [one, other].map((peer) => told(peer.request("tools/call", retry)));
  await pause(50);
  BEFORE[way](one, ids[number]);
  await pause(50);
  goOn();
  await pause(600);
  answer();
  expect(await answers[1]).toBe("done");
  if (way === "waits") expect(await answers[0]).toBe("done");
});
