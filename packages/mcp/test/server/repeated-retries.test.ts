// The same retry sent again and again: each request has an end of its own, and the handler that serves them has another.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Seal, Server } from "@secure-local/mcp/server";
import type { Call } from "../../src/endpoint/call.js";
import { type Message, serveStub, stateless, turns } from "../support/stub-transport.js";

const CAN = { elicitation: {} };
/** Opens at once, so that requests are served in the order they come. */
const PLAIN: Seal = { seal: (text) => Promise.resolve(btoa(text)), open: (sealed) => Promise.resolve(atob(sealed)) };
const FINAL = { reason: "its time is over", answered: false };

/** How a request can end before its answer, and whether the handler goes on while another waits. */
const ENDS = {
  "is cancelled by its client": true,
  "loses its connection": true,
  "is cancelled by middleware": false,
} as const;
type End = keyof typeof ENDS;

interface Request {
  readonly call: Call;
  readonly peer: ReturnType<typeof serveStub>;
  /** Told by each of the ways there are. */
  readonly heard: string[];
  /** What came from within; undefined until then. */
  from: "answer" | "error" | undefined;
  /** Lets its answer leave, where middleware holds it back. */
  leave(): void;
}

/** A tool that asks `questions` times, and that goes on after each answer when it is let; and the requests it is sent. */
class Play {
  readonly requests: Request[] = [];
  /** The states that were handed out, by their number. */
  readonly states: string[] = [];
  readonly handler = { started: 0, at: 0, aborted: 0, ended: false };
  readonly #server = new Server({ name: "asking", version: "1.0.0", seal: PLAIN, report: false });
  #goOn = (): void => undefined;
  #ids = 0;

