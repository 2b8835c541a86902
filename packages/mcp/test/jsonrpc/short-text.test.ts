// Short texts are parsed before they are judged: the verdict is the one that a longer text of the same meaning gets.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { ParseFault, parseJson } from "../../src/jsonrpc/parse.js";
import { repeated } from "../support/soak.js";

/** White space behind a text: it means nothing, and no text with it is short. */
const PADDING = " ".repeat(8_192);

const word = fc.string({
  unit: fc.constantFrom("a", "b", ":", '\\"', "\\\\", "\\u003a", "{", "é", "__proto__"),
  maxLength: 4,
});
const quoted = word.map((text) => `"${text}"`);
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    quoted,
    fc.constantFrom("1", "null", " true ", "-0.5e3"),
    fc.array(tie("json"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(quoted, tie("json")), { maxLength: 4 })
      .map((members) => `{${members.map(([key, value]) => `${key} :${value}`).join(",")}}`),
  ),
}));
/** Mostly JSON, sometimes with a character too many or too few. */
const text = fc.oneof(
  { weight: 4, arbitrary: json },
  fc.tuple(json, fc.nat(), fc.constantFrom("", ":", '"', "}", "]", "\\")).map(([whole, at, more]) => {
    const place = at % (whole.length + 1);
    return whole.slice(0, place) + more + whole.slice(place + 1);
  }),
);

function verdict(whole: string, depth: number): unknown {
  const value = parseJson(whole, { ...DEFAULT_LIMITS, depth });
  return value instanceof ParseFault ? [value.code, value.message.replace(/ \(.*/, "")] : { value };
}

describe("short texts", () => {
  it("get the verdict of long ones", () => {
    fc.assert(
      fc.property(text, fc.constantFrom(2, 64), (whole, depth) => {
        expect(verdict(whole, depth)).toEqual(verdict(whole + PADDING, depth));
      }),
      { numRuns: repeated(1_000, 50_000) },
    );
  });

  it.each([
    ['{"a":1,"a":2}', "duplicate key"],
    ['{"a":":","a":2}', "duplicate key"],
    ['{"a":":","\\u0061":2}', "duplicate key"],
    ['{"a":{"b":1},"c":"\\u003a","c":2}', "duplicate key"],
    ['{"__proto__":1}', "__proto__"],
    ['{"a":[{"\\u005f_proto__":":"}]}', "__proto__"],
    [`${"[".repeat(65)}${"]".repeat(65)}`, "deeper than 64"],
  ])("are refused by the rule they break: %s", (whole, rule) => {
    const fault = parseJson(whole, { ...DEFAULT_LIMITS, depth: 64 });
    expect(fault).toBeInstanceOf(ParseFault);
    expect((fault as ParseFault).message).toContain(rule);
  });
});
