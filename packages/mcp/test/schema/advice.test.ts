// What is told of a schema that is valid and hardly meant.
import { expect, it } from "vitest";
import { schemaAdvice } from "../../src/schema/json-schema/advice.js";
import type { JsonSchema } from "../../src/schema/schema.js";

const withN = (n: object): JsonSchema => ({ type: "object", properties: { n } });

it.each<[string, JsonSchema, RegExp]>([
  [
    "a word that is nearly a keyword",
    withN({ type: "number", minimun: 1 }),
    /"minimun" at "#\/properties\/n".*"minimum"/,
  ],
  ["one in a list's items", withN({ type: "array", items: { tpye: "string" } }), /"tpye" at "#\/properties\/n\/items"/],
  [
    "a required member that is not described",
    { type: "object", properties: {}, required: ["id"] },
    /"#" requires "id"/,
  ],
  ["one further in", withN({ type: "object", properties: {}, required: ["id"] }), /"#\/properties\/n" requires "id"/],
  ["a default that is not valid", withN({ type: "integer", default: "ten" }), /default "ten" at "#\/properties\/n"/],
  ["a default that breaks a bound", withN({ minimum: 3, default: 1 }), /default 1 at/],
])("names %s", (_what, schema, words) => {
  expect(schemaAdvice(schema)).toMatch(words);
});

it.each<[string, JsonSchema]>([
  [
    "words of one's own, and of OpenAPI",
    withN({ "x-tyep": 1, example: 1, nullable: true, widget: "slider", order: 3 }),
  ],
  ["a member called like a keyword", { type: "object", properties: { tpye: { type: "string" } }, required: ["tpye"] }],
  ["a required member that a pattern describes", { properties: {}, patternProperties: { "^a": {} }, required: ["ab"] }],
  ["one that every name may be", { properties: {}, additionalProperties: { type: "string" }, required: ["a"] }],
  ["one that an alternative describes", { properties: {}, required: ["a"], oneOf: [{ properties: { a: {} } }] }],
  ["a default that is valid", withN({ type: "integer", default: 10 })],
  [
    "a default behind a reference",
    { $defs: { a: { type: "string" } }, properties: { n: { $ref: "#/$defs/a", default: 1 } } },
  ],
  ["a schema that is only true", true],
])("says nothing of %s", (_what, schema) => {
  expect(schemaAdvice(schema)).toBeUndefined();
});

it("looks at so many schemas only, and ends with one that holds itself", () => {
  const circular: { properties: Record<string, unknown> } = { properties: {} };
  circular.properties["self"] = circular;
  expect(schemaAdvice(circular as JsonSchema)).toBeUndefined();
});
