// Handlers of the low-level server have the types of what they get, as in the SDK: this file compiles in strict mode.
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { CallToolRequestSchema, McpServer, SubscribeRequestSchema } from "@secure-local/mcp/compat";
import { connect } from "../support/connect.js";

it("a handler's request has the type of its schema or its method", async () => {
  const server = new McpServer(
    { name: "s", version: "1" },
    { capabilities: { tools: {}, resources: { subscribe: true } } },
  );
  const heard: string[] = [];
  server.server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
    expectTypeOf(params.uri).toEqualTypeOf<string>();
    heard.push(await Promise.resolve(params.uri));
    return {};
  });
  server.server.setRequestHandler(CallToolRequestSchema, ({ params: { name } }, extra) => {
    expectTypeOf(extra.signal).toEqualTypeOf<AbortSignal>();
    return { content: [{ type: "text", text: name.toUpperCase() }] };
  });
  server.server.setRequestHandler("resources/unsubscribe", ({ params }) => void heard.push(params.uri));
  const stats = z.object({ method: z.literal("inventory/stats"), params: z.object({ days: z.number() }) });
  server.server.setRequestHandler(stats, ({ params }) => ({ sold: params.days * 2 }));
  const peer = await connect(server.coreServer(), { revision: "2025-11-25" });
  expect(await peer.request("inventory/stats", { days: 2 })).toMatchObject({ sold: 4 });
  expect(await peer.request("tools/call", { name: "up" })).toMatchObject({ content: [{ text: "UP" }] });
  await peer.request("resources/subscribe", { uri: "a://b" });
  expect(heard).toEqual(["a://b"]);
});
