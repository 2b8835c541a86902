// Shows with generated input that exactly one spelling of bytes and exactly one reading of an object are accepted.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { fromBase64url, isCanonicalBase64url, toBase64url } from "../../src/auth/jws.js";
import { ExpiringMap } from "../../src/auth/access-tokens.js";
import { parseStrictObject } from "../../src/auth/fetch-json.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

it("reads back what it wrote, and takes nothing that writes differently", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = toBase64url(bytes);
      expect(isCanonicalBase64url(text)).toBe(true);
      expect(fromBase64url(text)).toEqual(new Uint8Array(bytes));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."AaZz09-_BQgw=+/ "), maxLength: 12 }), (text) => {
      const canonical = Buffer.from(text, "base64url").toString("base64url") === text;
      expect(isCanonicalBase64url(text)).toBe(canonical);
    }),
    { numRuns: 2_000 },
  );
});

it("parses every object that JSON can write", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (object) => {
      const text = JSON.stringify(object);
      expect(parseStrictObject(bytesOf(text))).toEqual(JSON.parse(text));
    }),
  );
});

it("refuses any name written twice, however it is spelled and wherever it is", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 }), (name, value) => {
      const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
      const escaped = `"${[...name].flatMap((one) => one.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)).join("")}":1`;
      for (const text of [`{${member},${member}}`, `{${member},${escaped}}`, `{"a":[{${escaped},${member}}]}`]) {
        expect(parseStrictObject(bytesOf(text))).toBeUndefined();
      }
    }),
  );
});

it("counts no colon inside text", () => {
  const object = { "a:b": 'c:"d":\\', e: [":", { f: '\\":' }] };
  expect(parseStrictObject(bytesOf(JSON.stringify(object)))).toEqual(object);
});

it("remembers no more than it may and nothing longer than it should", () => {
  const map = new ExpiringMap<number>(3);
  for (let at = 0; at < 10; at++) map.set(String(at), at, 100);
  expect(map.size).toBe(3);
  expect([map.get("6", 0), map.get("7", 0), map.get("9", 99)]).toEqual([undefined, 7, 9]);
  expect(map.get("9", 100)).toBeUndefined();
  expect(map.size).toBe(2);
});
