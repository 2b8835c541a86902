// Somebody does with the letters between processes whatever they like, both ways, and has no key: a call is done once at most, as it
// was sent, and what it is answered is its own answer or that nobody knows.
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Detours } from "../../src/cluster/detours.js";
import { NodeRelay } from "../../src/cluster/relay.js";
import { type Bus, memoryStores } from "../../src/cluster/stores.js";
import { repeated } from "../support/soak.js";
import { fakeRequest, KEY } from "./cluster-fixture.js";

const CALLERS = ["front", "other"] as const;
const CALLS = 3;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => void vi.useRealTimers());

interface Sent {
  readonly to: string;
  readonly text: string;
}

/** Makes of a letter those that arrive instead; `earlier` are all before it, `n` says which of them is meant. */
type Attack = (letter: Sent, earlier: readonly Sent[], n: number) => readonly Sent[];

function withPart(letter: Sent, place: number, change: (part: string) => string): Sent {
  const parts = letter.text.split(" ");
  parts[place] = change(parts[place] ?? "");
  return { ...letter, text: parts.join(" ") };
}

const [FROM, KIND, WAY, NUMBER, CONTENT] = [0, 1, 2, 3, 4];
const KINDS = ["open", "data", "has", "end", "none", "ready"];

const bytesOf = (content: string, change: (bytes: Buffer) => Buffer): string =>
  change(Buffer.from(content, "base64")).toString("base64");

/** What can be done to letters that are sealed. */
const WHOLE: Readonly<Record<string, Attack>> = {
  "as it is": (letter) => [letter],
  "left out": () => [],
  twice: (letter) => [letter, letter],
  "with one before it": (letter, earlier, n) => [earlier[n % earlier.length] ?? letter, letter],
  "all before it once more": (letter, earlier) => [...earlier, letter],
  "one before it instead": (letter, earlier, n) => [earlier[n % earlier.length] ?? letter],
};

/** What can be done besides where a store does not seal them: then a call may stay without an answer until it is given up. */
const ALTERED: Readonly<Record<string, Attack>> = {
  "a bit changed": (letter, _, n) => [
    withPart(letter, CONTENT, (content) =>
      bytesOf(content, (bytes) =>
        Buffer.from(bytes.map((byte, at) => (at === n % bytes.length ? byte ^ (1 << (n % 8)) : byte))),
      ),
    ),
  ],
  "cut off": (letter, _, n) => [
    withPart(letter, CONTENT, (content) => bytesOf(content, (bytes) => bytes.subarray(0, n % (bytes.length + 1)))),
  ],
  "numbered anew": (letter, _, n) => [
    letter,
    withPart(letter, NUMBER, (number) => String(Number(number) + 1 + (n % 3))),
  ],
  "of another kind": (letter, _, n) => [withPart(letter, KIND, () => KINDS[n % KINDS.length] as string)],
  "of another process": (letter, _, n) => [withPart(letter, FROM, () => [...CALLERS, "owner"][n % 3] as string)],
  "of another way": (letter, earlier, n) => {
    const way = earlier[n % earlier.length]?.text.split(" ")[WAY] ?? "x";
    return [withPart(letter, WAY, () => way)];
  },
  "to another process": (letter, _, n) => [{ ...letter, to: [...CALLERS, "owner"][n % 3] as string }],
  "with the content of another": (letter, earlier, n) => {
    const content = earlier[n % earlier.length]?.text.split(" ")[CONTENT] ?? "";
    return [withPart(letter, CONTENT, () => content)];
  },
};

const ATTACKS = { ...WHOLE, ...ALTERED };

interface Step {
  readonly attack: string;
  readonly n: number;
}

/** The post, of which each letter suffers the next of `steps`, and those after them nothing. */
function postWith(steps: readonly Step[]): Bus {
  const { mail } = memoryStores();
  const sent: Sent[] = [];
  return {
    async publish(from, text, to = "") {
      const letter = { to, text };
      const { attack, n } = steps[sent.length] ?? { attack: "as it is", n: 0 };
      const arriving = (ATTACKS as Readonly<Record<string, Attack>>)[attack]?.(letter, [...sent], n) ?? [];
      sent.push(letter);
      for (const each of arriving) await mail.publish(from, each.text, each.to);
    },
    listen: (listener, topic) => mail.listen(listener, topic),
  };
}

