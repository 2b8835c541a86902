// Whose message it is that was refused before it could be parsed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { excerpt, identify } from "../../src/jsonrpc/parse.js";

const long = "x".repeat(10_000);
const of = (text: string): unknown => identify(excerpt(text));
const id = (value: unknown): unknown => ({ id: value, silent: false });
const nobody = id(undefined);
const notification = { id: undefined, silent: true };

describe("identify", () => {
  it.each([
    ["id first, text cut off", '{"jsonrpc":"2.0","id":7,"method":"m","params":[[[', id(7)],
    ["id last", '{"method":"m","params":{"id":3},"jsonrpc":"2.0","id":"a\\"b"} ', id('a"b')],
    ["id last, after long params", `{"method":"m","params":{"id":1,"t":"${long}"},"id":-9}`, id(-9)],
    [
      "id before the version, after long params",
      `{"method":"m","params":"${long}","id":"q","jsonrpc":"2.0"}\r`,
      id("q"),
    ],
    ["id inside the params only", `{"method":"m","params":{"t":"${long}","id":5}}`, notification],
    ["what looks like an id in a string", `{"method":"m","params":"${long},\\"id\\":5}`, notification],
    ["no id", '{"method":"m","params":{"a":1}}', notification],
    ["no id so far, text cut off", '{"method":"m","params":{"a":1', nobody],
    ["two ids", '{"id":1,"method":"m","\\u0069d":2}', nobody],
    ["an id that is none", '{"id":1.5,"method":"m"}', nobody],
    ["an id too long to care for", `{"id":"${long}","method":"m"}`, nobody],
    ["a response", '{"id":1,"result":{}}', nobody],
    ["a method that is none", '{"id":1,"method":2}', nobody],
    ["an array", '[{"id":1,"method":"m"}]', nobody],
    ["noise", "garbage", nobody],
    ["nothing", "", nobody],
  ])("%s", (_name, text, expected) => expect(of(text)).toEqual(expected));

  it("agrees with JSON.parse about every request, wherever its members stand", () => {
    const member = fc.record({
      jsonrpc: fc.constant("2.0"),
      method: fc.string(),
      id: fc.oneof(fc.maxSafeInteger(), fc.string({ maxLength: 50 })),
      params: fc.object(),
    });
    const order = fc.shuffledSubarray(["jsonrpc", "method", "id", "params"] as const, { minLength: 4 });
    fc.assert(
      fc.property(member, order, fc.constantFrom(0, 1, 4), (values, names, indent) => {
        const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])), null, indent);
        expect(identify({ head: text, tail: undefined })).toEqual(id((JSON.parse(text) as typeof values).id));
      }),
    );
  });

  it("never throws and never makes an id up", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (head, tail) => {
        expect(identify({ head, tail })).toEqual(nobody);
      }),
    );
  });
});
