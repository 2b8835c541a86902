// Plays a golden conversation against a fixture server and returns the steps as they really went.
import { vi } from "vitest";
import { memoryTransports } from "../../src/transport/memory.js";
import { serve } from "../../src/serve/serve.js";
import { WireJudge } from "../support/wire-judge.js";
import { FIXTURES } from "./fixtures.js";
import type { Step, Transcript } from "./transcript.js";
import { Volatile } from "./volatile.js";

/** Turns of the event loop without a message after which the server is taken to have said all it wanted to say. */
const QUIET_TURNS = 12;
/** How long a recording waits for requests that may or may not be answered. */
const RECORDING_QUIET_MS = 150;
const PATIENCE_MS = 5_000;

export interface Played {
  readonly steps: readonly Step[];
  /** What the official schema of the revision has to say about the server's messages. */
  readonly faults: readonly string[];
}

/** `recording`: how many lines to expect is not known, so wait for silence. */
export async function play(transcript: Transcript, recording: boolean): Promise<Played> {
  const make = FIXTURES[transcript.server];
  if (make === undefined) throw new Error(`There is no fixture server "${transcript.server}"`);
  const [ours, theirs] = memoryTransports();
  const serving = serve(make(), theirs);
  const judge = new WireJudge();
  const volatile = new Volatile(transcript.definitions);
  const received: string[] = [];
  void ours.start({
    receive(text) {
      judge.received(text);
      received.push(volatile.hide(text));
    },
    unreadable: () => undefined,
    lost: () => undefined,
    noise: () => undefined,
    closed: () => undefined,
  });
  const steps: Step[] = [];
  try {
    for (const step of transcript.steps) {
      for (const line of step.client) {
        if (line.startsWith("!")) direct(line.slice(2), () => void serving.close());
        if (!line.startsWith("→")) continue;
        const text = volatile.show(line.slice(2));
        judge.sent(text);
        void ours.send({ text, kind: "request" });
      }
      await settled(received, recording ? judge : step.server.length);
      steps.push({ client: step.client, server: received.splice(0) });
    }
  } finally {
    vi.useRealTimers();
    await ours.close();
    await serving.closed;
  }
  return { steps, faults: judge.faults };
}

function direct(directive: string, close: () => void): void {
  const [word, amount] = directive.split(" ");
  if (word === "close") {
    close();
  } else if (word === "later") {
    // Only the clock: timers go on, so that nothing has to be waited for.
    const now = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: now + Number(amount) * 60_000 });
  } else {
    throw new Error(`Unknown directive: ${directive}`);
  }
}

/** Waits for the lines that are expected, or while `expected` has requests open; then until nothing more comes. */
async function settled(received: readonly string[], expected: number | WireJudge): Promise<void> {
  const patience = typeof expected === "number" ? PATIENCE_MS : RECORDING_QUIET_MS;
  const owed = (): boolean => (typeof expected === "number" ? received.length < expected : expected.open > 0);
  const deadline = performance.now() + patience;
  while (owed() && performance.now() < deadline) await turn();
  let seen = received.length;
  for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
    await turn();
    if (received.length === seen) continue;
    seen = received.length;
    quiet = 0;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
