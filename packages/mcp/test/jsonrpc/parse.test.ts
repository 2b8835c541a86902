// The strict parser against a simple reference, and the rule it names for each text it refuses.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type JsonRpcLimits } from "../../src/jsonrpc/limits.js";
import { ParseFault, parseJson } from "../../src/jsonrpc/parse.js";
import { repeated } from "../support/soak.js";

const limits: JsonRpcLimits = { ...DEFAULT_LIMITS, messageBytes: 1_000, depth: 4, values: 20, members: 10 };

function fault(text: string): { code: number; message: string; id: unknown; silent: boolean } {
  const value = parseJson(text, limits);
  if (!(value instanceof ParseFault)) throw new Error(`accepted: ${text}`);
  return { code: value.code, message: value.message, id: value.id, silent: value.silent };
}

// An object as text, member by member, so that keys may repeat and be spelled in several ways.
const KEYS = ["a", "b", "id", "c:d", 'quo"te', "back\\slash", "", "toString", "constructor"];
const NAMES = new Set(KEYS);
const key = fc.constantFrom(...KEYS);
const namesOf = (value: unknown): string[] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, item]) => [...(Array.isArray(value) ? [] : [name]), ...namesOf(item)])
    : [];
const spelled = (text: string, escape: boolean): string =>
  escape
    ? `"${[...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`
    : JSON.stringify(text);
interface Sample {
  text: string;
  duplicate: boolean;
}
const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 0 }).map((value) => ({ text: JSON.stringify(value), duplicate: false })),
    fc.string().map((value) => ({ text: JSON.stringify(value), duplicate: false })),
    fc.array(tie("sample"), { maxLength: 4 }).map((items) => ({
      text: `[${items.map((item) => item.text).join(" , ")}]`,
      duplicate: items.some((item) => item.duplicate),
    })),
    fc.array(fc.tuple(key, fc.boolean(), tie("sample")), { maxLength: 4 }).map((members) => ({
      text: `{ ${members.map(([name, escape, item]) => `${spelled(name, escape)} : ${item.text}`).join(",")}}`,
      duplicate:
        new Set(members.map(([name]) => name)).size < members.length || members.some(([, , item]) => item.duplicate),
    })),
  ),
}));

