// Throws schemas and values made to exhaust the process at the compiler: each is refused, quickly and in little memory.

import { describe, expect, it } from "vitest";
import { compileJsonSchema } from "../../src/schema/json-schema/compile.js";
import { SchemaError } from "../../src/schema/json-schema/run.js";
import type { JsonSchema } from "../../src/schema/schema.js";
import { threadMilliseconds } from "../support/thread-time.js";
import { type Bomb, BOMBS } from "./schema-bombs.js";

const MOST_MS = 50;
/** A busy machine gets more tries, not more time. */
const MOST_TRIES = 15;

/** What became of a bomb, and the processor time it took. */
function explode(schema: unknown, value: unknown): { outcome: Bomb[2]; milliseconds: number } {
  const start = threadMilliseconds();
  const milliseconds = (): number => threadMilliseconds() - start;
  try {
    const answer = compileJsonSchema(schema as JsonSchema).validate(value);
    const expensive = !answer.ok && answer.faults.some(({ message }) => message.includes("too expensive"));
    return { outcome: expensive ? "expensive" : "answered", milliseconds: milliseconds() };
  } catch (error) {
    expect(error).toBeInstanceOf(SchemaError);
    return { outcome: "refused", milliseconds: milliseconds() };
  }
}

describe("schema bombs", () => {
  it("are at least 40", () => expect(BOMBS.length).toBeGreaterThanOrEqual(40));

  it.each(BOMBS)("%s", (_name, make, expected) => {
    const { schema, value } = make();
    const before = process.memoryUsage();
    const { outcome, milliseconds } = explode(schema, value);
    const after = process.memoryUsage();
    expect(outcome).toBe(expected);
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(32 * 2 ** 20);
    // Somebody else on the same core empties its caches, so the best of some tries counts.
    let best = milliseconds;
    for (let run = 1; run < MOST_TRIES && best >= MOST_MS; run++)
      best = Math.min(best, explode(schema, value).milliseconds);
    if (milliseconds >= 25) console.info(`${_name}: ${milliseconds.toFixed(0)} ms, best ${best.toFixed(0)} ms`);
    expect(best).toBeLessThan(MOST_MS);
  });
});
