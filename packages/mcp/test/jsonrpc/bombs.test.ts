// Sixty texts made to be expensive, each cheap here: in processor time and in memory.
import { beforeAll, describe, expect, it } from "vitest";
import { CLIENT_LIMITS, DEFAULT_LIMITS, type JsonRpcLimits } from "../../src/jsonrpc/limits.js";
import { ParseFault, parseJson } from "../../src/jsonrpc/parse.js";
import { repeated, sampled } from "../support/soak.js";
import { threadMilliseconds } from "../support/thread-time.js";
import { BOMBS, request } from "./json-bombs.js";

const MAX = DEFAULT_LIMITS.messageBytes;

/** A busy machine gets more tries, not more time. */
const TRIES = { usual: repeated(1, 3), most: 100 };
const MOST_MS = 20;
// What must be parsed to be judged may cost as much as one message of the longest kind, however short it is.
const mostBytes = (text: string): number => Math.max(2 * text.length, MAX);

interface Bounds {
  readonly limits?: JsonRpcLimits;
  readonly mostMs?: number;
  readonly bytesAtMost?: number;
}

// The quickest of some: others share the machine and its caches, and what they take is not the parser's cost.
function cost(
  text: string,
  { limits = DEFAULT_LIMITS, mostMs = MOST_MS, bytesAtMost = mostBytes(text) }: Bounds = {},
): {
  milliseconds: number;
  bytes: number;
  value: unknown;
} {
  let milliseconds = Infinity;
  let bytes = Infinity;
  let value: unknown;
  const dear = (): boolean => milliseconds >= mostMs || bytes >= bytesAtMost;
  for (let run = 0; run < TRIES.usual || (dear() && run < TRIES.most); run++) {
    const memory = process.memoryUsage();
    const before = threadMilliseconds();
    value = parseJson(text, limits);
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

/** The dearest texts there are for each rule a client's wider limits leave in place. */
const WIDE: readonly (readonly [string, () => string])[] = [
  ["200,000 shapes of objects", () => `[${Array.from({ length: 199_000 }, (_, i) => `{"k${i}":0}`).join()}]`],
  ["200,000 different keys in one object", () => members(199_000, (index) => `k${index.toString(36)}`)],
  ["200,000 keys like indices", () => members(199_000, (index) => String(index * 7_919))],
  ["a million empty arrays", () => `[${"[],".repeat(490_000)}[]]`],
  ["a million numbers", () => `[${"0.1,".repeat(990_000)}0]`],
  ["five million values", () => `[${"[],".repeat(5_000_000)}[]]`],
  ["two million members", () => `[${'{"a":0},'.repeat(2_000_000)}0]`],
  ["nesting to the end", () => "[".repeat(16_000_000)],
  ["a duplicate at the end", () => `${members(199_000, (index) => `k${index}`).slice(0, -1)},"k0":1}`],
  ["quotes and backslashes", () => `["${'\\"'.repeat(8_000_000)}"]`],
];
const members = (count: number, name: (index: number) => string): string =>
  `{${Array.from({ length: count }, (_, index) => `"${name(index)}":0`).join()}}`;

describe("bombs for a client", () => {
  // A message as long as it may be, ten times over, and a second: once, for a server somebody chose to talk to.
  const bounds = { limits: CLIENT_LIMITS, mostMs: 1_000, bytesAtMost: 10 * CLIENT_LIMITS.messageBytes };

  it.each(sampled(WIDE, 3))("%s", (_name, make) => {
    const { milliseconds, bytes } = cost(Buffer.from(make()).toString("utf8"), bounds);
    expect(milliseconds).toBeLessThan(bounds.mostMs);
    expect(bytes).toBeLessThan(bounds.bytesAtMost);
  });
});
