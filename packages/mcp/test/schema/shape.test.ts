// Checks the shapes that our own messages are decoded with: verdicts, faults and types.

import { describe, expect, expectTypeOf, it } from "vitest";
import {
  array,
  boolean,
  integer,
  number,
  object,
  oneOf,
  optional,
  record,
  shape,
  string,
  type TypeOf,
  union,
  unknown,
  whole,
} from "../../src/schema/shape.js";

const call = shape({ name: string, arguments: optional(record), cursor: optional(string) });
const block = union("type", {
  text: object({ type: oneOf("text"), text: string }),
  image: object({ type: oneOf("image"), data: string, size: optional(integer) }),
});
const result = shape({
  content: array(block),
  isError: optional(boolean),
  score: optional(number),
  extra: optional(unknown),
});

describe("a shape", () => {
  it("hands back the very same object, other members included", () => {
    const value = { name: "echo", arguments: {}, more: 1 };
    const outcome = call.validate(value);
    expect(outcome.ok && outcome.value).toBe(value);
    expect(call.is(value)).toBe(true);
    expect(call.faults(value)).toEqual([]);
  });

  it.each<[unknown, string[]]>([
    [null, ["must be an object, but it is null"]],
    [[], ["must be an object, but it is an empty array"]],
    [{}, ['must have required property "name"']],
    [
      { name: 5, cursor: null },
      ["/name must be a string, but it is the number 5", "/cursor must be a string, but it is null"],
    ],
    [{ name: "x", arguments: [1] }, ["/arguments must be an object, but it is an array of 1 item"]],
    [Object.create({ name: "inherited" }), ['must have required property "name"']],
  ])("of a call refuses %j", (value, messages) => {
    expect(call.is(value)).toBe(false);
    expect(call.faults(value).map(({ message }) => message)).toEqual(messages);
  });

  it("picks the case of a union by its tag", () => {
    expect(
      result.is({
        content: [
          { type: "text", text: "a" },
          { type: "image", data: "" },
        ],
      }),
    ).toBe(true);
    const faults = result.faults({
      content: [{ type: "text" }, { type: "image", data: "", size: 1.5 }, { type: "sound" }, {}],
    });
    expect(faults.map(({ message }) => message)).toEqual([
      '/content/0 must have required property "text"',
      "/content/1/size must be an integer, but it is the number 1.5",
      '/content/2/type must be one of "text", "image", but it is the string "sound"',
      '/content/3 must have required property "type"',
    ]);
  });

  it("reports at most 20 faults", () => expect(whole(array(string)).faults(Array(100).fill(1))).toHaveLength(20));

  it("has the type it proves", () => {
    expectTypeOf<TypeOf<typeof call>>().toMatchTypeOf<{ readonly name: string; readonly cursor?: string }>();
    expectTypeOf<TypeOf<typeof result>["content"][number]["type"]>().toEqualTypeOf<"text" | "image">();
    const value: unknown = { name: "x" };
    if (call.is(value)) expectTypeOf(value.name).toEqualTypeOf<string>();
  });
});
