// Equal values give equal canonical text, and each difference is told with its place.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, differingPlaces, driftOf } from "../src/items/drift.js";

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]));
}

describe("canonical JSON", () => {
  it("is written as RFC 8785 writes its example", () => {
    const given = {
      numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(given)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("orders keys by their code units", () => {
    const keys = ["\u20ac", "\r", "\ufb33", "1", "\u{1F600}", "\u0080", "\u00f6"];
    expect(canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])))).toBe(
      '{"\\r":0,"1":0,"\u0080":0,"\u00f6":0,"\u20ac":0,"\u{1F600}":0,"\ufb33":0}',
    );
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":2,"a":3}'))).toBe('{"__proto__":2,"a":3,"b":1}');
  });

  it("is the same in every order of keys, and reads back as the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it("refuses what JSON does not have, and what is too deep", () => {
    expect(() => canonicalJson(Number.NaN)).toThrow(TypeError);
    const deep = Array.from({ length: 600 }).reduce<unknown>((inner) => [inner], 1);
    expect(() => canonicalJson(deep)).toThrow(RangeError);
  });
});

describe("drift", () => {
  it("tells what is new, gone and changed", () => {
    const before = new Map<string, unknown>(
      Object.entries({ a: { x: 1 }, b: { x: 1 }, c: { y: 2, x: [1, { z: "é" }] } }),
    );
    const after = new Map<string, unknown>(Object.entries({ b: { x: 2 }, c: { x: [1, { z: "é" }], y: 2 }, d: {} }));
    expect(driftOf(before, after)).toEqual([
      { item: "a", kind: "removed", lines: [] },
      { item: "b", kind: "changed", lines: ["/x: 1 -> 2"] },
      { item: "d", kind: "added", lines: [] },
    ]);
  });

  it("shows characters nobody sees, and no more places than people read", () => {
    expect(differingPlaces({ a: "x" }, { a: "x\u200b" })).toEqual(['/a: "x" -> "x\\u{200b}"']);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, index]));
    expect(differingPlaces({}, many)).toHaveLength(20);
    expect(differingPlaces({}, many).at(-1)).toBe("and 31 more places");
  });
});
