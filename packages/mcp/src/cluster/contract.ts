// The contracts of shared stores as cases that any test runner can run: for stores of one's own.
import type { StreamPiece } from "../http/server/exchange.js";
import type { SharedStores } from "./stores.js";
import type { TaskRecord } from "../server/tasks/task-store.js";

/** One case: it rejects with a sentence when the stores do not keep to the contract. */
export interface ContractCase {
  readonly name: string;
  /** `open` gives another opening of the same stores: what one process sees through it, all see. */
  run(open: (node: string) => Promise<SharedStores>): Promise<void>;
}

const LONG_MS = 60_000;

/** The cases. Give each of them stores that are empty, or a prefix of its own. */
export function storesContract(): readonly ContractCase[] {
  return [...SESSIONS, ...COUNTS, ...TASKS, ...STREAMS, ...NEWS];
}

const SESSIONS: readonly ContractCase[] = [
  {
    name: "a process is in the directory from its first sign of life until it leaves",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      await one.beat("one", "tcp://127.0.0.1:1");
      const { nodes } = await two.beat("two", "tcp://127.0.0.1:2");
      same(nodes.get("one"), "tcp://127.0.0.1:1", "the address of the other process");
      await one.leave("one");
      const later = await two.beat("two", "tcp://127.0.0.1:2");
      same(later.nodes.has("one"), false, "a process that left is there");
      same(later.lapsed, false, "a process that was there had lapsed");
      const last = await two.beat("two", "tcp://127.0.0.1:2");
      same(last.steadyMs >= later.steadyMs && later.steadyMs >= 0, true, "whether steady time grows");
    },
  },
  {
    name: "a session is read by every process, and written by its owner alone",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const record = { owner: "one", fence: 0, text: "facts" };
      same(await one.sessions.put("s", record, LONG_MS), true, "the first put");
      same(JSON.stringify(await two.sessions.get("s")), JSON.stringify(record), "what the other process reads");
      same(await two.sessions.put("s", { ...record, owner: "two" }, LONG_MS), false, "a put by another owner");
      await two.sessions.delete("s", "two");
      same((await one.sessions.get("s"))?.owner, "one", "the owner after another one's delete");
      await one.sessions.delete("s", "one");
      same(await two.sessions.get("s"), undefined, "a session that was deleted");
    },
  },
  {
    name: "of many processes that claim a session one gets it, with the next fence",
    async run(open) {
      const one = await open("one");
      await one.sessions.put("s", { owner: "gone", fence: 4, text: "facts" }, LONG_MS);
      const claims = await Promise.all(["a", "b", "c"].map((node) => one.sessions.claim("s", node, 4, LONG_MS)));
      const won = claims.filter((claim) => claim !== undefined);
      same(won.length, 1, "claims that were granted");
      same(won[0]?.fence, 5, "the fence of the new owner");
      same(won[0]?.text, "facts", "the facts the new owner reads");
      same(
        await one.sessions.put("s", { owner: "gone", fence: 4, text: "old" }, LONG_MS),
        false,
        "a put by the old owner",
      );
      const lost = await one.sessions.touch(["s"], "gone", LONG_MS);
      same(lost.join(), "s", "what the old owner learns that it lost");
      same((await one.sessions.touch(["none"], "gone", LONG_MS)).join(), "none", "what is kept of nobody");
    },
  },
];

