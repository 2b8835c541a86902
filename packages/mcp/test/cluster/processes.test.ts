// Real processes over Redis, one of them killed: what it had goes on elsewhere, and nothing runs twice.
import { describe, expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect } from "../../src/serve/connect.js";
import { type Processes, startProcesses } from "./process-fixture.js";
import { hasRedis } from "./redis-fixture.js";

async function client({ url }: Processes, revision: string, options: object = {}): Promise<Client> {
  const made = await connect(url, {
    revision,
    verdicts: false,
    elicit: () => ({ action: "accept", content: { sure: true } }),
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

const LONG = { timeout: 60_000 };

describe.runIf(hasRedis)("processes over Redis", () => {
  it("lets a burst of three through and no more, however many processes count", LONG, async () => {
    const rate = { perSecond: 1, burst: 3 };
    const processes = await startProcesses(3, () => ({ RATE: JSON.stringify({ ...rate, address: undefined }) }));
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const begun = performance.now();
    const replies = await Promise.all(
      Array.from({ length: 15 }, () => fetch(processes.url, { method: "POST", headers, body: JSON.stringify(ping) })),
    );
    const passed = replies.filter(({ status }) => status !== 429);
    // One more for each second that all of it took. Where each process counted for itself, nine would pass at once.
    const seconds = Math.ceil((performance.now() - begun) / 1_000);
    expect(passed.length).toBeGreaterThanOrEqual(3);
    expect(passed.length).toBeLessThanOrEqual(3 + seconds);
  });

  it("goes on with the session of a process that was killed, and runs nothing twice", LONG, async () => {
    const processes = await startProcesses();
    processes.to(0);
    const calling = await client(processes, "2025-11-25");
    await calling.setLogLevel("debug");
    processes.to(1);
    await calling.call("once", { id: "before" });
    // Who serves a call alone knows what became of it: a session of facts goes on anywhere.
    processes.to(0);
    const hanging = calling.call("hang", { id: "hanging" }).catch((error: unknown) => error);
    await expect.poll(() => processes.effects(), LONG).toEqual(["before", "hanging"]);
    await processes.kill(0);
    expect(String(await hanging)).toMatch(/HTTP 502/);
    processes.to(1, 2);
    for (let n = 0; n < 4; n++) await calling.call("once", { id: `after ${n}` });
    expect(processes.effects()).toEqual(["before", "hanging", "after 0", "after 1", "after 2", "after 3"]);
    const answered = await calling.call("ask", { id: "asked" });
    expect(answered.content).toEqual([{ type: "text", text: "accept" }]);
  });

  it("runs a parked call again where that is safe, and says that nobody knows where it is not", LONG, async () => {
    const processes = await startProcesses();
    for (const tool of ["ask", "ask-again"]) {
      const reached: string[] = [];
      processes.to(tool === "ask" ? 0 : 1);
      const killed = tool === "ask" ? 0 : 1;
      const calling = await client(processes, "2026-07-28", {
        elicit: async () => {
          await processes.kill(killed);
          processes.to(2);
          reached.push(tool);
          return { action: "accept", content: { sure: true } };
        },
      });
      const answer = await calling.call(tool, { id: tool }).then(
        ({ content }) => content,
        (error: unknown) => String(error),
      );
      expect(reached).toEqual([tool]);
      if (tool === "ask") expect(answer).toMatch(/whether the call did its work is not known/);
      else expect(answer).toEqual([{ type: "text", text: "accept" }]);
    }
    expect(processes.effects()).toEqual(["ask-again"]);
  });

  it.each(["2025-11-25", "2026-07-28"])(
    "finds, cancels and fails tasks of other processes in %s",
    LONG,
    async (revision) => {
      const processes = await startProcesses(2);
      processes.to(0);
      const one = await client(processes, revision);
      processes.to(1);
      const two = await client(processes, revision);
      processes.to(0);
      const first = await one.callTask("job");
      const second = await one.callTask("job");
      processes.to(1);
      expect((await two.task(first.id as string).status()).status).toBe("working");
      await two.task(first.id as string).cancel();
      await expect.poll(async () => (await two.task(first.id as string).status()).status, LONG).toBe("cancelled");
      await processes.kill(0);
      await expect.poll(async () => (await two.task(second.id as string).status()).status, LONG).toBe("failed");
    },
  );

  it.each(["2025-11-25", "2026-07-28"])(
    "says one thing of a task of %s whose process hangs and comes back, whoever is asked",
    LONG,
    async (revision) => {
      const processes = await startProcesses(2);
      processes.to(0);
      const one = await client(processes, revision);
      const id = (await one.callTask("job")).id as string;
      processes.to(1);
      const two = await client(processes, revision);
      const hanging = processes.children[0];
      hanging?.kill("SIGSTOP");
      onTestFinished(() => void hanging?.kill("SIGCONT"));
      await expect.poll(async () => (await two.task(id).status()).status, LONG).toBe("failed");
      hanging?.kill("SIGCONT");
      for (let n = 0; n < 20; n++) {
        processes.to(n % 2);
        expect(await (n % 2 === 0 ? one : two).task(id).status()).toMatchObject({
          status: "failed",
          statusMessage: expect.stringContaining("Whether the task ended is not known") as string,
        });
      }
    },
  );

  it("does all of it with clocks that are 90 seconds apart, before and behind", LONG, async () => {
    const processes = await startProcesses(3, (member) => ({
      CLOCK_MS: String((member - 1) * 90_000),
      RATE: JSON.stringify({ perSecond: 1, burst: 40 }),
    }));
    for (const revision of ["2025-11-25", "2026-07-28"]) {
      const calling = await client(processes, revision);
      for (let n = 0; n < 4; n++) await calling.call("ask", { id: `${revision} ${n}` });
    }
    const effects = processes.effects();
    expect(effects).toHaveLength(8);
    expect(new Set(effects).size).toBe(8);
    // A limit goes by the clock of Redis: none of them has a minute more than the others.
    const last = await client(processes, "2026-07-28");
    const burst = Array.from({ length: 60 }, () =>
      last.call("echo", { text: "" }).then(
        (): number => 1,
        (): number => 0,
      ),
    );
    const passed = (await Promise.all(burst)).reduce((sum, one) => sum + one, 0);
    expect(passed).toBeLessThan(60);
    expect(processes.effects()).toHaveLength(8);
  });

  it("serves on while Redis is away, and shares again when it is back", LONG, async () => {
    const processes = await startProcesses();
    processes.to(0);
    const calling = await client(processes, "2025-11-25");
    processes.to(0, 1, 2);
    for (let n = 0; n < 3; n++) await calling.call("echo", { text: "before" });
    processes.redis.pause();
    for (let n = 0; n < 6; n++) {
      expect((await calling.call("echo", { text: String(n) })).content).toEqual([{ type: "text", text: String(n) }]);
    }
    processes.redis.resume();
    const subscription = calling.subscribe({ resources: ["test://a"] });
    await subscription.ready;
    const heard = subscription[Symbol.asyncIterator]();
    processes.children[2]?.send("changed");
    expect((await heard.next()).value).toEqual({ kind: "resource", uri: "test://a" });
  });
});
