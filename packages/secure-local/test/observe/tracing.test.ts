// Spans of requests, made through the real OpenTelemetry API by an SDK of the test's own.
import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import { Server } from "@secure-local/mcp/server";
import { serveHttp } from "@secure-local/mcp/http";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { telemetry } from "../../src/observe/open-telemetry.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { type RequestOptions, send, toolCall } from "../serve/served.js";
import { type MadeSpan, smallSdk } from "./small-sdk.js";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const POLICY = `version: "1.0"
tools: { allowed: ["calculate"] }
resources: { allowed: ["server://info"] }
`;

const storage = new AsyncLocalStorage<api.Context>();
let spans: MadeSpan[];

beforeEach(() => {
  spans = smallSdk(api, storage);
});

afterEach(() => {
  for (const part of [api.trace, api.metrics, api.propagation, api.context]) part.disable();
});

async function secured(): Promise<SecureServer> {
  const seen = await telemetry("1.0.0", () => undefined);
  expect(seen).toBeDefined();
  const policy = await parsePolicy(POLICY, { file: "policy.yaml" });
  return new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0", telemetry: seen });
}

async function peerOf(): Promise<(method: string, params: Record<string, unknown>) => Promise<unknown>> {
  const secure = await secured();
  const peer = await connectInMemory(secure.server);
  return (method, params) => peer.request(method, params).catch((error: unknown) => error);
}

const SUM = { name: "calculate", arguments: { expression: "6 * 7" } };

function inSession(message: object, session?: string): RequestOptions {
  const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return {
    body: { jsonrpc: "2.0", ...message },
    headers: session === undefined ? types : { ...types, "mcp-session-id": session },
  };
}

describe("tracing", () => {
  it("is not there without an SDK", async () => {
    for (const part of [api.trace, api.metrics, api.propagation, api.context]) part.disable();
    expect(await telemetry("1.0.0", () => undefined)).toBeUndefined();
  });

  it("makes a span of a call, as a child of the span its message names", async () => {
    const request = await peerOf();
    await request("tools/call", { ...SUM, _meta: { traceparent: PARENT, baggage: "who=ada" } });
    const span = spans.find(({ name }) => name === "tools/call calculate");
    expect(span).toMatchObject({
      kind: api.SpanKind.SERVER,
      ended: true,
      status: undefined,
      links: [],
      parent: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", isRemote: true },
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "calculate",
        "mcp.protocol.version": expect.stringMatching(/^20/) as unknown,
        "network.transport": expect.stringMatching(/^(?:tcp|pipe)$/) as unknown,
      },
    });
    expect(span?.attributes["jsonrpc.request.id"]).toMatch(/^\d+$/);
    expect(JSON.stringify(span)).not.toContain("6 * 7");
  });

  it("links the span around the transport where the message names its own, and takes it as parent where not", async () => {
    const request = await peerOf();
    const context = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };
    const around = api.trace.setSpanContext(api.ROOT_CONTEXT, context);
    await storage.run(around, () => request("tools/call", { ...SUM, _meta: { traceparent: PARENT } }));
    await storage.run(around, () => request("tools/call", SUM));
    const [linked, child] = spans.filter(({ name }) => name === "tools/call calculate");
    expect(linked).toMatchObject({ parent: { spanId: "b7ad6b7169203331" }, links: [{ context }] });
    expect(child).toMatchObject({ parent: context, links: [] });
  });

  it("says how a request failed, and only what its caller was told", async () => {
    const request = await peerOf();
    await request("tools/call", { name: "calculate", arguments: { expression: "1 / 0" } });
    await request("resources/read", { uri: "file:///etc/passwd?token=abcdefghijkl" });
    const [tool, read] = spans.slice(-2);
    expect(tool).toMatchObject({
      attributes: { "error.type": "tool_error" },
      status: { code: api.SpanStatusCode.ERROR },
    });
    expect(read).toMatchObject({
      name: "resources/read",
      attributes: { "error.type": "-32002", "rpc.response.status_code": "-32002" },
      status: { code: api.SpanStatusCode.ERROR, message: expect.stringContaining("not found") as unknown },
    });
    expect(read?.attributes["mcp.resource.uri"]).toContain("file:///etc/passwd");
    expect(JSON.stringify(spans)).not.toContain("abcdefghijkl");
  });

  it("goes on in what the client is asked for the call", async () => {
    const server = new Server({ name: "asking", version: "1.0.0" });
    server.use((await telemetry("1.0.0", () => undefined))!.around);
    server.tool("ask", { run: async (_, ctx) => (await ctx.elicit({ message: "Sure?", schema: {} })).action });
    const asked: unknown[] = [];
    const peer = await connectInMemory(server, {
      revision: "2025-11-25",
      capabilities: { elicitation: {} },
      answer: { "elicitation/create": (params) => (asked.push(params), { action: "accept", content: {} }) },
    });
    await peer.request("tools/call", { name: "ask", _meta: { traceparent: PARENT } });
    const [, traceId] = PARENT.split("-");
    expect(asked).toMatchObject([{ _meta: { traceparent: expect.stringContaining(`00-${traceId}-0000`) as unknown } }]);
  });

  it("names the session over HTTP, and not where the header means nothing", async () => {
    const secure = await secured();
    const serving = await serveHttp(secure.server, { signals: false });
    onTestFinished(() => serving.close());
    const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await send(serving.url, inSession({ id: 0, method: "initialize", params: initialize }));
    const id = String(opened.headers["mcp-session-id"]);
    await send(serving.url, inSession({ id: 1, method: "tools/call", params: SUM }, id));
    const { body, headers } = toolCall("calculate", SUM.arguments, { "mcp-session-id": id });
    expect((await send(serving.url, { body, headers: headers ?? {} })).status).toBe(200);
    expect(spans.map(({ attributes }) => attributes["mcp.session.id"])).toEqual([undefined, id, undefined]);
  });

  it("does not believe a broken traceparent", async () => {
    const request = await peerOf();
    for (const traceparent of ["", "00-zz-1-1", 7, null, `${PARENT}x`]) {
      await request("tools/call", { ...SUM, _meta: { traceparent } });
      expect(spans.at(-1)?.parent).toBeUndefined();
    }
  });
});
