// Checks that schemas of zod 4, valibot and arktype are taken as they are.

import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { SchemaError } from "../../src/schema/json-schema/run.js";
import { fromStandard, isStandardSchema, type StandardSchema } from "../../src/schema/standard-schema.js";

const published = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] } as const;

const libraries = [
  ["zod", z.object({ count: z.number().int() }), undefined],
  ["arktype", type({ count: "number.integer" }), undefined],
  ["valibot", v.object({ count: v.pipe(v.number(), v.integer()) }), published],
] as const satisfies readonly (readonly [string, StandardSchema, unknown])[];

describe.each(libraries)("a schema of %s", (_name, schema, json) => {
  it("is recognised", () => expect(isStandardSchema(schema)).toBe(true));

  it("validates, with the path and the rule of each fault", async () => {
    const wrapped = fromStandard(schema, "input", json);
    expect(await wrapped.validate({ count: 3 })).toEqual({ ok: true, value: { count: 3 } });
    const outcome = await wrapped.validate({ count: "five" });
    expect(outcome).toMatchObject({ ok: false, faults: [{ path: "/count" }] });
    expect(!outcome.ok && outcome.faults[0]?.message).toMatch(/^\/count: .*number/);
    expect(!outcome.ok && outcome.faults[0]?.constraint).toMatch(/\w/);
  });

  it("comes with a JSON Schema, without bounds that say nothing", () => {
    const exported = fromStandard(schema, "input", json).json;
    expect(exported).toMatchObject(published);
    expect(JSON.stringify(exported)).not.toContain("9007199254740991");
  });
});

describe("fromStandard", () => {
  it("hands on transformed values and defaults, and exports the side asked for", async () => {
    const schema = z.object({ a: z.string().default("x") });
    expect(await fromStandard(schema, "input").validate({})).toEqual({ ok: true, value: { a: "x" } });
    expect(fromStandard(schema, "input").json).not.toHaveProperty("required");
    expect(fromStandard(schema, "output").json).toHaveProperty("required", ["a"]);
  });

  it("waits for schemas that answer later", async () => {
    const schema = z.object({ a: z.string().refine(async (text) => text === "x") });
    expect(await fromStandard(schema, "input").validate({ a: "y" })).toMatchObject({
      ok: false,
      faults: [{ path: "/a" }],
    });
  });

  it("says what to do when there is no JSON Schema to publish", () => {
    expect(() => fromStandard(v.object({ a: v.string() }), "input")).toThrow(SchemaError);
    expect(() => fromStandard(v.object({ a: v.string() }), "input")).toThrow(
      /valibot schema cannot export JSON Schema; give that beside it as "inputJsonSchema"/,
    );
    expect(() => fromStandard(z.object({ a: z.bigint() }), "input")).toThrow(/zod could not export JSON Schema/);
  });

  it("keeps values that look like noise where they are data", () => {
    const schema = z.object({ a: z.literal(9007199254740991), b: z.any().default({ maximum: 9007199254740991 }) });
    expect(JSON.stringify(fromStandard(schema, "input").json)).toContain('{"maximum":9007199254740991}');
  });
});

it.each([null, undefined, 1, {}, () => 1, { "~standard": 1 }, { "~standard": {} }])(
  "%j is no Standard Schema",
  (value) => {
    expect(isStandardSchema(value)).toBe(false);
  },
);
