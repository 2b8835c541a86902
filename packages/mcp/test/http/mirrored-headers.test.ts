// Headers that repeat the body: what fits is served, what does not is -32020 with 400.
import { describe, expect, it } from "vitest";
import { mirroredParams } from "../../src/era/stateless/headers.js";
import { Server } from "../../src/server/server.js";
import { type Json, modern, postModern, startOnce } from "./http-fixture.js";

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

type Case = readonly [headers: Record<string, string>, args: Json];

const FITS: readonly Case[] = [
  [{}, {}],
  [{ "mcp-param-region": "eu" }, { region: "eu" }],
  [{ "Mcp-Param-REGION": "eu" }, { region: "eu" }],
  [{ "mcp-param-region": "  eu\t" }, { region: "eu" }],
  [{ "mcp-param-region": base64("eu") }, { region: "eu" }],
  [{ "mcp-param-region": base64("Ærhøj") }, { region: "Ærhøj" }],
  [{ "mcp-param-region": base64(" eu ") }, { region: " eu " }],
  [{ "mcp-param-region": base64("a\tb") }, { region: "a\tb" }],
  [{ "mcp-param-region": base64("=?base64?x?=") }, { region: "=?base64?x?=" }],
  [{ "mcp-param-region": "=?base64??=" }, { region: "" }],
  [{ "mcp-param-region": "" }, { region: "" }],
  [{ "mcp-param-region": "=?base64?ZXU=" }, { region: "=?base64?ZXU=" }],
  [{ "mcp-param-region": "ZXU=?=" }, { region: "ZXU=?=" }],
  [{ "mcp-param-region": "=?BASE64?ZXU=?=" }, { region: "=?BASE64?ZXU=?=" }],
  [{ "mcp-param-region": "a b" }, { region: "a b" }],
  [{ "mcp-param-count": "42" }, { count: 42 }],
  [{ "mcp-param-count": "42.0" }, { count: 42 }],
  [{ "mcp-param-count": "-7" }, { count: -7 }],
  [{ "mcp-param-count": "0" }, { count: 0 }],
  [{ "mcp-param-sure": "true" }, { sure: true }],
  [{ "mcp-param-sure": "false" }, { sure: false }],
  [{ "mcp-param-city": "Oslo" }, { place: { city: "Oslo" } }],
  [{ "mcp-param-other": "x" }, {}],
  [
    { "mcp-param-region": "eu", "mcp-param-count": "1", "mcp-param-sure": "true" },
    { region: "eu", count: 1, sure: true },
  ],
];

