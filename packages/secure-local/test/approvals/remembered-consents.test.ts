// A remembered consent counts for what the person was asked: for those rules, that session's reading and that client, and no other.
import { memoryStores } from "@secure-local/mcp/cluster";
import { describe, expect, it, vi } from "vitest";
import { faultyStores } from "../../../mcp/test/cluster/faulty-stores.js";
import { SharedMemory } from "../../src/cluster/open-cluster.js";
import { questionOf, STATEFUL } from "./approving-server.js";
import { senders, type Senders, type SendRule, type Step } from "./reading-senders.js";

/** What is said of a call whose yes came while what is shared was away. */
const REFUSED = /^Denied\. .*cannot be reached.*\(UNREACHABLE\); try again once it is back\./;
const WHO = [["client"], ["terminal"], ["client", "terminal"]] as const;
const KEPT = ["none", "session", 10] as const;
const PLAIN: readonly SendRule[] = (["all", ["send"]] as const).flatMap((approve) =>
  WHO.flatMap((answer_by) => KEPT.map((remember) => ({ approve, answer_by, remember }))),
);
const TAINTED: readonly SendRule[] = WHO.flatMap((answer_by) =>
  KEPT.map((remember) => ({ approve: "tainted" as const, answer_by, remember })),
);
const ORDERS: readonly (readonly Step[])[] = [
  ["send", "own", "send", "strange", "send", "send"],
  ["send", "strange", "send", "own", "send", "send"],
  ["own", "send", "send", "strange", "send", "send"],
  ["own", "strange", "send", "send"],
];

interface Given {
  readonly rules: readonly SendRule[];
  readonly by: string;
}

/** Who may answer for all of them. */
function agreed(rules: readonly SendRule[]): readonly string[] {
  return ["client", "terminal"].filter((who) =>
    rules.every(({ answer_by = [] }) => answer_by.some((each) => each === who)),
  );
}

/** How long the narrowest of them would have it remembered. */
function kept(rules: readonly SendRule[]): SendRule["remember"] {
  const all = rules.map(({ remember }) => remember);
  return all.includes("none") ? "none" : (all.find((each) => typeof each === "number") ?? "session");
}

/** Goes through the steps, and says what was done that nobody had agreed to, or asked though it was remembered. */
async function faults(rules: readonly SendRule[], order: readonly Step[]): Promise<string[]> {
  const one = await senders(rules);
  const read = new Set<Step>();
  const given: Given[] = [];
  const found: string[] = [];
  for (const [index, step] of order.entries()) {
    const { text, askedAt } = await one.step(step);
    read.add(step);
    if (step !== "send") continue;
    const tainted = read.has("own") && read.has("strange");
    const asking = rules.filter(({ approve }) => approve !== "tainted" || tainted);
    const who = agreed(asking);
    const fault = (what: string): number => found.push(`step ${index}: ${what}`);
    if (text !== "sent" && who.length > 0) fault(text);
    if (askedAt !== undefined && !who.includes(askedAt)) fault(`${askedAt} was asked`);
    const before = given.filter((each) => asking.every((rule) => each.rules.includes(rule)));
    if (text === "sent" && askedAt === undefined && asking.length > 0 && !before.some(({ by }) => who.includes(by)))
      fault("sent on nobody's word");
    const same = before.some((each) => each.rules.length === asking.length);
    if (same && askedAt !== undefined && kept(asking) !== "none") fault("asked again");
    if (askedAt !== undefined) given.push({ rules: asking, by: askedAt });
  }
  return found;
}

