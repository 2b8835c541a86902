// Arithmetic as people write it, and a sentence for every way to get it wrong.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calculate } from "../../src/tools/calculate/calculate.js";
import { getTimestamp } from "../../src/tools/get-timestamp/get-timestamp.js";
import type { ToolAnswer } from "../../src/tools/tool.js";
import { powers } from "./powers.js";

/** The text of the value, which its data have to equal; a failure as it is. */
function run(expression: string): unknown {
  const answer = calculate.run({ expression }, powers()) as ToolAnswer;
  if (typeof answer === "string" || "failed" in answer) return answer;
  expect(String(answer.structured["result"])).toBe(answer.text);
  return answer.text;
}

describe("calculate", () => {
  it.each([
    ["2 + 3 * 4", "14"],
    ["(2 + 3) * 4", "20"],
    ["2 ^ 3 ^ 2", "512"],
    ["-2 ^ 2", "-4"],
    ["(-2) ^ 2", "4"],
    ["2 ^ -1", "0.5"],
    ["2 ^ - -1", "2"],
    ["-2 ^ -2", "-0.25"],
    ["7 % 3", "1"],
    ["-7 % 3", "2"],
    ["7 % -3", "-2"],
    ["-6 % 3", "0"],
    ["10 - 4 - 3", "3"],
    ["100 / 10 / 5", "2"],
    ["8 / 4 * 2", "4"],
    ["2 * 3 % 4", "2"],
    ["2--2", "4"],
    ["+-+3", "-3"],
    ["-3 * -4", "12"],
    ["2 * -3 ^ 2", "-18"],
    ["0.1 + 0.2", "0.3"],
    ["1.1 * 1.1", "1.21"],
    ["1 / 3", "0.333333333333333"],
    [".5 + 5.", "5.5"],
    ["1e3 + 2E-1", "1000.2"],
    ["9007199254740991", "9007199254740991"],
    ["2 ^ 64", "18446744073709552000"],
    ["10 ^ 21", "1e+21"],
    ["0 * -1", "0"],
    ["0 ^ 0", "1"],
    ["\t1\n+\u00a01 ", "2"],
  ])("%j is %s", (expression, text) => {
    expect(run(expression)).toBe(text);
  });

  it.each([
    ["", "Error: expression is required"],
    ["  ", "Error: expression is required"],
    ["2 + x", "Error: expression contains invalid characters"],
    ["process.exit()", "Error: expression contains invalid characters"],
    ["1,000", "Error: expression contains invalid characters"],
    ["2e", "Error: expression contains invalid characters"],
    ["2 +", "Error evaluating expression: a number is missing at the end"],
    ["* 2", "Error evaluating expression: a number is missing before *"],
    ["2 ** 3", "Error evaluating expression: a number is missing before *"],
    ["()", "Error evaluating expression: a number is missing before )"],
    ["(2", "Error evaluating expression: a ) is missing at the end"],
    ["2)", "Error evaluating expression: unmatched )"],
    ["2 3", "Error evaluating expression: an operator is missing before 3"],
    ["2 (3)", "Error evaluating expression: an operator is missing before ("],
    ["(2 3)", "Error evaluating expression: an operator is missing before 3"],
    ["1.2.3", "Error evaluating expression: an operator is missing before .3"],
    ["1 / 0", "Error evaluating expression: division by zero"],
    ["0 ^ -1", "Error evaluating expression: division by zero"],
    ["1 % (2 - 2)", "Error evaluating expression: modulo by zero"],
    ["(-8) ^ 0.5", "Error evaluating expression: a negative number has no such root"],
    ["10 ^ 400", "Error evaluating expression: the result is too large"],
    ["1e999", "Error evaluating expression: the result is too large"],
    ["(".repeat(200), "Error evaluating expression: nested deeper than 100 levels"],
    ["-".repeat(200) + "1", "Error evaluating expression: nested deeper than 100 levels"],
    ["1^".repeat(200) + "1", "Error evaluating expression: nested deeper than 100 levels"],
    ["1+".repeat(1000) + "1", "Error evaluating expression: longer than 2000 characters"],
  ])("%j fails in words", (expression, failed) => {
    expect(run(expression)).toEqual({ failed });
  });

  it("takes long flat sums", () => {
    expect(run("1+".repeat(999) + "1")).toBe("1000");
  });

  // JavaScript's own operators, fully parenthesised, are the reference; `**` needs no help once grouped.
  const node: fc.Memo<{ ours: string; value: number }> = fc.memo((depth) => {
    const leaf = fc.integer({ min: 0, max: 99 }).map((value) => ({ ours: String(value), value }));
    if (depth <= 1) return leaf;
    return fc.oneof(leaf, fc.tuple(fc.constantFrom("+", "-", "*", "/", "%", "^"), node(), node()).map(combine));
  });

  it("agrees with a reference on any expression", () => {
    fc.assert(
      fc.property(node(6), ({ ours, value }) => {
        const answer = run(ours);
        if (Number.isNaN(value)) expect(answer).toHaveProperty("failed");
        else expect(Math.abs(Number(answer) - value)).toBeLessThanOrEqual(Math.abs(value) * 1e-14);
      }),
      { numRuns: 1_000 },
    );
  });

  it("groups operators without parentheses as their precedence says", () => {
    const flat = fc.array(fc.tuple(fc.constantFrom("+", "-", "*"), fc.integer({ min: 1, max: 9 })), { maxLength: 20 });
    fc.assert(
      fc.property(flat, (pairs) => {
        let sum = 0;
        let product = 1;
        for (const [sign, value] of pairs) {
          if (sign === "*") product *= value;
          else [sum, product] = [sum + product, sign === "+" ? value : -value];
        }
        expect(run(`1 ${pairs.flat().join(" ")}`)).toBe(String(sum + product));
      }),
    );
  });
});

type Part = { ours: string; value: number };

function combine([sign, left, right]: [string, Part, Part]): Part {
  const a = left.value;
  const b = right.value;
  const results = new Map([
    ["+", a + b],
    ["-", a - b],
    ["*", a * b],
    ["/", a / b],
    ["%", b === 0 ? Number.NaN : a - b * Math.floor(a / b)],
    ["^", a ** b],
  ]);
  const value = results.get(sign) ?? Number.NaN;
  const failing = Number.isNaN(a) || Number.isNaN(b) || !Number.isFinite(value);
  // Far apart, a - b * floor(a / b) loses every digit: the reference is only right for whole numbers of moderate size.
  const exact =
    sign !== "%" || (Number.isInteger(a) && Number.isInteger(b) && Math.abs(a) < 2 ** 50 && Math.abs(b) < 2 ** 50);
  return exact ? { ours: `(${left.ours} ${sign} ${right.ours})`, value: failing ? Number.NaN : value } : left;
}

it("get_timestamp answers in ISO 8601, UTC", () => {
  const timestamp = "2026-01-02T03:04:05.678Z";
  expect(getTimestamp.run({}, powers())).toEqual({ structured: { timestamp }, text: timestamp });
  expect(getTimestamp.input).toEqual({ type: "object", additionalProperties: false });
});