const DIFFERS: readonly Case[] = [
  [{}, { region: "eu" }],
  [{}, { region: "" }],
  [{}, { count: 1 }],
  [{}, { count: 0 }],
  [{}, { sure: false }],
  [{}, { place: { city: "Oslo" } }],
  [{ "mcp-param-region": "eu" }, {}],
  [{ "mcp-param-count": "1" }, {}],
  [{ "mcp-param-sure": "false" }, {}],
  [{ "mcp-param-city": "Oslo" }, { place: {} }],
  [{ "mcp-param-region": "us" }, { region: "eu" }],
  [{ "mcp-param-region": "EU" }, { region: "eu" }],
  [{ "mcp-param-region": "eu, us" }, { region: "eu" }],
  [{ "mcp-param-region": "e u" }, { region: "eu" }],
  [{ "mcp-param-region": "" }, { region: "eu" }],
  [{ "mcp-param-region": "eu" }, { region: "" }],
  [{ "mcp-param-region": "eu" }, { region: " eu" }],
  [{ "mcp-param-region": base64("us") }, { region: "eu" }],
  [{ "mcp-param-region": base64("eu ") }, { region: "eu" }],
  [{ "mcp-param-region": base64("EU") }, { region: "eu" }],
  [{ "mcp-param-region": base64("eu") }, { region: base64("eu") }],
  [{ "mcp-param-region": base64(base64("eu")) }, { region: "eu" }],
  [{ "mcp-param-region": "ZXU=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?ZXU?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?ZXU==?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?ZX U=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?ZXV=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?Z-_=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?SGVsbG8?=" }, { region: "Hello" }],
  [{ "mcp-param-region": "=?base64?SGVs!!!bG8=?=" }, { region: "Hello" }],
  [{ "mcp-param-region": "=?base64?/w==?=" }, { region: "\ufffd" }],
  [{ "mcp-param-region": "=?BASE64?ZXU=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?Base64?ZXU=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?base64?ZXU=" }, { region: "eu" }],
  [{ "mcp-param-region": "=?utf-8?B?ZXU=?=" }, { region: "eu" }],
  [{ "mcp-param-region": "%65u" }, { region: "eu" }],
  [{ "mcp-param-region": '"eu"' }, { region: "eu" }],
  [{ "mcp-param-region": "a\tb" }, { region: "a\tb" }],
  [{ "mcp-param-region": "\u00c6" }, { region: "\u00c6" }],
  [{ "mcp-param-count": "43" }, { count: 42 }],
  [{ "mcp-param-count": "042x" }, { count: 42 }],
  [{ "mcp-param-count": "4 2" }, { count: 42 }],
  [{ "mcp-param-count": "0x2a" }, { count: 42 }],
  [{ "mcp-param-count": "4.2e1" }, { count: 42 }],
  [{ "mcp-param-count": "+42" }, { count: 42 }],
  [{ "mcp-param-count": "42.5" }, { count: 42 }],
  [{ "mcp-param-count": "" }, { count: 0 }],
  [{ "mcp-param-count": "-0.1" }, { count: 0 }],
  [{ "mcp-param-count": "NaN" }, { count: 1 }],
  [{ "mcp-param-count": "true" }, { count: 1 }],
  [{ "mcp-param-count": "9007199254740993" }, { count: 9007199254740991 }],
  [{ "mcp-param-sure": "True" }, { sure: true }],
  [{ "mcp-param-sure": "TRUE" }, { sure: true }],
  [{ "mcp-param-sure": "1" }, { sure: true }],
  [{ "mcp-param-sure": "yes" }, { sure: true }],
  [{ "mcp-param-sure": "false" }, { sure: true }],
  [{ "mcp-param-sure": "" }, { sure: false }],
  [{ "mcp-param-city": "Rome" }, { place: { city: "Oslo" } }],
  [
    { "mcp-param-region": "eu", "mcp-param-count": "2" },
    { region: "eu", count: 1 },
  ],
  [{ "mcp-param-region": "eu" }, { region: "eu", count: 1 }],
];

const served = startOnce();

describe("Mcp-Param headers that fit", () => {
  it.each(FITS)("%j and %j", async (headers, args) => {
    const { url } = served;
    const reply = await postModern(url, modern("tools/call", { name: "region", arguments: args }), headers);
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining("complete")]);
  });
});

describe("Mcp-Param headers that differ", () => {
  it.each(DIFFERS)("%j and %j", async (headers, args) => {
    const { url } = served;
    const reply = await postModern(url, modern("tools/call", { name: "region", arguments: args }, {}, 5), headers);
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, { id: 5, error: { code: -32020 } }]);
  });
});

const NAMES: readonly [method: string, params: Json, headers: Record<string, string>][] = [
  ["tools/list", {}, { "mcp-method": "" }],
  ["tools/list", {}, { "mcp-method": "tools/list x" }],
  ["tools/list", {}, { "mcp-method": "tools/List" }],
  ["tools/list", {}, { "mcp-method": "tools/list, tools/list" }],
  ["tools/list", {}, { "mcp-method": "prompts/list" }],
  ["tools/list", {}, { "mcp-method": base64("tools/list") }],
  ["tools/list", {}, { "mcp-protocol-version": "2026-07-27" }],
  ["tools/list", {}, { "mcp-protocol-version": "2026-07-28, 2026-07-28" }],
  ["tools/list", {}, { "mcp-protocol-version": "" }],
  ["tools/call", { name: "echo" }, { "mcp-name": "" }],
  ["tools/call", { name: "echo" }, { "mcp-name": "Echo" }],
  ["tools/call", { name: "echo" }, { "mcp-name": "who" }],
  ["tools/call", { name: "echo" }, { "mcp-name": base64("who") }],
  ["tools/call", { name: "echo" }, { "mcp-name": "=?base64?ZWNobw?=" }],
  ["tools/call", { name: "echo" }, { "mcp-name": "echo, who" }],
  ["tools/call", { name: "no-such-tool" }, { "mcp-name": "echo" }],
  ["prompts/get", { name: "hello" }, { "mcp-name": "bye" }],
  ["resources/read", { uri: "test://a" }, { "mcp-name": "test://b" }],
  ["resources/read", { uri: "test://a" }, { "mcp-name": "TEST://a" }],
  ["resources/read", { uri: "test://a" }, { "mcp-name": "test://a/" }],
];

