// Schemas and values made to exhaust the process that compiles or checks them, and what has to become of each.

export type Bomb = readonly [
  name: string,
  make: () => { schema: unknown; value?: unknown },
  expected: "refused" | "expensive" | "answered",
];

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const record = <T>(count: number, make: (i: number) => T): Record<string, T> =>
  Object.fromEntries(times(count, (i) => [`p${i}`, make(i)]));

function nest(depth: number, wrap: (inner: unknown) => unknown, core: unknown): unknown {
  let value = core;
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
}

/** Definitions of which each refers twice to the next: 2^n paths. */
function doubling(n: number, join: (a: unknown, b: unknown) => unknown): Record<string, unknown> {
  const defs = times(n, (i) => [`d${i}`, join({ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` })]);
  return { $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(defs), [`d${n}`]: { minimum: 0 } } };
}

const pattern = (source: string, text: string): ReturnType<Bomb[1]> => ({ schema: { pattern: source }, value: text });
const list = (length: number): number[] => times(length, (i) => i);
const tree = {
  $ref: "#/$defs/t",
  $defs: { t: { anyOf: [{ items: { $ref: "#/$defs/t" } }, { items: { $ref: "#/$defs/t" } }] } },
};

export const BOMBS: readonly Bomb[] = [
  ["anyOf of 3,000 branches", () => ({ schema: { anyOf: times(3_000, (i) => ({ const: i })) } }), "refused"],
  [
    "oneOf of 3,000 branches",
    () => ({ schema: { oneOf: times(3_000, (i) => ({ type: "object", minProperties: i })) } }),
    "refused",
  ],
  [
    "anyOf of 1,900 objects over 1,000 items",
    () => ({
      schema: { items: { anyOf: times(1_900, (i) => ({ required: [`p${i}`] })) } },
      value: times(1_000, () => ({})),
    }),
    "answered",
  ],
  [
    "uniqueItems of 20,000 objects",
    () => ({ schema: { uniqueItems: true }, value: times(20_000, (i) => ({ id: i, name: `n${i}` })) }),
    "answered",
  ],
  [
    "uniqueItems of 20,000 nearly equal strings",
    () => ({ schema: { uniqueItems: true }, value: times(20_000, (i) => "x".repeat(40) + i) }),
    "answered",
  ],
  [
    "uniqueItems whose items hash alike",
    () => ({
      schema: { uniqueItems: true },
      value: times(20_000, (i) => ["x".repeat(40) + String(i).padStart(6, "0") + "x".repeat(40)]),
    }),
    "expensive",
  ],
  [
    "uniqueItems of an item nested 100,000 deep",
    () => ({ schema: { uniqueItems: true }, value: [nest(100_000, (v) => [v], 1), nest(100_000, (v) => [v], 1)] }),
    "expensive",
  ],
  [
    "const against a value nested 100,000 deep",
    () => ({ schema: { const: [[1]] }, value: nest(100_000, (v) => [v], 1) }),
    "answered",
  ],
  ["(a+)+$", () => pattern("(a+)+$", `${"a".repeat(40)}!`), "refused"],
  ["^(a|a)*$", () => pattern("^(a|a)*$", `${"a".repeat(40)}!`), "refused"],
  ["^(a?){30}a{30}$", () => pattern("^(a?){30}a{30}$", "a".repeat(29)), "refused"],
  ["a?a?…aa written out", () => pattern(`^${"a?".repeat(30)}${"a".repeat(30)}$`, "a".repeat(29)), "refused"],
  ["(x+x+)+y", () => pattern("(x+x+)+y", "x".repeat(40)), "refused"],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", () => pattern("^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(60)), "refused"],
  ["a look-ahead around (a+)+", () => pattern("^(?=(a+)+$)", `${"a".repeat(40)}!`), "refused"],
  ["a reference back in a repetition", () => pattern("^(?:(a+)\\1)+$", `${"a".repeat(60)}!`), "refused"],
  [
    "a{1,1000}a{1,1000}$ on 20,000 letters",
    () => pattern("a{1,1000}a{1,1000}$", `${"a".repeat(20_000)}!`),
    "expensive",
  ],
  ["\\s+$ on 200,000 spaces", () => pattern("\\s+$", `${" ".repeat(200_000)}!`), "expensive"],
  ["a*a*a*a*$ on 1,000 letters", () => pattern("^a*a*a*a*$", `${"a".repeat(1_000)}!`), "expensive"],
  ["an expression too large for the engine", () => ({ schema: { pattern: "(?:(?:a{1000}){1000}){1000}" } }), "refused"],
  [
    "1,000 patternProperties against 1,000 members",
    () => ({
      schema: { patternProperties: Object.fromEntries(times(1_000, (i) => [`^x${i}[a-z]`, true])) },
      value: record(1_000, () => 1),
    }),
    "expensive",
  ],
  [
    "1,500 patterns that take long to analyse",
    () => ({
      schema: { allOf: times(1_500, (i) => ({ pattern: `^(${i}|[a-z]b*|c[a-z]*d|\\d+e)+(${i}f|\\d*|[a-z]+)$` })) },
    }),
    "refused",
  ],
  ["$ref bomb 2^18", () => ({ schema: doubling(18, (a, b) => ({ allOf: [a, b] })), value: 1 }), "expensive"],
  ["$ref bomb 2^22", () => ({ schema: doubling(22, (a, b) => ({ allOf: [a, b] })), value: 1 }), "expensive"],
  [
    "$ref bomb 2^22 of failing alternatives",
    () => ({ schema: doubling(22, (a, b) => ({ anyOf: [a, b] })), value: -1 }),
    "expensive",
  ],
  [
    "$ref bomb 2^22 through items",
    () => ({
      schema: doubling(22, (a, b) => ({ allOf: [{ items: a }, { items: b }] })),
      value: nest(23, (v) => [v], 1),
    }),
    "expensive",
  ],
  ["a reference to itself", () => ({ schema: { $ref: "#" }, value: 1 }), "expensive"],
  [
    "references in a ring",
    () => ({ schema: { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }, value: 1 }),
    "expensive",
  ],
  ["a $dynamicRef to itself", () => ({ schema: { $dynamicAnchor: "a", $dynamicRef: "#a" }, value: 1 }), "expensive"],
  [
    "a chain of 1,900 references",
    () => ({
      schema: { $ref: "#/$defs/p0", $defs: { ...record(1_900, (i) => ({ $ref: `#/$defs/p${i + 1}` })), p1900: {} } },
      value: 1,
    }),
    "expensive",
  ],
  [
    "a recursive schema and a value 100,000 deep",
    () => ({ schema: { items: { $ref: "#" } }, value: nest(100_000, (v) => [v], 1) }),
    "expensive",
  ],
  [
    "a tree of alternatives over a nested value",
    () => ({ schema: tree, value: nest(40, (v) => [v, v], 1) }),
    "expensive",
  ],
  ["not nested 2,000 deep", () => ({ schema: nest(2_000, (s) => ({ not: s }), {}) }), "refused"],
  ["properties nested 2,000 deep", () => ({ schema: nest(2_000, (s) => ({ properties: { a: s } }), {}) }), "refused"],
  ["allOf nested 100,000 deep", () => ({ schema: nest(100_000, (s) => ({ allOf: [s] }), {}) }), "refused"],
  ["const nested 100,000 deep", () => ({ schema: { const: nest(100_000, (v) => [v], 1) } }), "refused"],
  [
    "a schema that contains itself",
    () => {
      const schema: Record<string, unknown> = {};
      schema["not"] = schema;
      return { schema };
    },
    "refused",
  ],
  ["a schema of 2^30 shared branches", () => ({ schema: nest(30, (s) => ({ allOf: [s, s] }), {}) }), "refused"],
  ["enum of 40,000 strings", () => ({ schema: { enum: times(40_000, (i) => `value ${i}`) } }), "refused"],
  [
    "enum of 2,000 objects over 2,000 items",
    () => ({
      schema: { items: { enum: times(2_000, (i) => ({ i, name: `some name ${i}` })) } },
      value: times(2_000, (i) => ({ i, name: "x" })),
    }),
    "answered",
  ],
  [
    "2,000 properties",
    () => ({
      schema: { type: "object", properties: record(2_000, () => ({ type: "integer" })) },
      value: record(2_000, (i) => i),
    }),
    "answered",
  ],
  [
    "2,000 properties for each of 5,000 items",
    () => ({
      schema: { items: { properties: record(1_900, () => ({ type: "integer" })) } },
      value: times(5_000, () => ({ p1: 1 })),
    }),
    "answered",
  ],
  [
    "propertyNames with alternatives over 5,000 members",
    () => ({
      schema: { propertyNames: { anyOf: times(500, (i) => ({ minLength: 100 + i })) } },
      value: record(5_000, () => 1),
    }),
    "answered",
  ],
  [
    "required of 20,000 names in each of 1,000 items",
    () => ({ schema: { items: { required: times(20_000, (i) => `p${i}`) } }, value: times(1_000, () => ({})) }),
    "answered",
  ],
  [
    "dependentSchemas over 1,000 members of 1,000 items",
    () => ({
      schema: { items: { dependentSchemas: record(1_000, () => ({ minProperties: 1 })) } },
      value: times(1_000, () => record(20, () => 1)),
    }),
    "expensive",
  ],
  [
    "contains over 300,000 items",
    () => ({ schema: { contains: { allOf: [{ const: "x" }, { type: "string" }] } }, value: list(300_000) }),
    "expensive",
  ],
  [
    "unevaluatedProperties over 500 branches",
    () => ({
      schema: {
        items: { anyOf: times(500, (i) => ({ properties: { [`p${i}`]: true } })), unevaluatedProperties: false },
      },
      value: times(1_000, () => ({ a: 1 })),
    }),
    "answered",
  ],
  [
    "multipleOf by tiny steps",
    () => ({ schema: { items: { multipleOf: 1e-300 } }, value: times(20_000, () => 1.7e308) }),
    "expensive",
  ],
  [
    "a default of 100 kB in each of 10,000 items",
    () => ({
      schema: { items: { properties: { a: { default: times(10_000, (i) => `v${i}`) } } } },
      value: times(10_000, () => ({})),
    }),
    "expensive",
  ],
  [
    "a name of 1 MB that is not allowed",
    () => ({ schema: { properties: { a: true }, additionalProperties: false }, value: { ["x".repeat(1_000_000)]: 1 } }),
    "answered",
  ],
];