describe("a remembered consent", () => {
  it("counts for the rules it was asked for, whatever is read in between and whoever may answer", async () => {
    let at = 0;
    for (const plain of PLAIN)
      for (const tainted of TAINTED)
        for (const order of ORDERS) {
          at += 1;
          const rules = at % 2 === 0 ? [plain, tainted] : [tainted, plain];
          expect(await faults(rules, order), JSON.stringify([rules, order])).toEqual([]);
        }
    expect(at).toBe(648);
  }, 60_000);

  it("is no word for another client of attach, and is one for the same", async () => {
    for (const answer_by of [["terminal"], ["client", "terminal"]] as const) {
      const one = await senders([{ approve: ["send"], remember: 10, answer_by }]);
      expect(await one.stepOf("alice", "send")).toEqual({ text: "sent", askedAt: "terminal" });
      expect(await one.stepOf("bob", "send")).toEqual({ text: "sent", askedAt: "terminal" });
      expect(await one.step("send")).toEqual({ text: "sent", askedAt: answer_by[0] });
      for (const name of ["alice", "bob"])
        expect(await one.stepOf(name, "send")).toEqual({ text: "sent", askedAt: undefined });
    }
  });

  it("is no word for what a plugin does, nor the plugin's for the client", async () => {
    for (const order of [
      ["send", "act"],
      ["act", "send"],
    ] as const) {
      const one = await senders([{ approve: ["send", "plugin:p"], remember: 10 }]);
      for (const askedAt of ["client", undefined] as const)
        for (const name of order) expect(await one.step(name)).toEqual({ text: "sent", askedAt });
    }
  });

  it("is not remembered for a session where none can be told from another", async () => {
    const one = await senders([{ approve: ["send"], remember: "session" }]);
    for (const revision of [undefined, undefined, STATEFUL, STATEFUL])
      expect(await one.stepOf("alice", "send", revision)).toEqual({ text: "sent", askedAt: "terminal" });
  });

  it("counts at another process for the same rules", async () => {
    const memory = new SharedMemory(memoryStores(), { processes: () => 2, away: () => false });
    const rules: readonly SendRule[] = [
      { approve: ["send"], remember: 10, answer_by: ["client", "terminal"] },
      { approve: "tainted", remember: 10, answer_by: ["terminal"] },
    ];
    const [one, two, three] = [
      await senders(rules, memory),
      await senders(rules, memory),
      await senders(rules, memory),
    ];
    expect(await one.step("send")).toEqual({ text: "sent", askedAt: "client" });
    expect(await two.step("send")).toEqual({ text: "sent", askedAt: undefined });
    for (const name of ["own", "strange"] as const) await two.step(name);
    expect(await two.step("send")).toEqual({ text: "sent", askedAt: "terminal" });
    expect(await three.step("send")).toEqual({ text: "sent", askedAt: undefined });
    for (const name of ["own", "strange"] as const) await three.step(name);
    expect(await three.step("send")).toEqual({ text: "sent", askedAt: undefined });
  });
});

it("a call that names more paths than a person can be shown is refused, whoever would open them", async () => {
  const one = await senders([{ approve: ["send"], remember: 10 }]);
  const paths = Array.from({ length: 1_001 }, (_, at) => `/${at}`);
  expect(await one.send({ paths: paths.slice(1) })).toEqual({ text: "sent", askedAt: "client" });
  const { text, askedAt } = await one.send({ paths });
  expect([askedAt, text]).toEqual([undefined, expect.stringContaining("it names more than 1000 paths")]);
});

describe("what is read while a question waits", () => {
  it("ends it where that would be asked about as well, whoever answers", async () => {
    for (const answer_by of WHO)
      for (const other of [undefined, ...WHO]) {
        const tainted: readonly SendRule[] = other === undefined ? [] : [{ approve: "tainted", answer_by: other }];
        const one = await senders([{ approve: ["send"], remember: 10, answer_by }, ...tainted]);
        one.meanwhile = async () => {
          for (const name of ["own", "strange"] as const) await one.step(name);
        };
        const { text } = await one.step("send");
        expect(text).toMatch(other === undefined ? /^sent$/ : /its session has read since then/);
      }
  });
});

