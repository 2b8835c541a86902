// The short way to write a tool result: it writes what the general serialiser would, or leaves it alone.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainToolPieces } from "../../src/era/project-result.js";
import { asOneText } from "../../src/jsonrpc/message.js";
import { repeated } from "../support/soak.js";

const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "\u2028", "\ud800", "é", "\u0000") });
const block = fc.oneof(
  { weight: 4, arbitrary: text.map((value) => ({ type: "text", text: value })) },
  text.map((value) => ({ text: value, type: "text" })),
  text.map((value) => ({ type: "text", text: value, annotations: { priority: 1 } })),
  fc.constant({ type: "text", text: undefined }),
  fc.constant({ type: "text", text: 7 }),
  fc.constant({ type: "image", data: "", mimeType: "image/png" }),
  fc.constant("text"),
  fc.constant(null),
);
const member = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 4 });
const result = fc
  .tuple(
    fc.oneof(fc.array(block, { minLength: 1, maxLength: 2 }), fc.constant("text")),
    member(fc.constantFrom(true, false, "no")),
    member(fc.constantFrom({ structuredContent: {} }, { _meta: { a: 1 } }, { toJSON: () => ({ content: [] }) })),
  )
  .map(([content, isError, more]) => ({ content, ...(isError === undefined ? {} : { isError }), ...more }));

describe("the short way to write a tool result", () => {
  it("writes what the general way would, or nothing", () => {
    let written = 0;
    fc.assert(
      fc.property(result, (value) => {
        const short = plainToolPieces(value);
        if (short === undefined) return;
        written++;
        expect(JSON.parse(asOneText(short))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: repeated(500, 20_000) },
    );
    expect(written).toBeGreaterThan(0);
  });

  it("writes one text as the general way does, to the letter", () => {
    for (const value of [
      { content: [{ type: "text", text: 'a "b" \u2028' }], isError: false },
      { content: [{ type: "text", text: "" }], isError: true },
      { content: [{ type: "text", text: "\ud800" }] },
    ])
      expect(plainToolPieces(value)).toBe(JSON.stringify(value));
  });

  it("leaves alone what says for itself how it is written", () => {
    class Own {
      readonly content = [{ type: "text", text: "inside" }];
      toJSON(): object {
        return { content: [] };
      }
    }
    const inherited: unknown = Object.create({ toJSON: () => "other" }, { type: { value: "text", enumerable: true } });
    expect(plainToolPieces(new Own())).toBeUndefined();
    expect(plainToolPieces({ content: [inherited] })).toBeUndefined();
    expect(plainToolPieces(Object.create(null) as object)).toBeUndefined();
  });
});