const COUNTS: readonly ContractCase[] = [
  {
    name: "a limit counts for all processes, and counts under all keys or under none",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const rule = { perSecond: 0.001, burst: 3 };
      const waits: number[] = [];
      for (const stores of [one, two, one]) waits.push(await stores.limits.take({ k: rule }));
      same(waits.join(), "0,0,0", "the first three of a burst of three");
      same((await two.limits.take({ k: rule })) > 0, true, "whether the fourth has to wait");
      same((await two.limits.take({ other: rule, k: rule })) > 0, true, "whether a call under a full key has to wait");
      for (let n = 0; n < 3; n++) same(await one.limits.take({ other: rule }), 0, "a key that was not counted under");
      same(
        (await Promise.all([one.limits.take({}), one.limits.take({ new: rule })])).join(),
        "0,0",
        "an event under no key",
      );
    },
  },
  {
    name: "a burst passes whole, however it comes: at once or one by one, at one process or at several",
    async run(open) {
      const all = [await open("one"), await open("two"), await open("three")] as const;
      const rule = { perSecond: 0.001, burst: 20 };
      for (const [key, sizes] of [
        [1, 1, 18],
        [3, 3, 14],
        [6, 7, 7],
        [20, 0, 0],
      ].entries()) {
        const waits: number[] = [];
        for (const [at, size] of sizes.entries()) {
          const take = (): Promise<number> => all[at]!.limits.take({ [`burst ${key}`]: rule });
          waits.push(...(await Promise.all(Array.from({ length: size }, take))));
        }
        same(
          waits.filter((wait) => wait === 0).length,
          20,
          `events that passed of a burst that came as ${sizes.join(", ")}`,
        );
      }
    },
  },
  {
    name: "events that are counted at the same moment count one by one, whatever else is counted then",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const rate = { perSecond: 0.001, burst: 5 };
      const window = { most: 4, windowMs: 60_000 };
      const both = Array.from({ length: 6 }, (_, n) => (n % 2 === 0 ? one : two).limits.take({ r: rate, w: window }));
      const single = Array.from({ length: 3 }, () => one.limits.take({ r: rate }));
      const waits = await Promise.all([...both, ...single]);
      const passed = waits.map((wait) => wait === 0);
      same(passed.filter(Boolean).length, 5, "events that passed of nine with places for five");
      same(passed.slice(0, 6).filter(Boolean).length <= 4, true, "whether the window held");
      same(
        (await one.limits.take({ r: { perSecond: 0.001, burst: 50 } })) > 0,
        false,
        "a rule that allows more by now",
      );
    },
  },
  {
    name: "a window takes its most in any stretch of its length, for all processes together",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const rule = { most: 3, windowMs: 60_000 };
      const waits: number[] = [];
      for (const stores of [one, two, one]) waits.push(await stores.limits.take({ w: rule }));
      same(waits.join(), "0,0,0", "the first three of at most three");
      const wait = await two.limits.take({ w: rule, free: { perSecond: 1, burst: 9 } });
      same(wait > 0 && wait <= 61_000, true, `whether the fourth waits a minute: ${wait}`);
      const short = { most: 1, windowMs: 1_000 };
      same(await one.limits.take({ s: short }), 0, "the first of a short window");
      const rest = await two.limits.take({ s: short });
      // A timer may end a millisecond before the clock says so.
      await new Promise((resolve) => setTimeout(resolve, rest + 1));
      same(await two.limits.take({ s: short }), 0, "the second after the time that was said");
    },
  },
  {
    name: "a record is read by every process until it ends or is deleted",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      await one.records.put("g", "a", "first", LONG_MS);
      await one.records.put("g", "a", "second", LONG_MS);
      await two.records.put("g", "b", "other", LONG_MS);
      await two.records.put("h", "a", "elsewhere", LONG_MS);
      await two.records.put("g", "c", "short", 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      same(await two.records.get("g", "a"), "second", "what the other process reads");
      same(await two.records.get("g", "c"), undefined, "a record that has ended");
      const listed = [...(await one.records.list("g"))].map((pair) => pair.join()).sort();
      same(listed.join(" "), "a,second b,other", "the records of the group");
      await two.records.delete("g", "a");
      same(await one.records.get("g", "a"), undefined, "a record that was deleted");
      same((await one.records.list("g")).size, 1, "records of the group after one was deleted");
    },
  },
  {
    name: "a mark is given once",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const tries = await Promise.all([one, two, one, two].map((stores) => stores.marks.once("m", LONG_MS)));
      same(tries.filter(Boolean).length, 1, "processes that got the mark");
    },
  },
  {
    name: "a lock has one holder, and only its holder releases it",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const held = await one.locks.hold("l", LONG_MS);
      same(held === undefined, false, "a lock that was free");
      same(await two.locks.hold("l", LONG_MS), undefined, "a lock that is held");
      await held?.release();
      const next = await two.locks.hold("l", LONG_MS);
      same(next === undefined, false, "a lock that was released");
      await held?.release();
      same(await one.locks.hold("l", LONG_MS), undefined, "a lock whose former holder released it again");
    },
  },
];

