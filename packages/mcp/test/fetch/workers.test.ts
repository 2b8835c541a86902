// In the global scope of a Cloudflare Worker no sessions are kept; in a Durable Object they are.
import { afterEach, expect, it, vi } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { toFetch } from "@secure-local/mcp/fetch";

afterEach(() => vi.unstubAllGlobals());

async function sessionOf(scope: "global" | "object" | "elsewhere", sessions?: boolean): Promise<string | null> {
  vi.stubGlobal("navigator", { userAgent: scope === "elsewhere" ? "Node.js/20" : "Cloudflare-Workers" });
  const random = vi.spyOn(crypto, "getRandomValues");
  if (scope === "global") {
    random.mockImplementation(() => {
      throw new Error("Disallowed operation called within global scope");
    });
  }
  const server = new Server({ name: "s", version: "1" });
  const answer = toFetch(server, sessions === undefined ? {} : { sessions });
  random.mockRestore();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const response = await answer(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    }),
  );
  expect(response.status).toBe(200);
  await response.text();
  await answer.close();
  return response.headers.get("mcp-session-id");
}

it.each([
  ["global", undefined, false],
  ["global", true, true],
  ["object", undefined, true],
  ["object", false, false],
  ["elsewhere", undefined, true],
] as const)("made in the scope %s, sessions %s: %s", async (scope, sessions, kept) => {
  expect((await sessionOf(scope, sessions)) !== null).toBe(kept);
});
