// Forms: the short way to ask, what no client could show, and what a person may fill in.
import { describe, expect, it } from "vitest";
import { readAnswer, requestedSchema } from "../../src/protocol/elicitation-form.js";
import type { RequestedSchema } from "../../src/protocol/features/elicitation.js";

describe("forms", () => {
  it("expand from the short way", () => {
    expect(requestedSchema({ sure: { type: "boolean" }, type: { type: "string", optional: true } })).toEqual({
      type: "object",
      properties: { sure: { type: "boolean" }, type: { type: "string" } },
      required: ["sure"],
    });
  });

  it("may be given in full", () => {
    const full: RequestedSchema = {
      type: "object",
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: {
        a: { type: "string", title: "A", description: "d", minLength: 1, maxLength: 3, format: "email", default: "x" },
        b: { type: "number", minimum: 0.5, maximum: 2, default: 1 },
        c: { type: "string", enum: ["x"], enumNames: ["X"] },
        d: { type: "string", oneOf: [{ const: "x", title: "X" }] },
        e: { type: "array", items: { type: "string", enum: ["x"] }, minItems: 0, maxItems: 1, default: [] },
        f: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } },
      },
      required: ["a"],
    };
    expect(requestedSchema(full)).toBe(full);
  });

  it.each<[unknown, RegExp]>([
    [null, /an object of fields/],
    [{ a: 1 }, /field "a" must be an object/],
    [{ a: {} }, /must have the type string, number, integer, boolean, array/],
    [{ a: { type: "object" } }, /forms are flat/],
    [{ a: { type: "toString" } }, /forms are flat/],
    [{ a: { type: "boolean", minimum: 1 } }, /cannot have "minimum"/],
    [{ a: { type: "string", pattern: "x" } }, /cannot have "pattern"/],
    [{ a: { type: "string", format: "password" } }, /format other than email/],
    [{ a: { type: "string", minLength: -1 } }, /minLength/],
    [{ a: { type: "string", title: 1 } }, /title/],
    [{ a: { type: "number", maximum: "1" } }, /maximum/],
    [{ a: { type: "string", enum: [] } }, /enum/],
    [{ a: { type: "string", enum: [1] } }, /enum/],
    [{ a: { type: "string", enum: ["x"], enumNames: [] } }, /as many enumNames/],
    [{ a: { type: "string", oneOf: [{ const: "x" }] } }, /oneOf/],
    [{ a: { type: "array" } }, /items\.enum or items\.anyOf/],
    [{ a: { type: "array", items: { type: "string" } } }, /items\.enum/],
    [{ a: { type: "boolean", default: "yes" } }, /default of its own type/],
    [{ a: { type: "array", items: { enum: ["x"] }, default: "x" } }, /default of its own type/],
    [{ type: "object", properties: {}, required: ["a"] }, /requires "a"/],
    [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, { type: "boolean" }])), /101 fields/],
  ])("refuse %j", (form, why) => {
    const invalid = () => requestedSchema(form as RequestedSchema);
    expect(invalid).toThrow(expect.objectContaining({ code: "INVALID_FORM" }));
    expect(invalid).toThrow(why);
  });
});

describe("answers", () => {
  function read(fields: Parameters<typeof requestedSchema>[0], content: unknown) {
    return readAnswer(requestedSchema(fields), content);
  }

  it("are filled with defaults and freed of what was not asked for", () => {
    const form = {
      a: { type: "integer", default: 7 },
      b: { type: "string", optional: true },
      c: { type: "boolean" },
    } as const;
    expect(read(form, { c: false, d: 1, __proto__: { b: "x" } })).toEqual({ content: { a: 7, c: false }, faults: [] });
  });

  it("fold switches back into a list", () => {
    const form = { days: { type: "array", items: { enum: ["mo", "tu"], type: "string" } } } as const;
    expect(read(form, { "days[mo]": false, "days[tu]": true })).toEqual({
      content: { days: ["tu"] },
      faults: [],
    });
    expect(read(form, {}).faults).toEqual([{ field: "days", message: "days is required" }]);
  });

  it.each<[object, unknown, string]>([
    [{ type: "string" }, undefined, "f is required"],
    [{ type: "string" }, 1, "f must be a string"],
    [{ type: "string", minLength: 2 }, "😀", "f must be at least 2 characters long"],
    [{ type: "string", maxLength: 1 }, "ab", "f must be at most 1 characters long"],
    [{ type: "string", format: "email" }, "x", "f must be a valid email"],
    [{ type: "string", format: "uri" }, "x", "f must be a valid uri"],
    [{ type: "string", format: "date" }, "2025-02-29", "f must be a valid date"],
    [{ type: "string", format: "date-time" }, "2025-01-01", "f must be a valid date-time"],
    [{ type: "string", enum: ["a", "b"] }, "c", 'f must be one of "a", "b"'],
    [{ type: "string", oneOf: [{ const: "a", title: "A" }] }, "A", 'f must be one of "a"'],
    [{ type: "number" }, "1", "f must be a number"],
    [{ type: "number" }, Number.NaN, "f must be a number"],
    [{ type: "integer" }, 1.5, "f must be a whole number"],
    [{ type: "number", minimum: 2 }, 1, "f must be at least 2"],
    [{ type: "number", maximum: 2 }, 3, "f must be at most 2"],
    [{ type: "boolean" }, "true", "f must be true or false"],
    [{ type: "array", items: { enum: ["a"] } }, "a", 'f must be a list of one of "a"'],
    [{ type: "array", items: { enum: ["a"] } }, ["b"], 'f must be a list of one of "a"'],
    [{ type: "array", items: { enum: ["a"] }, minItems: 1 }, [], "f must be a list of at least 1"],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a", "b"], "f must be a list of at most 1"],
  ])("that do not fit %j: %j", (field, value, message) => {
    expect(read({ f: field } as never, { f: value })).toEqual({ content: {}, faults: [{ field: "f", message }] });
  });

  it.each<[object, unknown]>([
    [{ type: "string", minLength: 1, maxLength: 1 }, "😀"],
    [{ type: "string", format: "email" }, "ada@example.org"],
    [{ type: "string", format: "uri" }, "https://example.org/a?b#c"],
    [{ type: "string", format: "date" }, "2024-02-29"],
    [{ type: "string", format: "date-time" }, "2025-01-12T15:00:58.25+01:00"],
    [{ type: "number" }, 1.5],
    [{ type: "integer", minimum: 2, maximum: 2 }, 2],
    [{ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } }, ["a"]],
  ])("that fit %j: %j", (field, value) => {
    expect(read({ f: field } as never, { f: value })).toEqual({ content: { f: value }, faults: [] });
  });

  it("may be anything at all", () => {
    for (const content of [undefined, null, 1, [], "x"])
      expect(read({ a: { type: "boolean" } }, content).faults).toHaveLength(1);
  });
});
