// A tool of an SDK that returns no result fails, and the log says what to return.
import { afterEach, expect, it, vi } from "vitest";
import { McpServer } from "@secure-local/mcp/compat";
import { connect } from "../../src/serve/connect.js";

afterEach(() => vi.restoreAllMocks());

it.each([
  ["a text", "plain"],
  ["nothing", undefined],
  ["null", null],
  ["a number", 5],
  ["a list", [{ type: "text", text: "a" }]],
])("%s", async (_what, returned) => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const logged = vi.spyOn(console, "error").mockReturnValue(undefined);
  const server = new McpServer({ name: "c", version: "1" });
  server.registerTool("t", {}, async () => Promise.resolve(returned as never));
  await using client = await connect(server.coreServer());
  expect((await client.call("t")).isError).toBe(true);
  const log = [...written.mock.calls, ...logged.mock.calls].flat().map(String).join("\n");
  expect(log).toContain('return { content: [{ type: "text", text: "..." }] }');
});
