// Runs the servers of a file under one roof, plays the person who watches over them: exits 0 only if all is right.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { toModelText } from "@secure-local/mcp/client";
import { Host } from "@secure-local/mcp/host/node";

const file = fileURLToPath(new URL("servers.json", import.meta.url));
const asked = [];

const host = new Host({
  clientInfo: { name: "host-example", version: "1.0.0" },
  // The person sees the whole command line before anything runs.
  authorize: ({ name, argv }) => {
    asked.push(name);
    return argv[0] === "node";
  },
  // And each call with its arguments: reading is fine, secrets do not leave the house.
  onCall: ({ tool, args, trusted }) => {
    if (trusted && tool.annotations?.readOnlyHint) return true;
    if (typeof args.text !== "string") return { deny: "Say what to send." };
    return { args: { ...args, text: args.text.replaceAll(/\d{4}/g, "****") } };
  },
  elicit: ({ server, request }) => {
    asked.push(`${server} asks: ${request.message}`);
    return { action: "accept", content: { sure: true } };
  },
});

/** What a model would be told. */
const call = async (name, args) => toModelText(await host.call(name, args).catch((error) => error)).text;

try {
  const { servers } = await host.loadFile(file, {
    env: { EXAMPLE_SENDER: "Ada" },
    options: (name) => ({ trusted: name === "notes" }),
  });
  const states = Object.fromEntries(servers.map(({ name, state }) => [name, state]));
  assert.deepEqual(states, { notes: "ready", post: "ready", gone: "waiting", rude: "denied" });
  assert.deepEqual(asked.toSorted(), ["gone", "notes", "post", "rude"]);

  assert.deepEqual(
    host.find({ text: "message" }).map(({ name }) => name),
    ["post__send"],
  );
  assert.deepEqual(
    [...host.tools(), ...host.prompts()].map(({ name }) => name),
    ["notes__find", "post__send", "notes__summarize"],
  );

  assert.equal(await call("notes__find", { word: "door" }), "The door code is 4711");
  assert.equal(await call("post__send", { to: "Bob", text: "It is 4711" }), "Ada to Bob: It is ****");
  assert.equal(asked.at(-1), "post asks: Send it to Bob?");
  await assert.rejects(host.call("post__send", { to: "Bob" }), { code: "DENIED", message: /Say what to send/ });
  assert.deepEqual(
    host.calls.map(({ tool, outcome, edited }) => `${tool} ${outcome}${edited ? " edited" : ""}`),
    ["notes__find ok", "post__send ok edited", "post__send denied"],
  );
} finally {
  await host.close();
}
console.log(
  "host: two of four servers ran under one roof, three calls were looked at, one left the house without its secret",
);
