// A value in pieces over the places of one message, in any order; and values of digits in every place where JSON has a number.
import { RpcError } from "@secure-local/mcp/server";
import { describe, expect, it } from "vitest";
import { exactJson, exactly, watchNumbers } from "../../../mcp/src/jsonrpc/exact-numbers.js";
import { DEFAULT_LIMITS } from "../../../mcp/src/jsonrpc/limits.js";
import { parseJson } from "../../../mcp/src/jsonrpc/parse.js";
import { numberCases, spreadCases } from "../../../../scorecard/support/spread-secrets.mjs";
import { redactValue } from "../../src/audit/event-text.js";
import { rememberSecret } from "../../src/audit/secret-shapes.js";
import { cleanError, cleanResult, cleanValue } from "../../src/guard/cleaning/clean-result.js";
import { DEFAULT_CLEAN_LIMITS } from "../../src/guard/cleaning/clean-text.js";
import { serverItems } from "../../src/server/server-reviews.js";

interface Case {
  readonly name: string;
  run(): true | string;
}

watchNumbers();
const json = {
  parse: (text: string) => parseJson(text, DEFAULT_LIMITS),
  write: (value: unknown) => exactJson(exactly(value)),
};
const parts = { cleanError, cleanResult, cleanValue, RpcError, ...json };

/** Of letters, short, and with what JSON and URLs write otherwise; in no other file: one process knows the secrets of all. */
const VALUES = ["Hd6-VbNmLp_7sK3jRtW5yX9", "k7Vt2mQ9xLb4", 'pa"ss/wo&rd+Zq81 %x'];
for (const [at, value] of VALUES.entries()) rememberSecret(`spread_${at}`, value);
const DIGITS = "2718281828459";
rememberSecret("digits", DIGITS);

const found = (cases: Iterable<Case>): string[] =>
  [...cases].flatMap(({ name, run }) => {
    const got = run();
    return got === true ? [] : [`${name}: ${got}`];
  });

describe("a value in pieces", () => {
  it.each(VALUES.slice(0, 2).map((value, at) => [value, `[secret spread_${at}]`] as const))(
    "is in no message, whatever its pieces stand in: %s",
    (value, label) => {
      const cases = [...(spreadCases(parts, value, label) as Iterable<Case>)];
      expect(cases.length).toBeGreaterThan(250);
      expect(found(cases)).toEqual([]);
    },
  );

  it("in Base64, hexadecimal or JSON is found likewise", () => {
    for (const written of [
      Buffer.from(VALUES[0] as string).toString("base64"),
      Buffer.from(VALUES[0] as string).toString("hex"),
      JSON.stringify(VALUES[2]).slice(1, -1),
    ]) {
      const [left, right] = [written.slice(0, 13), written.slice(13)];
      const text = JSON.stringify(cleanValue({ message: right, of: { title: "Name", description: left } }));
      for (const part of [left, right]) expect(text).not.toContain(JSON.stringify(part).slice(1, -1));
    }
  });

  it("stays where a piece of it is missing, and a message stays the very same", () => {
    const value = VALUES[0] as string;
    for (const message of [
      { a: value.slice(0, 11), b: value.slice(12) },
      { a: value.slice(0, 11), b: "Hd6-VbNmLp other words" },
      { rows: Array.from({ length: 2_000 }, (_, at) => [`${at}`, `${(at * 7_919) % 99_991}`]) },
    ])
      expect(cleanValue(message)).toBe(message);
  });
});

describe("a value that begins like a word of the protocol", () => {
  it("leaves that word where it is a key", () => {
    const value = "contentQ7w9Lp";
    rememberSecret("spread_own", value);
    const block = (text: string) => ({ type: "text", text });
    const blocks = [block("Q7w9Lp now"), block("between"), block("the content")];
    const { content, structuredContent } = cleanResult({ content: blocks, structuredContent: { content: "Q7w9Lp" } });
    expect(content?.map(({ text }) => text)).toEqual(["[secret spread_own] now", "between", "the [secret spread_own]"]);
    expect(structuredContent).toEqual({ content: "[secret spread_own]" });
  });
});

describe("a value of digits", () => {
  it("is in no number of a message, however that is written", () => {
    const cases = [...(numberCases(parts, DIGITS) as Iterable<Case>)];
    expect(cases.length).toBeGreaterThan(80);
    expect(found(cases)).toEqual([]);
  });

  it("is no code of an error, no number on record and none of a definition", () => {
    const error = cleanError(new RpcError(Number(DIGITS), "m"), DEFAULT_CLEAN_LIMITS);
    expect([error.code, error.message]).toEqual([-32603, "m"]);
    expect(cleanError(new RpcError(-32000, "m"), DEFAULT_CLEAN_LIMITS).code).toBe(-32000);
    expect(JSON.stringify(redactValue({ a: Number(DIGITS), b: [-Number(DIGITS)] }))).not.toContain(DIGITS);
    const tool = { name: "t", inputSchema: { type: "object", properties: { n: { default: Number(DIGITS) } } } };
    const offer = { tools: [tool], prompts: [], resources: [], resourceTemplates: [], capabilities: {} };
    expect(JSON.stringify([...serverItems(offer as never, {})])).not.toContain(DIGITS);
  });

  it("leaves every other number as it was sent", () => {
    for (const text of [
      `{"a":[0,-1,1.5,2718,271828182845,1e21,9007199254740993,true,false,null,12345678901234567890]}`,
      `{"a":2718281828458,"b":0.000001,"c":-2718281}`,
    ])
      expect(
        exactJson(exactly(cleanResult({ content: [], structuredContent: parseJson(text, DEFAULT_LIMITS) }))),
      ).toContain(text);
  });
});