const TASKS: readonly ContractCase[] = [
  {
    name: "a task is seen by every process and by its principal alone, and its end is final",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      await one.tasks.put(record("one.t", "working"));
      same((await two.tasks.get("one.t", "ada"))?.task.status, "working", "the status another process reads");
      same(await two.tasks.get("one.t", "bob"), undefined, "a task of somebody else");
      await one.tasks.put(record("one.t", "completed"));
      await two.tasks.put(record("one.t", "failed"));
      same((await one.tasks.get("one.t", "ada"))?.task.status, "completed", "the status after a second end");
      same((await two.tasks.list("ada", { limit: 10 })).length, 1, "tasks in the list of the principal");
      await one.tasks.delete("one.t");
      same(await two.tasks.get("one.t", "ada"), undefined, "a task that was deleted");
    },
  },
];

const BOUNDS = { pieces: 100, bytes: 10_000, allBytes: 100_000, lifeMs: LONG_MS };

/** A piece of a stream: these events, and perhaps its end. */
function piece(after: number, texts: readonly string[], ended = false): StreamPiece {
  return { about: "a", after, events: texts.map((text, n) => ({ sequence: after + 1 + n, text })), ended };
}

/** What is read of a stream after a position, as a text. */
async function readOf({ streams }: SharedStores, stream: string, after: number): Promise<string> {
  const kept = await streams.read(stream, after);
  if (kept === undefined) return "nothing";
  const events = kept.events.map(({ sequence, text }) => `${sequence}${text}`).join();
  return `${kept.about}:${events}${kept.ended ? "." : ""}`;
}

const STREAMS: readonly ContractCase[] = [
  {
    name: "a stream is read by every process after any position, in order, and its end is final",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      same(await readOf(two, "s", 0), "nothing", "a stream that nobody began");
      same(await one.streams.append("s", piece(0, []), BOUNDS), true, "its beginning");
      same(await readOf(two, "s", 0), "a:", "what is read of a stream without events");
      const told = ["x", "y", "z"].map((text, n) => one.streams.append("s", piece(n, [text]), BOUNDS));
      same((await Promise.all(told)).join(), "true,true,true", "three events at once");
      for (const [after, found] of [
        [0, "a:1x,2y,3z"],
        [2, "a:3z"],
        [3, "a:"],
        [9, "a:"],
      ] as const)
        same(await readOf(two, "s", after), found, `what is read after ${after}`);
      same(await two.streams.append("s", piece(2, ["w"], true), BOUNDS), false, "an event in the place of another");
      const ends = [one, two].map(({ streams }) => streams.append("s", piece(3, ["end"], true), BOUNDS));
      same((await Promise.all(ends)).filter(Boolean).length, 1, "processes that ended it");
      same(await one.streams.append("s", piece(4, ["late"]), BOUNDS), false, "an event after the end");
      same(await readOf(two, "s", 2), "a:3z,4end.", "what is read of a stream that has ended");
      await two.streams.append("t", piece(0, ["x"]), BOUNDS);
      await two.streams.append("t", piece(1, [], true), BOUNDS);
      same(await readOf(one, "t", 0), "a:1x.", "what is read of a stream that ended without an event");
      await one.streams.delete(["s", "t"]);
      same(await readOf(two, "s", 2), "nothing", "what is read of a stream that was deleted");
    },
  },
  {
    name: "a stream has all that came after a position, or nothing: its oldest events go, and it ends by itself",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const few = { ...BOUNDS, pieces: 2 };
      for (let n = 0; n < 4; n++) await one.streams.append("s", piece(n, ["x"]), few);
      same(await readOf(two, "s", 1), "nothing", "what is read before the oldest event");
      same(await readOf(two, "s", 2), "a:3x,4x", "what is read after the last that is gone");
      const short = { ...BOUNDS, bytes: 1_000 };
      await one.streams.append("t", piece(0, ["x".repeat(900)]), short);
      await one.streams.append("t", piece(1, ["y".repeat(2_000)]), short);
      same(await readOf(two, "t", 0), "nothing", "what is read before a long event");
      same((await readOf(two, "t", 1)).length, 2_003, "the length of a long event");
      await one.streams.append("u", piece(0, ["x"]), BOUNDS);
      await one.streams.append("u", piece(2, ["z"]), BOUNDS);
      same(await readOf(two, "u", 0), "nothing", "what is read before a gap");
      same(await readOf(two, "u", 2), "a:3z", "what is read after a gap");
      await one.streams.append("w", piece(0, ["x"]), BOUNDS);
      await one.streams.append("w", piece(2, [], true), BOUNDS);
      same(await readOf(two, "w", 0), "nothing", "what is read before a gap behind which the stream ends");
      same(await readOf(two, "w", 2), "a:.", "what is read of the end behind a gap");
      await one.streams.append("v", piece(0, ["x"]), { ...BOUNDS, lifeMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, 20));
      same(await readOf(two, "v", 0), "nothing", "what is read after its time");
    },
  },
];

