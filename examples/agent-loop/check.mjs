// Runs the loop with a model that follows a script, against a server that is started for it: exits 0 only if all is right.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client/node";
import { run } from "./agent.mjs";

const asked = [];
const client = await connect(
  { command: process.execPath, args: [fileURLToPath(new URL("server.mjs", import.meta.url))] },
  {
    clientInfo: { name: "agent-loop", version: "1.0.0" },
    elicit: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { sure: true } };
    },
  },
);

const script = [
  { calls: [{ id: "1", name: "price", arguments: { drink: "milk" } }] },
  { calls: [{ id: "2", name: "price", arguments: { drink: "tea" } }] },
  { calls: [{ id: "3", name: "order", arguments: { drink: "tea", cups: 2 } }] },
];
const seen = [];
const model = (messages, tools) => {
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["price", "order"],
  );
  for (const { text, isError } of messages.at(-1).results ?? []) seen.push(isError ? `error: ${text}` : text);
  return script.shift() ?? { text: `Done: ${seen.at(-1)}` };
};

try {
  assert.equal(await run(client, { task: "Two teas, please", model }), "Done: Ordered 2 tea");
} finally {
  await client.close();
}
assert.deepEqual(seen, ["error: There is no milk, only tea and coffee.", "3", "Ordered 2 tea"]);
assert.deepEqual(asked, ["Order 2 tea?"]);
console.log("agent-loop: a model used two tools and the user agreed to one of them");