describe("parseJson", () => {
  it("gives what JSON.parse gives, unless a key is duplicated", () => {
    fc.assert(
      fc.property(sample, ({ text, duplicate }) => {
        // The JSON.parse of Node 24.21 now and then gives an escaped key another name; what it read is what we judge.
        if (duplicate) fc.pre(namesOf(JSON.parse(text)).every((name) => NAMES.has(name)));
        const value = parseJson(text, DEFAULT_LIMITS);
        if (duplicate)
          expect(value).toMatchObject({ code: -32600, message: "Message refused: it has a duplicate key" });
        else expect(value).toEqual(JSON.parse(text));
      }),
      { numRuns: repeated(500, 2_000) },
    );
  });

  it("refuses exactly the texts that JSON.parse refuses, whatever they are", () => {
    const noise = fc.stringMatching(/^[[\]{}:,"\\ue0-9.+tfn\s-]{0,30}$/);
    fc.assert(
      fc.property(noise, (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        const value = parseJson(text, DEFAULT_LIMITS);
        const notJson = value instanceof ParseFault && value.code === -32700;
        expect(notJson).toBe(!valid);
      }),
      { numRuns: repeated(1_000, 5_000) },
    );
  });

  it("reads past long runs of spaces, digits and escapes as JSON.parse does, whole or cut off", () => {
    const space = fc.nat({ max: 70 }).map((length) => " ".repeat(length));
    const escapes = fc.array(fc.constantFrom('\\"', "\\\\", "\\u0022", "a", "[", ":"), { maxLength: 60 });
    const item = fc.oneof(
      escapes.map((parts) => `"${parts.join("")}"`),
      fc.nat({ max: 60 }).map((zeros) => `1${"0".repeat(zeros)}`),
    );
    const items = fc.array(fc.tuple(space, item, space), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(items, fc.double({ min: 0, max: 0.999, noNaN: true }), (all, part) => {
        const text = `{${all.map(([before, one, after], at) => `${before}"k${at}":${one}${after}`).join(",")}}`;
        expect(parseJson(text, DEFAULT_LIMITS)).toEqual(JSON.parse(text));
        expect(parseJson(text.slice(0, Math.floor(part * text.length)), DEFAULT_LIMITS)).toMatchObject({
          code: -32700,
        });
      }),
      { numRuns: repeated(200, 2_000) },
    );
  });

  it.each(['{"__proto__":1}', '{"\\u005f_proto__":1}', '[{"a":{"__proto__":null}}]', '{"__proto__":1,"__proto__":2}'])(
    "refuses the key __proto__ in any spelling: %s",
    (text) =>
      expect(fault(text)).toMatchObject({ code: -32600, message: 'Message refused: it has the key "__proto__"' }),
  );

  it("allows __proto__ as a value, and other names of Object.prototype as keys", () => {
    expect(parseJson('{"constructor":"__proto__","toString":1,"hasOwnProperty":2}', limits)).toEqual({
      constructor: "__proto__",
      toString: 1,
      hasOwnProperty: 2,
    });
  });

  it("names each limit and its value", () => {
    expect(fault(`"${"x".repeat(999)}"`).message).toBe("Message refused: it is longer than 1000 bytes");
    expect(fault("[[[[[1]]]]]").message).toBe("Message refused: it is nested deeper than 4 levels");
    expect(fault(`[${"0,".repeat(20)}0]`).message).toBe("Message refused: it holds more than 20 values");
    expect(fault(`[${'{"a":0},'.repeat(10)}{"a":0}]`).message).toBe("Message refused: it holds more than 20 values");
    const members = Array.from({ length: 11 }, (_, index) => `"k${index}":0`);
    expect(fault(`{${members.join(",")}}`).message).toBe("Message refused: it holds more than 10 object members");
  });

  it("accepts what stands exactly at a limit", () => {
    expect(parseJson("[[[[1]]]]", limits)).toEqual([[[[1]]]]);
    expect(parseJson(`"${"x".repeat(998)}"`, limits)).toHaveLength(998);
    expect(parseJson(`[${"0,".repeat(19)}0]`, limits)).toHaveLength(20);
  });

  it("does not count brackets, commas and colons inside strings", () => {
    const text = '{"a\\"[[[[[[[[":"{{{{{{{\\\\","b":":,:,:,:,\\\\\\"{"}';
    expect(parseJson(text, limits)).toEqual(JSON.parse(text));
  });

  it("says where a text stops being JSON, without quoting it", () => {
    expect(fault('{"secret":"hunter2",}')).toMatchObject({ code: -32700, id: undefined, silent: false });
    expect(fault('{"secret":"hunter2",}').message).not.toContain("hunter2");
    expect(fault('{"id":1,').message).toMatch(/^Parse error: the message is not JSON/);
  });

  it("keeps the id of a refused request, and the silence a notification is owed", () => {
    expect(fault('{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}')).toMatchObject({ id: 7 });
    expect(fault('{"id":7,"method":"m","id":8}')).toMatchObject({ id: undefined, silent: false });
    expect(fault('{"id":7,"method":"m","\\u0069d":8}')).toMatchObject({ id: undefined, silent: false });
    expect(fault('{"method":"m","params":{"a":1,"a":2}}')).toMatchObject({ id: undefined, silent: true });
  });

  it("counts own keys only, whatever somebody adds to Object.prototype", () => {
    const polluted = Object.prototype as Record<string, unknown>;
    polluted["leak"] = 1;
    try {
      expect(parseJson('{"a":1,"a":2}', limits)).toBeInstanceOf(ParseFault);
      expect(parseJson('{"a":1,"b":{}}', limits)).not.toBeInstanceOf(ParseFault);
    } finally {
      delete polluted["leak"];
    }
  });
});