const NEWS: readonly ContractCase[] = [
  {
    name: "letters reach the process they are for, and nobody else, in order and once",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const heard: string[] = [];
      const others: string[] = [];
      let all = (): void => undefined;
      const ten = new Promise<void>((resolve) => (all = resolve));
      const stops = [
        await one.mail.listen({ hear: (_, text) => others.push(text), missed: () => undefined }, "one"),
        await two.mail.listen(
          {
            hear(from, text) {
              heard.push(`${from} ${text}`);
              if (heard.length === 10) all();
            },
            missed: () => heard.push("missed"),
          },
          "two",
        ),
      ];
      for (let n = 0; n < 10; n++) await one.mail.publish("one", String(n), "two");
      await ten;
      for (const stop of stops) stop();
      same(others.join(), "", "letters to another process");
      same(heard.join(), [..."0123456789"].map((n) => `one ${n}`).join(), "letters");
    },
  },
  {
    name: "every process hears what is published after it began to listen, in order and once",
    async run(open) {
      const [one, two] = [await open("one"), await open("two")];
      const heard: string[] = [];
      let all = (): void => undefined;
      const ten = new Promise<void>((resolve) => (all = resolve));
      const others: string[] = [];
      const stopOther = await two.bus.listen({ hear: (_, text) => others.push(text), missed: () => undefined }, "t");
      const stop = await two.bus.listen({
        hear: (from, text) => {
          heard.push(`${from} ${text}`);
          if (heard.length === 10) all();
        },
        missed: () => heard.push("missed"),
      });
      for (let n = 0; n < 10; n++) await one.bus.publish("one", String(n));
      await one.bus.publish("one", "of a topic", "t");
      await ten;
      for (let n = 0; others.length === 0 && n < 500; n++) await new Promise((resolve) => setTimeout(resolve, 10));
      stop();
      stopOther();
      same(others.join(), "of a topic", "what was heard of another topic");
      same(heard.join(), [..."0123456789"].map((n) => `one ${n}`).join(), "what was heard");
    },
  },
];

function record(taskId: string, status: TaskRecord["task"]["status"]): TaskRecord {
  const now = new Date().toISOString();
  return {
    principal: "ada",
    task: { taskId, status, createdAt: now, lastUpdatedAt: now, ttlMs: LONG_MS, pollIntervalMs: 1_000 },
  };
}

function same(found: unknown, expected: unknown, what: string): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)} instead of ${String(expected)}`);
}
