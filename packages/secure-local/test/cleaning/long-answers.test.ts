// Long answers are looked through in parts: the work is counted, bounded, and leaves others their turn.
import { describe, expect, it } from "vitest";
import type { Work } from "../../src/audit/encoded-secrets.js";
import { inTurns, MOST_LOOKED_AT, rememberSecret, TooMuchWorkError } from "../../src/audit/secret-shapes.js";
import { cleanError, cleaningResult, cleanNotice, cleanValue } from "../../src/guard/cleaning/clean-result.js";
import { DEFAULT_CLEAN_LIMITS } from "../../src/guard/cleaning/clean-text.js";
import { type GuardedRequest, PendingExceptions } from "../../src/guard/audit-recorder.js";
import { conclude, type Conclusion } from "../../src/guard/conclusion.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { RpcError } from "@secure-local/mcp/server";
import { sampled } from "../../../mcp/test/support/soak.js";
import { randomFrom } from "./planted-secrets.js";

const VALUE = "tkt_LongAnswerValue_5c1d9e";
rememberSecret("long", VALUE);
const MEGABYTE = 1_048_576;
const WHOLE = { ...DEFAULT_CLEAN_LIMITS, textBytes: 8 * MEGABYTE, resultBytes: 8 * MEGABYTE };

/** Texts of nothing but what is read in other ways, and mixtures of that from a generator. */
function hostile(): readonly string[] {
  const seeds = [
    "%41",
    "%2541",
    "\\x41",
    "\\u0041",
    "a\n",
    "&#65;",
    "=41",
    "=\n",
    "\\\\",
    "1 ",
    "0x41,",
    "101 ",
    "41 ",
  ];
  seeds.push("ABCDEFGHIJKL ", "QUJD%51REVG", " \n", "00000010  41 42  |AB|\n");
  const random = randomFrom(71);
  for (let made = 0; made < 12; made += 1)
    seeds.push(Array.from({ length: 5 }, () => seeds[random(seeds.length)] as string).join(""));
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return [...seeds, Array.from({ length: 4_096 }, () => letters[random(64)]).join("")];
}

function filled(seed: string, length: number): string {
  return seed.repeat(Math.ceil(length / seed.length)).slice(0, length);
}

function counted<T>(work: Work<T>): { readonly steps: readonly number[]; readonly all: number; readonly value: T } {
  const steps: number[] = [];
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return { steps, value, all: steps.reduce((sum, each) => sum + each, 0) };
    steps.push(value);
  }
}

const answer = (text: string): object => ({ content: [{ type: "text", text }] });

describe("an answer that is long", () => {
  it.each(sampled(hostile(), 4).map((seed) => [seed.slice(0, 40), seed]))(
    "is looked through in small steps, and no more often for being longer: %j",
    (_, seed) => {
      const looked = (length: number) => counted(cleaningResult(answer(filled(seed, length)), WHOLE));
      const [half, whole] = [looked(MEGABYTE / 16), looked(MEGABYTE / 8)];
      expect(Math.max(...whole.steps)).toBeLessThan(400_000);
      expect(whole.all).toBeLessThan(3 * half.all);
      // Four megabytes of it stay under the limit.
      expect(whole.all * 32).toBeLessThan(MOST_LOOKED_AT);
    },
  );

  it("of nothing but what is taken out is gone through in small steps, each counted", () => {
    const removed = [
      "Z\u200b",
      "\u200b",
      "\u{e0041}",
      "\u001b[0m",
      "\r",
      "\r\n ",
      "\u0007",
      "a\u2028",
      "\u001b]0;a\u0007",
    ];
    for (const unit of removed)
      for (const hidden of ["strip", "show"] as const) {
        const times = 50_000;
        const { steps, all } = counted(cleaningResult(answer(unit.repeat(times)), { ...WHOLE, hidden }));
        expect(Math.max(...steps), JSON.stringify(unit)).toBeLessThan(400_000);
        // Each of them is work: what nobody counts is done while everybody waits.
        expect(all, JSON.stringify(unit)).toBeGreaterThan(times * unit.length + 7 * (times - 2_048));
      }
  });

  it("passes whole when it is an honest one of 4 MB", () => {
    for (const line of ["The quick brown fox, and so on.\n", "12,3.4,foo bar,2020-01-01,ok\n"]) {
      const result = answer(filled(line, 4 * MEGABYTE));
      const { value, all, steps } = counted(cleaningResult(result, WHOLE));
      expect(value).toBe(result);
      expect(Math.max(...steps)).toBeLessThan(600_000);
      expect(all).toBeLessThan(MOST_LOOKED_AT / 4);
    }
  });

  it("of many small things is gone through in small steps as well", () => {
    const rows = Array.from({ length: 40_000 }, (_, at) => ({ at, text: "ab", more: [true, null] }));
    const { steps } = counted(cleaningResult({ content: rows, structuredContent: { rows } }, WHOLE));
    expect(steps.some((each) => each > 400_000)).toBe(false);
    expect(steps.length).toBeGreaterThan(40);
  });

  it("holds no value at any place, the borders of its pieces among them", () => {
    const written = Buffer.from(VALUE).toString("hex");
    for (let at = 32_768 - written.length - 2; at < 32_768 + 3; at += 7)
      for (const each of [VALUE, written, VALUE.replaceAll("", "\n    ")]) {
        const text = `${"-".repeat(at)}${each}${"-".repeat(80_000)}`;
        const { value } = counted(cleaningResult(answer(text), WHOLE));
        expect(JSON.stringify(value)).toContain("[secret long]");
        expect(JSON.stringify(value)).not.toContain(each.slice(2, -2));
      }
  });

  it("leaves others their turn, one long answer as well as ten", async () => {
    let turns = 0;
    let over = false;
    const tick = (): void => {
      turns += 1;
      if (!over) setImmediate(tick);
    };
    setImmediate(tick);
    const work = Array.from({ length: 10 }, () =>
      inTurns(cleaningResult(answer(filled("\\x41", 200_000)), WHOLE), 1e9),
    );
    const { all } = counted(cleaningResult(answer(filled("\\x41", 200_000)), WHOLE));
    for (const each of work) await each;
    over = true;
    // Ten of them, a turn for each 200,000 characters read and a step; the first of each is done when it comes in.
    expect(turns).toBeGreaterThan((10 * all) / 300_000 - 11);
  });
});

