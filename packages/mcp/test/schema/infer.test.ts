// Checks the types inferred from schemas written in place, and from Standard Schemas.

import { type } from "arktype";
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { FromJsonSchema, JsonSchema } from "../../src/schema/schema.js";
import type { InferStandard, StandardSchema } from "../../src/schema/standard-schema.js";

type Infer<S> = S extends StandardSchema ? InferStandard<S> : FromJsonSchema<S>;

/** Stands for a method that takes a schema and a handler of what the schema describes. */
function tool<const S extends JsonSchema | StandardSchema>(input: S, run: (args: Infer<S>) => void): void {
  void input;
  void run;
}

describe("FromJsonSchema", () => {
  it("types an object written in place", () => {
    tool(
      {
        type: "object",
        properties: {
          name: { type: "string" },
          age: { type: "integer" },
          tags: { type: "array", items: { type: "string" } },
          level: { enum: ["low", "high"] },
          kind: { const: 1 },
          nick: { type: ["string", "null"] },
          limit: { type: "number", default: 5 },
          inner: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
          either: { anyOf: [{ type: "string" }, { type: "object", properties: { x: { type: "null" } } }] },
          other: { $ref: "#/$defs/x" },
        },
        required: ["name", "inner", "either"],
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          name: string;
          limit: number;
          inner: { on: boolean };
          either: string | { x?: null };
          age?: number;
          tags?: string[];
          level?: "low" | "high";
          kind?: 1;
          nick?: string | null;
          other?: unknown;
        }>();
      },
    );
  });

  it("falls back where the type says too little", () => {
    expectTypeOf<FromJsonSchema<{ type: "object" }>>().toEqualTypeOf<Record<string, unknown>>();
    expectTypeOf<FromJsonSchema<{ type: "object"; additionalProperties: { type: "number" } }>>().toEqualTypeOf<
      Record<string, number>
    >();
    expectTypeOf<FromJsonSchema<{ type: "array" }>>().toEqualTypeOf<unknown[]>();
    expectTypeOf<FromJsonSchema<{ $ref: "#" }>>().toEqualTypeOf<unknown>();
    expectTypeOf<FromJsonSchema<{ readonly [keyword: string]: unknown }>>().toEqualTypeOf<unknown>();
    expectTypeOf<FromJsonSchema<true>>().toEqualTypeOf<unknown>();
    expectTypeOf<FromJsonSchema<false>>().toEqualTypeOf<never>();
    const widened = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    expectTypeOf<FromJsonSchema<typeof widened>>().toEqualTypeOf<{ a?: unknown }>();
  });

  it("types what zod, valibot and arktype let through", () => {
    tool(z.object({ a: z.number().default(1) }), (args) => expectTypeOf(args).toEqualTypeOf<{ a: number }>());
    tool(v.object({ a: v.optional(v.string()) }), (args) =>
      expectTypeOf(args).toEqualTypeOf<{ a?: string | undefined }>(),
    );
    tool(type({ a: "string" }), (args) => expectTypeOf(args).toEqualTypeOf<{ a: string }>());
  });
});
