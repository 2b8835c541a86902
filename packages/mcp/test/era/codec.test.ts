// What each revision gets for things it cannot have: errors, notifications, questions, content.
import { describe, expect, it } from "vitest";
import { codecFor } from "../../src/era/select.js";
import type { Codec } from "../../src/era/codec.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { McpErrorCode, META } from "../../src/protocol/meta.js";
import { CALL_TOOL } from "../../src/protocol/features/tools.js";
import type { MethodRecord } from "../../src/protocol/method.js";
import { revision } from "../../src/protocol/revisions/all.js";
import type { Revision } from "../../src/protocol/revisions/revision.js";

const A = codec("2024-11-05");
const B = codec("2025-03-26");
const C = codec("2025-06-18");
const D = codec("2025-11-25");
const E = codec("2026-07-28");
const SERVER = { name: "s", version: "1" };
const SIGNED = { [META.serverInfo]: SERVER };

function codec(date: string): Codec {
  return codecFor(revision(date) as Revision);
}

function result(writer: Codec, method: string, neutral: object): unknown {
  return JSON.parse(writer.resultText(writer.revision.methods.get(method) as MethodRecord, neutral, SERVER));
}

function call(writer: Codec, neutral: object): unknown {
  return JSON.parse(writer.resultText(CALL_TOOL, neutral, SERVER));
}