describe("Mcp-Method and Mcp-Name that differ", () => {
  it.each(NAMES)("%s %j with %j", async (method, params, headers) => {
    const { url } = served;
    const reply = await postModern(url, modern(method, params), headers);
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([400, { id: 1, error: { code: -32020 } }]);
  });

  it("encoded and padded ones that are the same are served", async () => {
    const { url } = served;
    const read = modern("resources/read", { uri: "test://a" });
    expect((await postModern(url, read, { "mcp-name": base64("test://a") })).status).toBe(200);
    expect((await postModern(url, read, { "mcp-name": "  test://a  ", "mcp-method": " resources/read" })).status).toBe(
      200,
    );
  });
});

describe("x-mcp-header", () => {
  const property = (schema: Json): Json => ({ type: "object", properties: { a: schema } });
  const region = { type: "string", "x-mcp-header": "Region" };
  const invalid: readonly Json[] = [
    property({ type: "string", "x-mcp-header": "" }),
    property({ type: "string", "x-mcp-header": "a b" }),
    property({ type: "string", "x-mcp-header": "a:b" }),
    property({ type: "string", "x-mcp-header": "a\tb" }),
    property({ type: "string", "x-mcp-header": "a\r\nb" }),
    property({ type: "string", "x-mcp-header": "Ærø" }),
    property({ type: "string", "x-mcp-header": 1 }),
    property({ type: "string", "x-mcp-header": null }),
    property({ type: "number", "x-mcp-header": "A" }),
    property({ type: "object", "x-mcp-header": "A" }),
    property({ type: "array", "x-mcp-header": "A" }),
    property({ type: "null", "x-mcp-header": "A" }),
    property({ type: ["string", "null"], "x-mcp-header": "A" }),
    property({ "x-mcp-header": "A" }),
    property({ type: "array", items: region }),
    property({ anyOf: [region] }),
    property({ oneOf: [property(region)] }),
    property({ not: region }),
    { type: "object", allOf: [property(region)] },
    { type: "object", if: property(region) },
    { type: "object", then: property(region) },
    { type: "object", else: property(region) },
    { type: "object", $defs: { a: region } },
    { type: "object", definitions: { a: property(region) } },
    { type: "object", additionalProperties: region },
    { type: "object", patternProperties: { a: region } },
    { type: "object", prefixItems: [region] },
    { type: "object", dependentSchemas: { a: property(region) } },
    { ...property({ type: "string" }), "x-mcp-header": "A" },
    { type: "object", properties: { a: region, b: { type: "string", "x-mcp-header": "REGION" } } },
  ];

  it.each(invalid)("is invalid in %j", (schema) => {
    expect(mirroredParams(schema)).toBeTypeOf("string");
  });

  it("is found at any depth of properties, and nowhere in data", () => {
    const schema = property({
      type: "object",
      properties: { "x-mcp-header": { ...region, default: { "x-mcp-header": "x" } } },
    });
    expect(mirroredParams(schema)).toEqual([{ header: "mcp-param-region", path: ["a", "x-mcp-header"] }]);
    expect(mirroredParams({ type: "object", properties: { a: { const: { "x-mcp-header": "" } } } })).toEqual([]);
  });
});

describe("registration", () => {
  const warnings = (properties: Json): string[] => {
    const told: string[] = [];
    const server = new Server({
      name: "t",
      version: "1",
      report: (level, message) => told.push(`${level} ${message}`),
    });
    server.tool("t", { input: { type: "object", properties }, run: () => "" });
    return told;
  };
  const mirrored = (header: string, type = "string"): Json => ({ type, "x-mcp-header": header });

  it("warns of a wish that makes clients drop the tool", () => {
    const told =
      'warning Tool "t": x-mcp-header of a needs the type string, integer or boolean: clients over HTTP drop the tool';
    expect(warnings({ a: mirrored("A", "number") })).toEqual([told]);
  });

  it.each([
    ["password", "P"],
    ["userPassword", "P"],
    ["a", "Api-Key"],
    ["api_key", "K"],
    ["accessTokens", "T"],
    ["client-secret", "S"],
    ["CREDENTIALS", "C"],
  ])("warns when %s is mirrored as %s", (name, header) => {
    expect(warnings({ [name]: mirrored(header) })).toEqual([expect.stringContaining(`shows ${name} to`)]);
  });

  it("says nothing of other arguments, or of secrets that are not mirrored", () => {
    expect(
      warnings({ region: mirrored("Region"), keyword: mirrored("Keyword"), password: { type: "string" } }),
    ).toEqual([]);
  });
});
