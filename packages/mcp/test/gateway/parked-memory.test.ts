// A call that waits for its caller's answer was answered itself: what Node keeps of its request and reply goes.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { META } from "../../src/protocol/meta.js";
import { serveHttp } from "../../src/serve/http.js";
import { Context } from "../../src/server/context.js";
import { Server } from "../../src/server/server.js";

const COLLECT = collector();

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

const META_OF_CALLER = {
  [META.protocolVersion]: "2026-07-28",
  [META.clientInfo]: { name: "test", version: "1.0.0" },
  [META.clientCapabilities]: { elicitation: { form: {} } },
};
const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "ask",
};

it("keeps no request of Node's for a call that is parked, and its headers for who goes on with it", async () => {
  const kept: WeakRef<object>[] = [];
  const note = (message: unknown): void => {
    const { request, response } = message as { readonly request: object; readonly response: object };
    kept.push(new WeakRef(request), new WeakRef(response));
  };
  subscribe("http.server.request.start", note);
  const server = new Server({ name: "asking", version: "1.0.0" });
  const heard: (string | undefined)[] = [];
  server.tool("ask", {
    run: async (_args, context) => {
      const call = Context.callOf(context);
      await context.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      heard.push(call.carrier.header("mcp-name"));
      return "done";
    },
  });
  const serving = await serveHttp(server, { port: 0, signals: false });
  const call = async (more: object): Promise<{ result: Record<string, unknown> }> => {
    const params = { name: "ask", arguments: {}, _meta: META_OF_CALLER, ...more };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const reply = await fetch(serving.url, { method: "POST", headers: HEADERS, body });
    return (await reply.json()) as { result: Record<string, unknown> };
  };
  const { result } = await call({});
  expect(result["resultType"]).toBe("input_required");
  // Another request on the connection: what is under way there Node itself keeps.
  await call({});
  const [first] = kept;
  for (let turn = 0; turn < 100 && first?.deref() !== undefined; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    COLLECT();
  }
  expect(kept.slice(0, 2).filter((each) => each.deref() !== undefined)).toHaveLength(0);
  const inputResponses = { "ask-1": { action: "accept", content: { sure: true } } };
  const done = await call({ inputResponses, requestState: result["requestState"] });
  expect(done.result["content"]).toEqual([{ type: "text", text: "done" }]);
  expect(heard).toEqual(["ask"]);
  unsubscribe("http.server.request.start", note);
  await serving.close();
});
