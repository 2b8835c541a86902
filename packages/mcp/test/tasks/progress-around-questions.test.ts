// A task of a session that asks its person something: the client hears its progress before the question and after the answer.
import { expect, it } from "vitest";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { gate, start } from "../http/http-fixture.js";

/** `heard`: over HTTP what a task reports and its end come by two streams, and nothing comes behind the end. */
function asking(heard: Promise<void>): Server {
  const server = new Server({ name: "asking", version: "1.0.0" });
  server.tool("paint", {
    task: "required",
    async run(_, ctx) {
      await ctx.progress(1, 4);
      const { action } = await ctx.elicit({ message: "Red?", schema: { red: { type: "boolean" } } });
      await ctx.progress(2, 4);
      await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      await ctx.progress(3, 4);
      await heard;
      return action;
    },
  });
  return server;
}

it.each([
  ["memory", (server: Server) => Promise.resolve(server)],
  ["http", async (server: Server) => (await start(server)).url],
] as const)("is told to the end over %s", async (_transport, target) => {
  const heard = gate();
  const client = await connect(await target(asking(heard.opened)), {
    verdicts: false,
    revision: "2025-11-25",
    elicit: () => ({ action: "accept", content: { red: true, sure: true } }),
  });
  const seen: number[] = [];
  await client.tools().all();
  const onProgress = ({ progress }: { readonly progress: number }): void => {
    if (seen.push(progress) === 3) heard.open();
  };
  const handle = await client.callTask("paint", {}, { onProgress });
  expect(await handle.result()).toMatchObject({ content: [{ text: "accept" }] });
  expect(seen).toEqual([1, 2, 3]);
  await client.close();
});
