// A question that no person could read is refused in the code that asks, in the sentence that mends it.
import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { connect } from "@secure-local/mcp/client";
import { toFetch } from "@secure-local/mcp/fetch";

const form = { sure: { type: "boolean" } };

describe.each(["2025-11-25", "2026-07-28"])("in %s", (revision) => {
  it.each<readonly [string, unknown, string]>([
    ["a text", "m", "a question is one object, not"],
    ["nothing", undefined, "a question is one object, not"],
    [
      "no message",
      { schema: form },
      '"message" is the text the person reads, not undefined: write ctx.elicit({ message:',
    ],
    ["a message that is no text", { message: 5, schema: form }, '"message" is the text the person reads, not 5'],
    ["a misspelt message", { mesage: "m", schema: form }, 'did you mean "message"?'],
    [
      "a form in the words of the wire",
      { message: "m", requestedSchema: form },
      '"requestedSchema" is called "schema" here',
    ],
    ["a mode", { mode: "form", message: "m", schema: form }, '"mode" is left out'],
    ["neither form nor page", { message: "m" }, 'either "schema", a form, or "url", a page'],
  ])("%s", async (_, input, words) => {
    let said = "nothing";
    let asked = 0;
    const server = new Server({ name: "s", version: "1", report: false });
    server.tool("t", {
      replay: true,
      run: async (_args, ctx) => {
        await ctx.elicit(input as never).catch((error: unknown) => (said = String(error)));
        return "";
      },
    });
    const client = await connect(server, { revision, elicit: () => ({ action: "cancel", asked: ++asked }) as never });
    await client.call("t");
    await client.close();
    expect(said).toContain(words);
    expect(asked).toBe(0);
  });
});

it("a server without sessions says that it is the reason why a client of the older revisions cannot be asked", async () => {
  let said = "nothing";
  const server = new Server({ name: "s", version: "1", report: false });
  server.tool("t", {
    run: async (_args, ctx) => {
      await ctx
        .elicit({ message: "m", schema: { sure: { type: "boolean" } } })
        .catch((error: unknown) => (said = String(error)));
      return "";
    },
  });
  const answer = toFetch(server, { sessions: false });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t" } });
  await (await answer(new Request("http://localhost/mcp", { method: "POST", headers, body }))).text();
  expect(said).toContain("This server keeps no sessions, so a client of 2025-11-25 cannot be asked (elicitation.form)");
  await answer.close();
});