  constructor(questions: number, heeds: boolean) {
    const { handler } = this;
    this.#server.tool("ask", {
      run: async (_args, ctx) => {
        handler.started++;
        // Once and for all: it lasts as long as the handler.
        const { signal } = ctx;
        signal.addEventListener("abort", () => handler.aborted++);
        const given: unknown[] = [];
        try {
          for (let number = 1; number <= questions; number++) {
            const answer = await ctx.elicit({ message: `${number}?`, schema: { v: { type: "string" } } });
            given.push(answer.content?.["v"]);
            const letGo = new Promise<void>((resolve) => (this.#goOn = resolve));
            handler.at = number;
            await letGo;
            if (heeds) signal.throwIfAborted();
          }
          return given.join(" ");
        } finally {
          handler.ended = true;
        }
      },
    });
    this.#server.use(async (call, next) => {
      const request = this.requests.at(-1) as Request & { call: Call };
      request.call = call;
      call.signal.addEventListener("abort", () => request.heard.push("signal"));
      call.whenCancelled(() => request.heard.push("listener"));
      const left = new Promise<void>((resolve) => (request.leave = resolve));
      try {
        const answer = await next();
        request.from = "answer";
        await left;
        return answer;
      } catch (error) {
        request.from = "error";
        throw error;
      }
    });
  }

  /** Sends a request of the first round, or a retry of a later one, and waits until it is served or answered from within. */
  async send(round: number): Promise<Request> {
    const peer = serveStub(this.#server, "ada", { graceMs: 0 });
    const request = { peer, heard: [], from: undefined } as unknown as Request;
    this.requests.push(request);
    const params: Message = { name: "ask", arguments: {} };
    if (round > 0) {
      params["requestState"] = this.states[round - 1];
      params["inputResponses"] = { [`ask-${round}`]: { action: "accept", content: { v: `v${round}` } } };
    }
    peer.send(stateless(++this.#ids, "tools/call", params, CAN));
    await until(() => request.call?.handling !== undefined || request.from !== undefined);
    return request;
  }

  /** Sends the first request, and has its answer. */
  async begin(): Promise<void> {
    const first = await this.send(0);
    await until(() => first.from === "answer");
    await this.answer(first);
  }

  /** Sends a retry that wakes the handler, which then waits until it is let go. */
  async wake(round: number): Promise<Request> {
    const request = await this.send(round);
    await until(() => this.handler.at === round);
    return request;
  }

  /** The answer that leaves; the state that it brings is kept. */
  async answer(request: Request): Promise<Message> {
    request.leave();
    const answer = await request.peer.answer(request.call.id);
    const state = (answer["result"] as Message | undefined)?.["requestState"] as string | undefined;
    if (state !== undefined && !this.states.includes(state)) this.states.push(state);
    return answer;
  }

  async end(request: Request, how: End): Promise<void> {
    const { call, peer } = request;
    const requestId = call.id;
    if (how === "is cancelled by its client")
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    else if (how === "loses its connection") peer.end();
    else call.cancel(FINAL);
    await until(() => call.cancellation !== undefined);
    await turns();
  }

  async goOn(): Promise<void> {
    this.#goOn();
    await turns();
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !holds(); await turns(1))
    if (performance.now() > end) throw new Error(`never: ${String(holds)}`);
}

const textOf = (answer: Message): string =>
  ((answer["result"] as Message)["content"] as { text: string }[])[0]?.text ?? "";

/** All orders of some things. */
function orders<T>(things: readonly T[]): T[][] {
  if (things.length <= 1) return [[...things]];
  return things.flatMap((one) => orders(things.filter((other) => other !== one)).map((rest) => [one, ...rest]));
}

describe("a handler whose retry was sent again", () => {
  const OWN = (Object.keys(ENDS) as End[]).filter((how) => ENDS[how]);

  it.each(OWN.flatMap((how) => orders([0, 1, 2]).map((order) => [how, order] as const)))(
    "goes on until each of three %s (in the order %j), and each hears of its own end alone",
    async (how, order) => {
      const play = new Play(1, true);
      await play.begin();
      const retries = [await play.wake(1), await play.send(1), await play.send(1)];
      for (const [place, number] of order.entries()) {
        await play.end(retries[number] as Request, how);
        expect(play.handler.aborted).toBe(place === 2 ? 1 : 0);
        const gone = order.slice(0, place + 1);
        for (const [each, { heard }] of retries.entries())
          expect(heard.sort()).toEqual(gone.includes(each) ? ["listener", "signal"] : []);
      }
    },
  );

  it.each([0, 1, 2].flatMap((ends) => [true, false].map((heeds) => [ends, heeds] as const)))(
    "ends for all of them with one whose end is not its caller's own (number %i, it heeds that: %s)",
    async (ends, heeds) => {
      const play = new Play(2, heeds);
      await play.begin();
      const retries = [await play.wake(1), await play.send(1), await play.send(1)];
      await play.end(retries[ends] as Request, "is cancelled by middleware");
      expect(play.handler.aborted).toBe(1);
      const late = await play.send(1);
      await play.goOn();
      // What comes after its end is told as well.
      const later = await play.send(1);
      for (const { call, heard } of [...retries, late, later]) {
        expect(call.cancellation).toBe(FINAL);
        expect(heard.sort()).toEqual(["listener", "signal"]);
      }
      expect(play.handler).toMatchObject({ started: 1, aborted: 1, ended: true });
    },
  );

  it.each([0, 1].flatMap((number) => (Object.keys(ENDS) as End[]).map((how) => [number, how] as const)))(
    "keeps the question that one was answered with when number %i %s before its answer leaves",
    async (number, how) => {
      const play = new Play(2, true);
      await play.begin();
      const retries = [await play.wake(1), await play.send(1)] as const;
      await play.goOn();
      await until(() => retries.every(({ from }) => from === "answer"));
      await play.answer(retries[1 - number] as Request);
      await play.end(retries[number] as Request, how);
      const next = await play.wake(2);
      await play.goOn();
      expect(textOf(await play.answer(next))).toBe("v1 v2");
      expect(play.handler).toEqual({ started: 1, at: 2, aborted: 0, ended: true });
    },
  );
});

// Any schedule, against a model that knows rounds and who waits, and nothing of how either is kept.

type Step =
  | { readonly do: "send"; readonly round: number }
  | { readonly do: "end"; readonly which: number; readonly how: End }
  | { readonly do: "go on" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const), round: fc.nat(2) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      which: fc.nat(7),
      how: fc.constantFrom(...(Object.keys(ENDS) as End[])),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ do: "go on" as const }) },
);

