// A question of one process before the eyes of people at three: one answer decides, and each is told what became of theirs.
import { describe, expect, it } from "vitest";
import { memoryStores, type SharedStores } from "@secure-local/mcp/cluster";
import { faultyStores } from "../../../mcp/test/cluster/faulty-stores.js";
import { SharedQuestions } from "../../src/cluster/shared-questions.js";
import { OpenQuestions } from "../../src/control/control-socket.js";
import { digestOfText, type PersonsAnswer, type QuestionMessage } from "../../src/control/control-client.js";

const QUESTION = { id: "ab12", text: 'Allow "erase"?', remember: undefined, timeoutMs: 60_000 };
const NODES = ["one", "two", "three"];

/** A process with a person who watches it. */
async function process(node: string, { bus, records }: SharedStores, away: () => boolean) {
  const told: QuestionMessage[] = [];
  const local = new OpenQuestions(() => undefined);
  const watcher = { tell: (message: QuestionMessage) => void told.push(message) };
  local.join(watcher);
  const shared = new SharedQuestions({ node, bus, records, local, away });
  await shared.start();
  return {
    shared,
    told: () => told.filter(({ kind }) => kind === "settled"),
    ends: () => local.leave(watcher),
    answer: (answer: PersonsAnswer) =>
      local.answer(watcher, {
        ask: "answer",
        id: QUESTION.id,
        shown: digestOfText(QUESTION.text),
        answer,
        by: "console",
      }),
  };
}

async function asked(stores: SharedStores = memoryStores(), away: () => boolean = () => false) {
  const people = await Promise.all(NODES.map((node) => process(node, stores, away)));
  const [asker] = people as [(typeof people)[0]];
  const reply = asker.shared.ask(QUESTION, new AbortController().signal);
  await turns();
  return { people, asker, reply };
}

/** All that follows without waiting for anything outside has followed. */
const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const PAIRS = NODES.flatMap((_, first) => NODES.map((__, second) => [first, second] as const)).filter(
  ([a, b]) => a !== b,
);

describe("a question that people at several processes see", () => {
  it.each(PAIRS)("is decided once when %i and %i answer in one moment, and each is told the truth", async (a, b) => {
    const { people, reply } = await asked();
    people[a]?.answer("approve");
    people[b]?.answer("deny");
    const { answer } = await reply;
    await turns();
    const said = people.map((person) => person.told());
    expect(said.map((messages) => messages.length)).toEqual([1, 1, 1]);
    const counted = said.flatMap(([message], at) => (message?.kind === "settled" && message.counted ? [at] : []));
    expect(counted).toEqual([answer === "approve" ? a : b]);
    expect(said[counted[0] as number]?.[0]).toMatchObject({ answer });
  });

  it("says to those who did not decide that it was answered elsewhere, and how", async () => {
    const { people, reply } = await asked();
    people[1]?.answer("approve");
    expect(await reply).toEqual({ answer: "approve", by: "console" });
    await turns();
    expect(people[1]?.told()).toMatchObject([{ answer: "approve", counted: true }]);
    for (const at of [0, 2])
      expect(people[at]?.told()).toMatchObject([
        { counted: false, reason: "it was answered at another process: approve" },
      ]);
  });

  it("takes no yes while nothing can be written to what is shared, wherever it comes from, and says so", async () => {
    for (const at of [0, 1]) {
      let away = false;
      const { people, reply } = await asked(memoryStores(), () => away);
      away = true;
      people[at]?.answer("approve");
      expect(await reply).toEqual({ answer: undefined, reason: expect.stringContaining("UNREACHABLE") as string });
      await turns();
      expect(people[at]?.told()).toMatchObject([{ reason: expect.stringContaining("try again") as string }]);
      expect(people[at]?.told()).not.toMatchObject([{ answer: "approve" }]);
    }
  });

  it("takes no yes once what is shared cannot be read, and a no at any time", async () => {
    for (const answer of ["approve", "deny"] as const) {
      const faulty = faultyStores(memoryStores());
      const { people, reply } = await asked(faulty.stores);
      faulty.failing = "rejects";
      people[0]?.answer(answer);
      expect((await reply).answer).toBe(answer === "deny" ? "deny" : undefined);
    }
  });

  it.each(["approve", "deny"] as const)(
    "says at once that %s cannot be told to the process that asks",
    async (answer) => {
      const faulty = faultyStores(memoryStores());
      const { people } = await asked(faulty.stores);
      faulty.failing = "rejects";
      people[1]?.answer(answer);
      await turns();
      expect(people[1]?.told()).toMatchObject([
        { counted: false, reason: expect.stringContaining("UNREACHABLE") as string },
      ]);
    },
  );

  it("says so when the process that asked is gone before it said what counts", async () => {
    const { people, asker } = await asked();
    asker.shared.close();
    people[1]?.shared.present(new Map([["two", {}]]));
    await turns();
    expect(people[1]?.told()).toMatchObject([{ counted: false }]);
  });
});
