// Compares our verdicts with ajv's, over generated schemas and values in both dialects.

import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileJsonSchema } from "../../src/schema/json-schema/compile.js";
import { repeated } from "../support/soak.js";

const names = fc.constantFrom("a", "b", "c", "isPrototypeOf", "__x");
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, 2, 3, -1, 1.5, 10, "", "a", "ab", "abc", "ä😀", "b1"),
  fc.integer({ min: -5, max: 5 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

const count = fc.integer({ min: 0, max: 3 });
const typeName = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const nameList = fc.uniqueArray(names, { maxLength: 3 });

type Keywords = Record<string, fc.Arbitrary<unknown>>;

/** Keywords that mean the same in both dialects, and those of one of them. */
function keywords(sub: fc.Arbitrary<unknown>, draft: "2020-12" | "draft-07"): Keywords {
  const subs = fc.array(sub, { minLength: 1, maxLength: 3 });
  const map = fc.dictionary(names, sub, { maxKeys: 3 });
  const shared: Keywords = {
    type: fc.oneof(typeName, fc.uniqueArray(typeName, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, {
      minLength: 1,
      maxLength: 4,
      comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
    }),
    const: value,
    minimum: fc.integer({ min: -3, max: 3 }),
    exclusiveMaximum: fc.integer({ min: -3, max: 3 }),
    multipleOf: fc.constantFrom(1, 2, 3),
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom("^a", "b$", "^[a-z]+$", "\\d"),
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    contains: sub,
    minProperties: count,
    maxProperties: count,
    required: nameList,
    properties: map,
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b", "_"), sub, { maxKeys: 2 }),
    additionalProperties: sub,
    propertyNames: fc.constantFrom(true, { minLength: 2 }, { pattern: "^[abc]$" }, { enum: ["a", "b"] }),
    allOf: subs,
    anyOf: subs,
    oneOf: subs,
    not: sub,
    if: sub,
    then: sub,
    else: sub,
    $ref: fc.constantFrom("#/$defs/one", "#/$defs/two"),
  };
  if (draft === "draft-07") {
    return {
      ...shared,
      items: fc.oneof(sub, subs),
      additionalItems: sub,
      dependencies: fc.dictionary(names, fc.oneof(sub, nameList), { maxKeys: 2 }),
    };
  }
  return {
    ...shared,
    prefixItems: subs,
    items: sub,
    dependentRequired: fc.dictionary(names, nameList, { maxKeys: 2 }),
    dependentSchemas: map,
    unevaluatedProperties: sub,
    unevaluatedItems: sub,
  };
}

/** Leaves out what ajv is known to get wrong, by the specification and the official suite. */
function withoutQuarrels(schema: Record<string, unknown>, draft: string): Record<string, unknown> {
  // Beside a reference draft-07 ignores the rest.
  if (draft === "draft-07" && "$ref" in schema) return { $ref: schema["$ref"] };
  if (draft === "draft-07") return schema;
  // In 2020-12 `contains` evaluates the items it matches, and is not met by an empty list beside `prefixItems`.
  const { contains: _, ...rest } = schema;
  return rest;
}

function schemaOf(draft: "2020-12" | "draft-07"): fc.Arbitrary<Record<string, unknown>> {
  const leaf = fc.oneof(
    fc.boolean(),
    typeName.map((type) => ({ type })),
    fc.constant({}),
  );
  const { schema } = fc.letrec((tie) => {
    const all = Object.entries(keywords(tie("schema"), draft));
    const object = fc
      .uniqueArray(fc.oneof(...all.map(([name, argument]) => argument.map((one) => [name, one] as const))), {
        maxLength: 4,
        selector: ([name]) => name,
      })
      .map((entries): Record<string, unknown> => Object.fromEntries(entries))
      .map((one) => withoutQuarrels(one, draft));
    return { schema: fc.oneof({ depthSize: "small" }, leaf, object) };
  });
  const root = schema.map((one) => (typeof one === "object" && one !== null ? one : { allOf: [one] }));
  // References lead to schemas that lead nowhere, so that none goes round in circles.
  const end = fc.constantFrom(
    { type: "object" },
    { minLength: 2 },
    { properties: { a: { type: "string" } } },
    { minimum: 1 },
  );
  return fc.tuple(root, end, end).map(([one, first, second]) => ({ ...one, $defs: { one: first, two: second } }));
}

const drafts = [
  { draft: "2020-12", ajv: new Ajv2020({ strict: false, ownProperties: true, logger: false }) },
  { draft: "draft-07", ajv: new Ajv({ strict: false, ownProperties: true, logger: false }) },
] as const;

describe("beside ajv", () => {
  it.each(drafts)(
    "gives the same verdicts in $draft",
    ({ draft, ajv }) => {
      let verdicts = 0;
      let valid = 0;
      const property = fc.property(
        schemaOf(draft),
        fc.array(value, { minLength: 12, maxLength: 12 }),
        (schema, values) => {
          const theirs = ajv.compile(schema);
          const ours = compileJsonSchema(schema, { dialect: draft });
          for (const one of values) {
            const expected = theirs(one);
            verdicts++;
            if (expected) valid++;
            expect(ours.check(one), JSON.stringify({ schema, value: one })).toBe(expected);
            expect(ours.validate(one).ok).toBe(expected);
          }
        },
      );
      fc.assert(property, { numRuns: repeated(15, 250), seed: 20_260_728 });
      console.info(`${draft}: ${verdicts} verdicts, ${valid} of them valid`);
    },
    60_000,
  );
});
