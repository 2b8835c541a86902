// Runs the official JSON Schema test suite, mandatory part, in both dialects.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileJsonSchema } from "../../src/schema/json-schema/compile.js";
import { formats } from "../../src/schema/json-schema/formats.js";
import { isMultiple } from "../../src/schema/json-schema/value-keywords.js";
import type { JsonSchema } from "../../src/schema/schema.js";
import { publicList } from "../support/public-list.js";

const found = publicList("json-schema-test-suite");
const suite = found ?? "";

interface Case {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

function readRemotes(): Record<string, JsonSchema> {
  const root = join(suite, "remotes");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  return Object.fromEntries(
    files.map((name) => [
      `http://localhost:1234/${name.replaceAll("\\", "/")}`,
      readJson(join(root, name)) as JsonSchema,
    ]),
  );
}

const present = found !== undefined;

describe.skipIf(!present && process.env["CI"] === undefined)("the official suite", () => {
  const documents = present ? readRemotes() : {};
  const drafts = [
    { folder: "draft2020-12", dialect: "2020-12", atLeast: 1_299 },
    { folder: "draft7", dialect: "draft-07", atLeast: 900 },
  ] as const;

  it.each(drafts)("passes in $folder, all of it", ({ folder, dialect, atLeast }) => {
    const failures: string[] = [];
    let total = 0;
    const directory = join(suite, "tests", folder);
    for (const file of readdirSync(directory).filter((name) => name.endsWith(".json"))) {
      for (const { description, schema, tests } of readJson(join(directory, file)) as Case[]) {
        for (const test of tests) {
          total++;
          const problem = problemOf(() => compileJsonSchema(schema, { documents, dialect }), test);
          if (problem !== undefined) failures.push(`${file}: ${description}: ${test.description}: ${problem}`);
        }
      }
    }
    console.info(`${folder}: ${total - failures.length} of ${total} pass`);
    expect(failures).toEqual([]);
    expect(total).toBeGreaterThanOrEqual(atLeast);
  });
});

describe.skipIf(!present && process.env["CI"] === undefined)("the suite's formats", () => {
  it.each(Object.keys(formats))("%s is asserted when asked for", (format) => {
    const cases = readJson(join(suite, "tests/draft2020-12/optional/format", `${format}.json`)) as Case[];
    const failures = cases.flatMap(({ schema, tests }) => {
      const validator = compileJsonSchema(schema, { formats });
      const wrong = tests.filter(({ data, valid }) => validator.check(data) !== valid);
      return wrong.map(({ description, data }) => `${description}: ${JSON.stringify(data)}`);
    });
    expect(failures.filter((failure) => !exempt.test(failure))).toEqual([]);
  });
});

/** Punycode is not decoded: labels are judged by their letters. */
const exempt = /A-label|U-label|xn--/i;

/** What is wrong with the answers to one case: both passes must agree with the suite and with each other. */
function problemOf(
  compile: () => ReturnType<typeof compileJsonSchema>,
  test: Case["tests"][number],
): string | undefined {
  try {
    const validator = compile();
    if (validator.check(test.data) !== test.valid) return `expected ${test.valid}`;
    const outcome = validator.validate(test.data);
    if (outcome.ok !== test.valid) return `validate: expected ${test.valid}`;
    if (!outcome.ok && outcome.faults.length === 0) return "refused without a fault";
    return undefined;
  } catch (error) {
    return String(error);
  }
}

describe("isMultiple", () => {
  it.each([
    [0.3, 0.1, true],
    [1e308, 0.123456789, false],
    [0.00751, 0.0001, false],
    [5e-324, 5e-324, true],
    [-4, 2, true],
    [Infinity, 2, false],
  ])("of %d and %d is %s", (value, step, expected) => expect(isMultiple(value, step)).toBe(expected));
});