describe("results", () => {
  it("adds what the stateless era wants, once", () => {
    expect(result(E, "tools/list", { tools: [] })).toEqual({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: SIGNED,
      tools: [],
    });
    expect(result(E, "tools/list", { tools: [], ttlMs: 5, cacheScope: "public" })).toMatchObject({
      ttlMs: 5,
      cacheScope: "public",
    });
    expect(call(E, { content: [], _meta: { "a.b/c": 1 } })).toEqual({
      resultType: "complete",
      content: [],
      _meta: { ...SIGNED, "a.b/c": 1 },
    });
    expect(E.resultText({ ...CALL_TOOL, result: "plain" }, {}, SERVER)).toBe(
      `{"resultType":"complete","_meta":${JSON.stringify(SIGNED)}}`,
    );
  });

  it("asks in the stateless era only", () => {
    const inputRequests = { r: { method: "roots/list", params: {} } };
    const asking = { resultType: "input_required", requestState: "s", inputRequests };
    expect(call(E, asking)).toEqual({ ...asking, _meta: SIGNED });
    expect(() => call(D, asking)).toThrow(/2025-11-25 client/);
  });

  it("keeps the stateless era out of the handshake era", () => {
    expect(result(D, "tools/list", { tools: [], ttlMs: 5, cacheScope: "public", resultType: "complete" })).toEqual({
      tools: [],
    });
    expect(D.resultText(D.revision.methods.get("ping") as MethodRecord, { resultType: "complete" }, SERVER)).toBe("{}");
  });

  it("moves a tool's title into its annotations where only they have one", () => {
    const tool = { name: "t", title: "T", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
    const bare = { name: "t", inputSchema: { type: "object" } };
    expect(result(A, "tools/list", { tools: [tool] })).toEqual({ tools: [bare] });
    expect(result(B, "tools/list", { tools: [tool] })).toEqual({
      tools: [{ ...bare, annotations: { readOnlyHint: true, title: "T" } }],
    });
    expect(result(C, "tools/list", { tools: [tool] })).toEqual({ tools: [tool] });
    const own = { ...tool, annotations: { title: "Own" } };
    expect(result(B, "tools/list", { tools: [own] })).toEqual({ tools: [{ ...bare, annotations: { title: "Own" } }] });
  });

  it("hands structured content to each revision as it can take it", () => {
    const list = { content: [], structuredContent: [1, 2] };
    expect(call(B, list)).toEqual({ content: [{ type: "text", text: "[1,2]" }] });
    expect(call(B, { ...list, content: [{ type: "text", text: "[ 1, 2 ]" }] })).toEqual({
      content: [{ type: "text", text: "[ 1, 2 ]" }],
    });
    expect(call(D, list)).toEqual({ content: [], structuredContent: { result: [1, 2] } });
    expect(call(D, { content: [], structuredContent: null })).toEqual({
      content: [],
      structuredContent: { result: null },
    });
    expect(call(D, { content: [], structuredContent: { a: 1 } })).toEqual({ content: [], structuredContent: { a: 1 } });
    expect(call(E, list)).toMatchObject({ structuredContent: [1, 2] });
    expect(call(D, { structuredContent: { a: 1 } })).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
  });

  it("translates content that came later", () => {
    const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav", annotations: { priority: 1 } };
    const link = { type: "resource_link", uri: "a:b", name: "n", title: "N", description: "about" };
    expect(call(A, { content: [audio, link] })).toEqual({
      content: [
        {
          type: "resource",
          resource: { uri: "embedded:audio", mimeType: "audio/wav", blob: "AAAA" },
          annotations: { priority: 1 },
        },
        { type: "text", text: "N: a:b\nabout" },
      ],
    });
    expect(call(B, { content: [audio] })).toEqual({ content: [audio] });
    expect(call(C, { content: [{ ...link, icons: [{ src: "https://x/y" }] }] })).toEqual({ content: [link] });
  });

  it("nests flat resources and names their type", () => {
    const flat = { type: "resource", uri: "a:b", text: "t", annotations: { priority: 0 } };
    const nested = {
      type: "resource",
      resource: { uri: "a:b", mimeType: "text/plain", text: "t" },
      annotations: { priority: 0 },
    };
    for (const writer of [A, B, C, D]) expect(call(writer, { content: [flat] })).toEqual({ content: [nested] });
    const blob = { type: "resource", resource: { uri: "a:b", blob: "AAAA" } };
    expect(call(E, { content: [blob] })).toMatchObject({
      content: [{ resource: { uri: "a:b", mimeType: "application/octet-stream", blob: "AAAA" } }],
    });
  });

  it("does not copy a plain answer, and refuses content nobody knows", () => {
    expect(call(D, { content: [{ type: "text", text: "x" }], isError: true })).toEqual({
      content: [{ type: "text", text: "x" }],
      isError: true,
    });
    expect(() => call(D, { content: [{ type: "video" }] })).toThrow(/Unknown content block type: video/);
  });
});

describe("output schemas", () => {
  function output(schema: object): unknown {
    const listed = result(D, "tools/list", {
      tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema: schema }],
    });
    return (listed as { tools: { outputSchema: unknown }[] }).tools[0]?.outputSchema;
  }

  it("wraps what is never an object, pointers included", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "array",
      items: { anyOf: [{ $ref: "#/$defs/x" }, { $ref: "#" }, { const: { $ref: "#/$defs/x" } }, { $ref: "#anchor" }] },
      $defs: { x: { type: "string" }, own: { $id: "https://e.org/", $ref: "#/a" } },
    };
    expect(output(schema)).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        result: {
          type: "array",
          items: {
            anyOf: [
              { $ref: "#/properties/result/$defs/x" },
              { $ref: "#/properties/result" },
              { const: { $ref: "#/$defs/x" } },
              { $ref: "#anchor" },
            ],
          },
          $defs: { x: { type: "string" }, own: { $id: "https://e.org/", $ref: "#/a" } },
        },
      },
      required: ["result"],
    });
  });

  it("only names the type of what is always an object", () => {
    const union = {
      oneOf: [{ type: "object", required: ["a"] }, { $ref: "#/$defs/b" }],
      $defs: { b: { type: "object" } },
    };
    expect(output(union)).toEqual({ type: "object", ...union });
    expect(output({ type: "object", properties: { a: true, b: false } })).toEqual({
      type: "object",
      properties: { a: {}, b: { not: {} } },
    });
  });

  it("describes both ways out for what may be either", () => {
    expect(output({ type: ["object", "null"] })).toEqual({
      type: "object",
      anyOf: [{ $ref: "#/$defs/value" }, { properties: { result: { $ref: "#/$defs/value" } }, required: ["result"] }],
      $defs: { value: { type: ["object", "null"] } },
    });
  });

  it("is soon done with a schema that refers to itself twice", () => {
    const schema = { anyOf: [{ $ref: "#" }, { $ref: "#" }] };
    expect(output(schema)).toMatchObject({ type: "object", $defs: {} });
  });
});