/** What should be: which round the handler is in, who waits for it, and whether it was ended. */
class Model {
  /** Rounds that were answered: the state of one wakes the next. */
  handedOut = 1;
  isRunning = false;
  isEnded = false;
  isDone = false;
  readonly cancelled = new Set<number>();
  #waiting: { readonly number: number; left: boolean }[] = [];
  /** The round in which it was ended by what no caller wanted. */
  #finalIn: number | undefined;
  #round = 0;

  readonly #questions: number;

  constructor(questions: number) {
    this.#questions = questions;
  }

  send(number: number, back: number): number {
    const round = Math.max(1, this.handedOut - back);
    const isNew = round > this.#round && !this.isDone;
    if (isNew) [this.#round, this.isRunning, this.#waiting] = [round, true, []];
    if (this.isRunning && round === this.#round) this.#waiting.push({ number, left: false });
    if (this.#finalIn === round) this.cancelled.add(number);
    return round;
  }

  end(number: number, how: End): void {
    this.cancelled.add(number);
    const one = this.#waiting.find((each) => each.number === number);
    if (!this.isRunning || one === undefined) return;
    one.left = true;
    if (this.isEnded) return;
    if (!ENDS[how]) this.#finalIn = this.#round;
    const isFinal = this.#finalIn !== undefined;
    this.isEnded = isFinal || this.#waiting.every(({ left }) => left);
    if (isFinal) for (const each of this.#waiting) this.cancelled.add(each.number);
  }

  goOn(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.isDone = this.isEnded || this.#round === this.#questions;
    if (!this.isDone) this.handedOut++;
  }
}

async function played(steps: readonly Step[]): Promise<void> {
  const [play, model] = [new Play(3, true), new Model(3)];
  await play.begin();
  const retries: Request[] = [];
  const has = (): void => {
    expect(play.handler).toMatchObject({ started: 1, aborted: model.isEnded ? 1 : 0, ended: model.isDone });
    for (const [number, { call }] of retries.entries())
      expect([number, call.cancellation !== undefined]).toEqual([number, model.cancelled.has(number)]);
  };
  const sends = async (back: number): Promise<void> => {
    const number = retries.length;
    const wasRunning = model.isRunning;
    const round = model.send(number, back);
    retries.push(await (model.isRunning && !wasRunning ? play.wake(round) : play.send(round)));
  };
  const goesOn = async (): Promise<void> => {
    const before = model.handedOut;
    const waiting = retries.filter(({ from }) => from === undefined);
    model.goOn();
    await play.goOn();
    await until(() => waiting.every(({ from }) => from !== undefined));
    // Whoever is left has it; the rest may keep it for as long as they like.
    const reader = waiting.find(({ call }) => call.cancellation === undefined);
    if (model.handedOut > before) await play.answer(reader as Request);
  };
  for (const each of steps) {
    const ending = each.do === "end" ? retries[each.which % Math.max(1, retries.length)] : undefined;
    if (each.do === "send") await sends(each.round);
    else if (each.do === "go on") await goesOn();
    else if (ending !== undefined && ending.call.cancellation === undefined && !ending.call.ended) {
      model.end(retries.indexOf(ending), each.how);
      await play.end(ending, each.how);
    }
    has();
  }
  // However it went: a handler that was not ended comes to its end.
  while (!model.isDone) {
    if (!model.isRunning) await sends(0);
    await goesOn();
    has();
  }
  const last = await play.send(model.handedOut);
  if (!model.isEnded) expect(textOf(await play.answer(last))).toBe("v1 v2 v3");
}

describe("any schedule of retries", () => {
  it("is served as the model says: twice and more, cancelled, cut off, out of time, between rounds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) => played(steps)),
      { numRuns: 80 },
    );
  }, 60_000);
});
