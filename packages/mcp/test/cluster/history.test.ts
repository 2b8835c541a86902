// What clients and tools recorded of every call, checked: at most once, in each session's order, and nothing lost that was
// answered; with processes that leave at random. The checker itself has to find faults that are planted.
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { soaking } from "../support/soak.js";
import { Server } from "../../src/server/server.js";
import { startCluster } from "./cluster-fixture.js";

/** A call as its client saw it. */
interface Recorded {
  readonly id: string;
  readonly session: number;
  readonly outcome: "answered" | "failed";
}

/** Everything that is wrong with a history; `effects` are the ids of calls in the order in which tools ran them. */
function violations(calls: readonly Recorded[], effects: readonly string[]): string[] {
  const found: string[] = [];
  const counts = new Map<string, number>();
  for (const id of effects) counts.set(id, (counts.get(id) ?? 0) + 1);
  const known = new Set(calls.map(({ id }) => id));
  for (const [id, count] of counts) {
    if (count > 1) found.push(`${id} ran ${count} times`);
    if (!known.has(id)) found.push(`${id} ran and nobody called it`);
  }
  for (const { id, outcome } of calls)
    if (outcome === "answered" && !counts.has(id)) found.push(`${id} was answered and never ran`);
  const place = new Map(effects.map((id, at) => [id, at]));
  const last = new Map<number, number>();
  for (const { id, session } of calls) {
    const at = place.get(id);
    if (at === undefined) continue;
    if (at < (last.get(session) ?? -1)) found.push(`${id} ran before an earlier call of session ${session}`);
    last.set(session, at);
  }
  return found;
}

/** Numbers that look random and are the same in every run. */
function random(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

describe("the checker", () => {
  const call = (id: string, outcome: Recorded["outcome"] = "answered"): Recorded => ({ id, session: 1, outcome });

  it("finds nothing in a sound history, a failed call that ran or did not among it", () => {
    expect(violations([call("a"), call("b", "failed"), call("c", "failed"), call("d")], ["a", "c", "d"])).toEqual([]);
  });

  it.each([
    [[call("a")], ["a", "a"], "a ran 2 times"],
    [[call("a")], [], "a was answered and never ran"],
    [[call("a")], ["a", "b"], "b ran and nobody called it"],
    [[call("a"), call("b")], ["b", "a"], "b ran before an earlier call of session 1"],
  ])("finds a planted fault: %#", (calls, effects, fault) => {
    const found = violations(calls, effects);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault.slice(1));
  });
});

describe("a history", () => {
  it.each(soaking ? [1, 2] : [1])(
    "of calls at random while processes leave has no violation (seed %i)",
    { timeout: 60_000 },
    async (seed) => {
      const next = random(seed);
      const effects: string[] = [];
      const server = (): Server => {
        const made = new Server({ name: "history", version: "1.0.0", report: false });
        const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;
        made.tool("run", { input, run: ({ id }) => void effects.push(id) });
        made.tool("ask", {
          input,
          async run({ id }, ctx) {
            await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
            effects.push(id);
          },
        });
        return made;
      };
      const cluster = await startCluster({ count: 4, server });
      const alive = [0, 1, 2, 3];
      const revisions = ["2025-06-18", "2025-11-25", "2026-07-28"];
      const clients = await Promise.all(
        Array.from({ length: 6 }, async (_, n) => {
          const elicit = () => ({ action: "accept", content: { sure: true } }) as const;
          const client = await connect(cluster.url, { revision: revisions[n % 3] as string, elicit, verdicts: false });
          onTestFinished(() => client.close());
          return client;
        }),
      );
      const calls: Recorded[] = [];
      const lane = async (session: number): Promise<void> => {
        for (let n = 0; n < 40; n++) {
          const id = `${session}-${n}`;
          const tool = next(4) === 0 ? "ask" : "run";
          const outcome = await (clients[session] as (typeof clients)[number]).call(tool, { id }).then(
            ({ isError }) => (isError === true ? ("failed" as const) : ("answered" as const)),
            () => "failed" as const,
          );
          calls.push({ id, session, outcome });
        }
      };
      const leave = async (): Promise<void> => {
        for (let n = 0; n < 2; n++) {
          const [gone] = alive.splice(next(alive.length), 1);
          cluster.to(...alive);
          await cluster.members[gone as number]?.close();
        }
      };
      await Promise.all([...clients.map((_, session) => lane(session)), leave()]);
      expect(violations(calls, effects)).toEqual([]);
      expect(calls).toHaveLength(240);
      // Whoever was not being served when its process left has lost nothing.
      expect(calls.filter(({ outcome }) => outcome === "failed").length).toBeLessThan(240);
    },
  );
});