describe("errors", () => {
  it.each([
    ["an unknown resource", -32602, { uri: "a:b" }, [-32002, -32002, -32602]],
    ["an unknown resource, named as it was", -32002, { uri: "a:b" }, [-32002, -32002, -32602]],
    ["malformed params", -32602, { path: "/uri", constraint: "a string" }, [-32602, -32602, -32602]],
    [
      "a missing capability",
      McpErrorCode.MissingRequiredClientCapability,
      { requiredCapabilities: {} },
      [-32602, -32602, -32021],
    ],
    [
      "an unsupported version",
      McpErrorCode.UnsupportedProtocolVersion,
      { supported: [], requested: "x" },
      [-32602, -32602, -32022],
    ],
    ["a reserved code", -32050, undefined, [-32050, -32050, -32603]],
    ["a code of the program's own", 42, undefined, [42, 42, 42]],
    ["a refused sampling", McpErrorCode.SamplingRejected, undefined, [-1, -1, -1]],
    ["a cancelled request", McpErrorCode.RequestCancelled, undefined, [-32800, -32800, -32800]],
    ["pages to open first", McpErrorCode.UrlElicitationRequired, { elicitations: [] }, [-32603, -32042, -32603]],
  ])("numbers %s", (_, code, data, expected) => {
    const error = new RpcError(code, "m", data);
    expect([C, D, E].map((writer) => writer.error(error).code)).toEqual(expected);
  });

  it("keeps the data, and names the pages where the code does not exist", () => {
    const elicitations = [{ mode: "url", message: "m", url: "https://a.example/", elicitationId: "1" }];
    const error = new RpcError(McpErrorCode.UrlElicitationRequired, "Sign in first", { elicitations });
    expect(D.error(error).data).toEqual({ elicitations });
    expect(C.error(error)).toEqual({ code: -32603, message: "Sign in first: https://a.example/" });
    expect(E.error(new RpcError(-32050, "m", 1)).data).toEqual({ upstream: { code: -32050, message: "m", data: 1 } });
    expect(D.error(new RpcError(-32602, "m", { uri: "a:b" })).data).toEqual({ uri: "a:b" });
  });
});

describe("notifications", () => {
  it("leaves out what a revision lacks", () => {
    const progress = { progressToken: 1, progress: 2, message: "m" };
    expect(A.notification("notifications/progress", progress)).toEqual({ progressToken: 1, progress: 2 });
    expect(B.notification("notifications/progress", progress)).toEqual(progress);
    expect(C.notification("notifications/elicitation/complete", { elicitationId: "1" })).toBeUndefined();
    expect(D.notification("notifications/elicitation/complete", { elicitationId: "1" })).toEqual({
      elicitationId: "1",
    });
    expect(E.notification("notifications/elicitation/complete", { elicitationId: "1" })).toBeUndefined();
    expect(D.notification("notifications/subscriptions/acknowledged", {})).toBeUndefined();
    expect(D.notification("com.example/own", { a: 1 })).toEqual({ a: 1 });
  });

  it("names the subscription in the stateless era only", () => {
    const params = { _meta: { [META.subscriptionId]: 1 } };
    expect(E.notification("notifications/tools/list_changed", params)).toEqual(params);
    expect(D.notification("notifications/tools/list_changed", params)).toEqual({});
    expect(D.notification("notifications/tools/list_changed", { _meta: { ...params._meta, a: 1 } })).toEqual({
      _meta: { a: 1 },
    });
  });
});