describe("an answer that is remembered", () => {
  const rule = (remember: NonNullable<SendRule["remember"]>): SendRule[] => [{ approve: ["send"], remember }];

  it("is listed with what it lets pass, is taken back on record, and then the next such call asks again", async () => {
    for (const remember of [10, "session"] as const) {
      const { consents, audit, ...one } = await senders(rule(remember));
      expect(await consents.remembered()).toEqual([]);
      const args = { paths: ["/a b"] };
      expect((await one.send(args)).askedAt).toBe("client");
      for (let time = 0; time < 2; time += 1) expect((await one.send(args)).askedAt).toBeUndefined();
      const question = questionOf(audit);
      const [kept, ...others] = await consents.remembered();
      expect(others).toEqual([]);
      expect(kept).toMatchObject({ id: question, tool: "send", by: "client", used: 2, isVoid: false });
      expect(kept?.about).toContain('"/a b"');
      expect(kept?.until === undefined).toBe(remember === "session");
      expect(await consents.takeBack("another", "console")).toEqual([]);
      expect((await consents.takeBack(kept?.id, "console")).map(({ id }) => id)).toEqual([question]);
      const detail = {
        by: "console",
        answer: question,
        answered: new Date(kept?.at ?? 0).toISOString(),
        call: kept?.call,
      };
      expect(audit.records().at(-1)).toMatchObject({ kind: "approval.taken_back", tool: "send", detail });
      expect(await consents.remembered()).toEqual([]);
      expect((await one.send(args)).askedAt).toBe("client");
    }
  });

  it("is taken back with all others", async () => {
    const { consents, ...one } = await senders(rule(10));
    for (const paths of [["/a"], ["/b"]]) await one.send({ paths });
    expect(await consents.takeBack(undefined, "terminal")).toHaveLength(2);
    for (const paths of [["/a"], ["/b"]]) expect((await one.send({ paths })).askedAt).toBe("client");
  });

  it("is none where the other processes could not be told: nobody could take it back there", async () => {
    const memory = new SharedMemory(memoryStores(), { processes: () => 2, away: () => false });
    const keep = memory.keep.bind(memory);
    memory.keep = () => Promise.reject(new Error("OOM"));
    const { consents, ...one } = await senders(rule(10), memory);
    const args = { paths: ["/a"] };
    for (let time = 0; time < 2; time += 1) expect((await one.send(args)).askedAt).toBe("client");
    expect(await consents.remembered()).toEqual([]);
    memory.keep = keep;
    expect((await one.send(args)).askedAt).toBe("client");
    expect((await one.send(args)).askedAt).toBeUndefined();
    expect(await consents.remembered()).toHaveLength(1);
  });

  it("counts for nothing while what is shared is away, though it may still be read there", async () => {
    let away = false;
    const one = await senders(rule(10), new SharedMemory(memoryStores(), { processes: () => 2, away: () => away }));
    const args = { paths: ["/a"] };
    expect((await one.send(args)).askedAt).toBe("client");
    away = true;
    expect(await one.send(args)).toEqual({
      text: expect.stringContaining("UNREACHABLE") as string,
      askedAt: undefined,
    });
    away = false;
    expect(await one.send(args)).toEqual({ text: "sent", askedAt: undefined });
  });

  it.each(["away", "killed"])("is no yes where what is shared was %s while the question waited", async (how) => {
    for (const answer_by of WHO)
      for (const remember of KEPT) {
        let away = false;
        const faulty = faultyStores(memoryStores());
        const memory = new SharedMemory(faulty.stores, { processes: () => 2, away: () => away });
        const one = await senders([{ approve: ["send"], answer_by, remember }], memory);
        one.meanwhile = async () => {
          if (how === "away") away = true;
          else faulty.failing = "rejects";
        };
        const askedAt = answer_by[0];
        expect(await one.step("send")).toEqual({ text: expect.stringMatching(REFUSED) as string, askedAt });
        expect(one.audit.records().map(({ kind }) => kind)).not.toContain("approval.given");
        expect(one.audit.records().find(({ kind }) => kind === "approval.denied")).toMatchObject({
          detail: { by: askedAt, reason: expect.stringContaining("UNREACHABLE") as string },
        });
        away = false;
        faulty.failing = undefined;
        expect(await one.step("send")).toEqual({ text: "sent", askedAt });
      }
  });

  it("is one for all processes that share it: taken back at one, it is at each, also where it was given", async () => {
    const stores = memoryStores();
    const made = (): Promise<Senders> =>
      senders(rule(10), new SharedMemory(stores, { processes: () => 3, away: () => false }));
    const [one, two, three] = [await made(), await made(), await made()];
    expect((await one.step("send")).askedAt).toBe("client");
    expect((await two.step("send")).askedAt).toBeUndefined();
    const [at, there] = [await one.consents.remembered(), await two.consents.remembered()];
    expect(at).toHaveLength(1);
    expect(there).toEqual([{ ...at[0], used: 1, lastUsed: expect.any(Number) }]);
    expect(await three.consents.takeBack(at[0]?.id, "console")).toHaveLength(1);
    for (const each of [one, two, three]) expect(await each.consents.remembered()).toEqual([]);
    expect((await one.step("send")).askedAt).toBe("client");
    expect((await two.step("send")).askedAt).toBeUndefined();
  });

  it("is not taken back, and says so, where the others cannot be told", async () => {
    const stores = memoryStores();
    const one = await senders(rule(10), new SharedMemory(stores, { processes: () => 2, away: () => false }));
    await one.step("send");
    const [kept] = await one.consents.remembered();
    const gone = vi.spyOn(stores.records, "list").mockRejectedValue(new Error("UNREACHABLE"));
    await expect(one.consents.takeBack(kept?.id, "console")).rejects.toThrow("UNREACHABLE");
    gone.mockRestore();
    expect(await one.consents.takeBack(kept?.id, "console")).toHaveLength(1);
  });
});
