// Pins what faults say, what defaults fill in, and which schemas are refused.

import { describe, expect, it } from "vitest";
import { compileJsonSchema, type CompileOptions } from "../../src/schema/json-schema/compile.js";
import { SchemaError } from "../../src/schema/json-schema/run.js";
import type { Fault, JsonSchema } from "../../src/schema/schema.js";

function faultsOf(schema: JsonSchema, value: unknown, options?: CompileOptions): readonly Fault[] {
  const outcome = compileJsonSchema(schema, options).validate(value);
  return outcome.ok ? [] : outcome.faults;
}

const closed = {
  type: "object",
  properties: { query: { type: "string" }, limit: { type: "integer" } },
  additionalProperties: false,
};

describe("faults", () => {
  it.each<[JsonSchema, unknown, Fault]>([
    [
      { properties: { count: { type: "integer" } } },
      { count: "five" },
      { path: "/count", constraint: "type", message: '/count must be an integer, but it is the string "five"' },
    ],
    [{ type: "object" }, null, { path: "", constraint: "type", message: "must be an object, but it is null" }],
    [
      { type: ["string", "null"] },
      1.5,
      { path: "", constraint: "type", message: "must be a string or null, but it is the number 1.5" },
    ],
    [{ required: ["query"] }, {}, { path: "", constraint: "required", message: 'must have required property "query"' }],
    [
      { required: ["toString"] },
      {},
      { path: "", constraint: "required", message: 'must have required property "toString"' },
    ],
    [
      closed,
      { qurey: "x" },
      {
        path: "",
        constraint: "additionalProperties",
        message: 'must not have the property "qurey" (did you mean "query"?); allowed are "query", "limit"',
      },
    ],
    [
      { enum: ["celsius", "kelvin"] },
      "celcius",
      {
        path: "",
        constraint: "enum",
        message: 'must be one of "celsius", "kelvin" (did you mean "celsius"?), but it is the string "celcius"',
      },
    ],
    [
      { const: { a: 1 } },
      [1],
      { path: "", constraint: "const", message: 'must be {"a":1}, but it is an array of 1 item' },
    ],
    [{ minimum: 3 }, 2, { path: "", constraint: "minimum", message: "must be at least 3, but it is the number 2" }],
    [
      { minLength: 2 },
      "😀",
      { path: "", constraint: "minLength", message: "must have at least 2 characters, but it has 1 character" },
    ],
    [
      { items: { maxItems: 1 } },
      [[], [1, 2]],
      { path: "/1", constraint: "maxItems", message: "/1 must have at most 1 item, but it has 2" },
    ],
    [
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 0, { b: 2, a: 1 }],
      { path: "", constraint: "uniqueItems", message: "must not have equal items, but items 0 and 2 are equal" },
    ],
    [
      { pattern: "^a" },
      "b",
      { path: "", constraint: "pattern", message: 'must match the pattern "^a", but it is the string "b"' },
    ],
    [
      { anyOf: [{ type: "string" }, { minimum: 5 }] },
      1,
      {
        path: "",
        constraint: "anyOf",
        message:
          "must match one of 2 schemas, but it matches none: must be a string, but it is the number 1; must be at least 5, but it is the number 1",
      },
    ],
    [
      { oneOf: [{ type: "number" }, { minimum: 5 }] },
      7,
      { path: "", constraint: "oneOf", message: "must match exactly one of 2 schemas, but it matches numbers 1, 2" },
    ],
    [
      { properties: { "a/b~": false } },
      { "a/b~": 1 },
      { path: "/a~1b~0", constraint: "false schema", message: "/a~1b~0 is not allowed here" },
    ],
    [
      { propertyNames: { maxLength: 2 } },
      { abc: 1 },
      {
        path: "",
        constraint: "propertyNames",
        message: 'has the property name "abc", which must have at most 2 characters, but it has 3 characters',
      },
    ],
  ])("of %j for %j", (schema, value, fault) => expect(faultsOf(schema, value)).toEqual([fault]));

  it("are all reported, up to 20", () => {
    expect(faultsOf(closed, { query: 1, limit: "x", more: 1 })).toHaveLength(3);
    expect(
      faultsOf(
        { items: { type: "string" } },
        Array.from({ length: 500 }, (_, i) => i),
      ),
    ).toHaveLength(20);
  });

  it("show no control, bidirectional or zero-width character, and little of a long text", () => {
    const [fault] = faultsOf({ type: "number" }, `\u001b[31m\u202e\u200b\u0085${"x".repeat(10_000)}`);
    expect(fault?.message).toMatch(
      /^must be a number, but it is the string "\\u001b\[31m\\u\{202e\}\\u\{200b\}\\u\{85\}x+…"$/,
    );
    expect(fault?.message.length).toBeLessThan(150);
    const [named] = faultsOf({ additionalProperties: { type: "number" } }, { ["\u001b]0;\u2066/"]: "x" });
    expect(named?.message).toBe('/\\u{1b}]0;\\u{2066}~1 must be a number, but it is the string "x"');
  });
});

