// Sixty texts made to be expensive, each cheap here: in processor time and in memory.
import { beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { ParseFault } from "../../src/jsonrpc/parse-fault.js";
import { parseJson } from "../../src/jsonrpc/parse.js";
import { repeated } from "../support/soak.js";
import { threadMilliseconds } from "../support/thread-time.js";
import { BOMBS, request } from "./json-bombs.js";

const MAX = DEFAULT_LIMITS.messageBytes;

/** A busy machine gets more tries, not more time. */
const TRIES = { usual: repeated(1, 3), most: 100 };
const MOST_MS = 20;
// What must be parsed to be judged may cost as much as one message of the longest kind, however short it is.
const mostBytes = (text: string): number => Math.max(2 * text.length, MAX);

// The quickest of some: others share the machine and its caches, and what they take is not the parser's cost.
function cost(text: string): { milliseconds: number; bytes: number; value: unknown } {
  let milliseconds = Infinity;
  let bytes = Infinity;
  let value: unknown;
  const dear = (): boolean => milliseconds >= MOST_MS || bytes >= mostBytes(text);
  for (let run = 0; run < TRIES.usual || (dear() && run < TRIES.most); run++) {
    const memory = process.memoryUsage();
    const before = threadMilliseconds();
    value = parseJson(text, DEFAULT_LIMITS);
    const spent = threadMilliseconds() - before;
    const after = process.memoryUsage();
    milliseconds = Math.min(milliseconds, spent);
    bytes = Math.min(bytes, after.heapUsed + after.external - memory.heapUsed - memory.external);
  }
  return { milliseconds, bytes, value };
}

describe("bombs", () => {
  beforeAll(() => {
    for (let run = 0; run < 50; run++) parseJson(request(`{"text":"${"x".repeat(1_000)}"}`), DEFAULT_LIMITS);
  });

  it("are at least sixty", () => expect(BOMBS.length).toBeGreaterThanOrEqual(60));

  it.each(BOMBS)("%s", (_name, make) => {
    // Flattened first: the text arrives as one piece.
    const text = Buffer.from(make()).toString("utf8");
    const { milliseconds, bytes, value } = cost(text);
    expect(value).toBeInstanceOf(ParseFault);
    expect((value as ParseFault).message).toMatch(/^(Message refused: it |Parse error: the message is not JSON)/);
    expect(milliseconds).toBeLessThan(MOST_MS);
    expect(bytes).toBeLessThan(mostBytes(text));
  });
});