/** How a call of a tool ends that says this. */
async function ended(text: string, mostLookedAt: number): Promise<Conclusion> {
  const policy = await parsePolicy('version: "1.0"', { file: "p.yaml" });
  const request = {
    call: { ended: false, method: "tools/call", caller: { codec: { revision: { rules: {} } } } },
    subject: { kind: "tool", name: "say", path: "/name" },
    terms: { policy, cleaning: { ...WHOLE, mostLookedAt } },
  } as unknown as GuardedRequest;
  const at = { durationMs: 1, timeoutMs: 1_000, faults: new PendingExceptions(), outside: false, held: undefined };
  return conclude(request, { answer: answer(text) as never }, at);
}

describe("what takes more than it may", () => {
  const dense = filled("\\x41", 300_000);

  it("is withheld, and says why and which limit; the rest of the answer with it", async () => {
    const { told, result } = await ended(dense, 500_000);
    expect(told).toMatchObject({ isError: true });
    expect(JSON.stringify(told)).toMatch(/withheld: .* more than 500000 characters/);
    expect(JSON.stringify(told)).not.toContain("x41");
    expect(result).toMatchObject({ outcome: "denied", detail: { rule: "the work of looking for secrets" } });
    expect(JSON.stringify((await ended(dense, 50_000_000)).told)).toContain("x41");
  });

  it("is withheld of an error, and of a message on the way of which only what is short is left", () => {
    const text = filled("\\x41", 3_000_000);
    const error = cleanError(new RpcError(-32603, text, { text }), DEFAULT_CLEAN_LIMITS);
    expect(error.code).toBe(-32603);
    expect(error.message).toContain("withheld");
    expect(error.data).toBeUndefined();
    const notice = cleanNotice({ level: "info", data: { text }, _meta: { text } }, DEFAULT_CLEAN_LIMITS);
    expect(notice).toEqual({ level: "info", data: expect.stringContaining("withheld") });
    expect(() => cleanValue(text, DEFAULT_CLEAN_LIMITS, 1_500_000)).toThrow(TooMuchWorkError);
  });
});

it("a value that is spread over the members of an error, a message or a question is taken out of them", () => {
  const parts = VALUE.match(/.{1,5}/g) ?? [];
  const error = cleanError(new RpcError(-1, parts[0] as string, { more: parts.slice(1) }), DEFAULT_CLEAN_LIMITS);
  const question = cleanValue({ message: "Say:", fields: Object.fromEntries(parts.map((part, at) => [at, part])) });
  const notice = cleanNotice({ level: "info", data: parts }, DEFAULT_CLEAN_LIMITS);
  for (const told of [{ message: error.message, data: error.data }, question, notice]) {
    const text = JSON.stringify(told);
    expect(text).toContain("[secret long]");
    for (const part of parts.slice(0, -1)) expect(text).not.toContain(part);
  }
});