async function relays(mail: Bus, served: string[]): Promise<ReadonlyMap<string, NodeRelay>> {
  const all = new Map<string, NodeRelay>();
  for (const node of ["owner", ...CALLERS]) {
    const knock = async (other: string): Promise<void> => all.get(other)?.knocked(node);
    const relay = new NodeRelay({
      ...{ node, keys: [KEY], listen: new URL("tcp://127.0.0.1:0"), find: async () => "tcp://127.0.0.1:1" },
      ...{ holds: () => true, answer: async (text) => text, onStranger: () => undefined },
      serve: (exchange) =>
        exchange.readBody(1_000, {
          body(_, text) {
            served.push(`${exchange.principal} ${text}`);
            exchange.reply(200, [], `answer to ${text}`);
          },
          bodyFault: () => undefined,
        }),
      detours: (accept) => new Detours({ node, mail, knock, accept }),
    });
    await relay.open();
    all.set(node, relay);
  }
  return all;
}

/** Lets time pass until all of it is known, or far longer than anything is waited for: gives what is known then. */
async function outcomes<T>(all: readonly Promise<T>[]): Promise<readonly T[]> {
  const found: T[] = [];
  for (const each of all) void each.then((outcome) => found.push(outcome));
  for (let turn = 0; found.length < all.length && turn < 3_000; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    // As long as something happens by itself no time passes.
    if (turn % 50 === 49) await vi.advanceTimersByTimeAsync(500);
  }
  return found;
}

it("does a call once at most, and gives it no answer but its own, and that in time", { timeout: 120_000 }, async () => {
  let answered = 0;
  const quiet = fc.constant({ attack: "as it is", n: 0 });
  const [steps, sealed] = [ATTACKS, WHOLE].map((attacks) => {
    const step = fc.record({ attack: fc.constantFrom(...Object.keys(attacks)), n: fc.nat(1_000) });
    return fc.array(fc.oneof({ weight: 4, arbitrary: quiet }, { weight: 1, arbitrary: step }), { maxLength: 40 });
  }) as [fc.Arbitrary<Step[]>, fc.Arbitrary<Step[]>];
  const property = fc.asyncProperty(fc.oneof(steps, sealed), async (all) => {
    const served: string[] = [];
    const made = await relays(postWith(all), served);
    const calls = CALLERS.flatMap((node) =>
      Array.from({ length: CALLS }, (_, n) => ({ node, body: `${node} ${n}`, exchange: fakeRequest() })),
    );
    const forwarded = calls.map(async ({ node, body, exchange }) => {
      const outcome = await made.get(node)?.forward("owner", { exchange, body, session: "s" });
      return { outcome, body, replies: exchange.replies };
    });
    const known = await outcomes(forwarded);
    if (all.every(({ attack }) => attack in WHOLE)) expect(known).toHaveLength(calls.length);
    for (const { outcome, body, replies } of known) {
      expect(["taken", "broken", "unreachable"]).toContain(outcome);
      if (outcome === "taken") expect(replies).toEqual([[200, `answer to ${body}`]]);
      else expect(replies).toEqual([]);
      // What was answered was done; what could not be sent was not.
      const done = served.filter((each) => each === `ada ${body}`).length;
      expect(done).toBeLessThanOrEqual(1);
      if (outcome === "taken") expect(done).toBe(1);
      if (outcome === "unreachable") expect(done).toBe(0);
      if (outcome === "taken") answered++;
    }
    expect(served.filter((each) => !calls.some(({ body }) => each === `ada ${body}`))).toEqual([]);
    for (const relay of made.values()) await relay.close();
  });
  await fc.assert(property, { numRuns: repeated(60, 1_000), seed: 11 });
  expect(answered).toBeGreaterThan(50);
});