describe("defaults", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      limit: { type: "integer", default: 10 },
      page: { type: "object", properties: { size: { default: 5 } }, default: {} },
      tags: { type: "array", items: { type: "object", properties: { on: { default: true } } } },
      wrong: { type: "string", default: 5 },
      ["__proto__"]: { default: { polluted: true } },
    },
    required: ["limit"],
  };
  const { validate, check } = ((one) => ({ validate: one.validate.bind(one), check: one.check.bind(one) }))(
    compileJsonSchema(schema),
  );

  it("fill in what is missing, at every depth, and never in the caller's object", () => {
    const value = Object.freeze({ tags: Object.freeze([Object.freeze({}), Object.freeze({ on: false })]) });
    const outcome = validate(value);
    expect(outcome).toMatchObject({
      ok: true,
      value: { limit: 10, page: { size: 5 }, tags: [{ on: true }, { on: false }] },
    });
    expect(value).toEqual({ tags: [{}, { on: false }] });
    expect(check(value)).toBe(false);
  });

  it("are left out when their own schema refuses them", () => {
    const outcome = validate({});
    expect(outcome.ok && Object.hasOwn(outcome.value as object, "wrong")).toBe(false);
  });

  it("are copies, and pollute no prototype", () => {
    const [first, second] = [validate({}), validate({})].map((one) =>
      one.ok ? (one.value as { page: { size: number } }) : undefined,
    );
    if (first !== undefined) first.page.size = 99;
    expect(second?.page.size).toBe(5);
    expect((first as { polluted?: unknown } | undefined)?.polluted).toBeUndefined();
  });

  it("return the very same value when there is nothing to fill in", () => {
    const full = { limit: 1, page: { size: 1 }, tags: [], ["__proto__"]: 1 };
    expect(compileJsonSchema({ properties: { a: {} } }).applyDefaults(full)).toBe(full);
    const value = JSON.parse('{"limit":1,"page":{"size":1},"__proto__":1}') as unknown;
    expect(compileJsonSchema(schema).applyDefaults(value)).toBe(value);
  });

  it("follow references, recursive ones too", () => {
    const tree: JsonSchema = { properties: { name: { default: "?" }, next: { $ref: "#" } } };
    expect(compileJsonSchema(tree).applyDefaults({ next: { next: {} } })).toEqual({
      name: "?",
      next: { name: "?", next: { name: "?" } },
    });
  });
});

describe("a schema", () => {
  it.each<[unknown, string, string]>([
    [null, "invalid-schema", "#"],
    ["x", "invalid-schema", "#"],
    [{ type: 5 }, "invalid-schema", "#/type"],
    [{ type: "strnig" }, "invalid-schema", "#/type"],
    [{ properties: null }, "invalid-schema", "#/properties"],
    [{ properties: { a: { minLength: -1 } } }, "invalid-schema", "#/properties/a/minLength"],
    [{ properties: { "a/b": { type: [] } } }, "invalid-schema", "#/properties/a~1b/type"],
    [{ items: [{}] }, "invalid-schema", "#/items"],
    [{ anyOf: [] }, "invalid-schema", "#/anyOf"],
    [{ required: "name" }, "invalid-schema", "#/required"],
    [{ multipleOf: 0 }, "invalid-schema", "#/multipleOf"],
    [{ pattern: "(" }, "invalid-schema", "#/pattern"],
    [{ pattern: "(a+)+$" }, "unsafe-pattern", "#/pattern"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "unsupported-dialect", "#/$schema"],
    [{ $ref: "#/$defs/missing" }, "unresolved-reference", "#/$ref"],
    [{ $ref: "#missing" }, "unresolved-reference", "#/$ref"],
    [{ $defs: { unused: { $ref: "https://example.com/schema.json" } } }, "network-reference", "#/$defs/unused/$ref"],
    [{ $ref: "file:///etc/passwd" }, "network-reference", "#/$ref"],
  ])("%j is refused as %s at %s", (schema, code, pointer) => {
    let thrown: unknown;
    try {
      compileJsonSchema(schema as JsonSchema);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SchemaError);
    expect(thrown).toMatchObject({ code, pointer });
    expect((thrown as SchemaError).message.startsWith(`${pointer}: `)).toBe(true);
  });

  it("is read as draft-07 when that is allowed and 2020-12 does not fit", () => {
    const tuple = { items: [{ type: "string" }], additionalItems: false };
    const validator = compileJsonSchema(tuple, { fallbackToDraft07: true });
    expect([validator.check(["a"]), validator.check([1]), validator.check(["a", 1])]).toEqual([true, false, false]);
    expect(validator.json).toEqual({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple });
    expect(compileJsonSchema({ type: "array" }, { fallbackToDraft07: true }).json).toEqual({ type: "array" });
  });

  it("can bring its own expression engine, compiled once", () => {
    const sources: string[] = [];
    const regExp = (source: string): { test(text: string): boolean } => (
      sources.push(source),
      { test: (text) => text === source }
    );
    const validator = compileJsonSchema(
      { items: { pattern: "(a+)+$" }, patternProperties: { "(a+)+$": false } },
      { regExp },
    );
    expect([validator.check(["(a+)+$"]), validator.check(["a"]), validator.check({ "(a+)+$": 1 })]).toEqual([
      true,
      false,
      false,
    ]);
    expect(sources).toEqual(["(a+)+$"]);
  });

  it("treats inherited members as absent, even on a polluted prototype", () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    prototype["injected"] = "x";
    try {
      const validator = compileJsonSchema({
        type: "object",
        properties: { injected: { type: "string" } },
        required: ["injected"],
        additionalProperties: false,
      });
      expect([
        validator.check({}),
        validator.check({ injected: "y" }),
        validator.check(Object.create({ injected: "y" })),
      ]).toEqual([false, true, false]);
    } finally {
      delete prototype["injected"];
    }
  });
});
