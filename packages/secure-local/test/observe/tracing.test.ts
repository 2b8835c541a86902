// Spans of requests, made through the real OpenTelemetry API by an SDK of the test's own.
import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/memory-audit.js";
import { tracing } from "../../src/observe/open-telemetry.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
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
  for (const part of [api.trace, api.propagation, api.context]) part.disable();
});

async function peerOf(): Promise<(method: string, params: Record<string, unknown>) => Promise<unknown>> {
  const around = await tracing("1.0.0", () => undefined);
  expect(around).toBeDefined();
  const policy = await parsePolicy(POLICY, { file: "policy.yaml" });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0", around });
  const peer = await connectInMemory(secure.server);
  return (method, params) => peer.request(method, params).catch((error: unknown) => error);
}

const SUM = { name: "calculate", arguments: { expression: "6 * 7" } };

describe("tracing", () => {
  it("is not there without an SDK", async () => {
    for (const part of [api.trace, api.propagation, api.context]) part.disable();
    expect(await tracing("1.0.0", () => undefined)).toBeUndefined();
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
    server.use((await tracing("1.0.0", () => undefined))!);
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

  it("does not believe a broken traceparent", async () => {
    const request = await peerOf();
    for (const traceparent of ["", "00-zz-1-1", 7, null, `${PARENT}x`]) {
      await request("tools/call", { ...SUM, _meta: { traceparent } });
      expect(spans.at(-1)?.parent).toBeUndefined();
    }
  });
});
