// What is read of a server, and its prompts, are judged as the answers of its tools are.
import { afterEach, beforeEach, expect, it } from "vitest";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { Server } from "@secure-local/mcp/server";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

const TEXT = { type: "text", text: "words" };
const said = (message: unknown): JsonObject => ({ messages: [message] });
const held = (contents: unknown): JsonObject => ({ contents: [contents] });
const ODD: readonly JsonObject[] = [
  ...[{}, null, { uri: null, text: "x" }, { uri: ["javascript:1"], text: "x" }, { uri: "note://a" }].map(held),
  ...[
    { uri: "note://a", text: {} },
    { uri: "note://a", blob: 5 },
    { uri: "note://a", text: "x", blob: {} },
  ].map(held),
  ...[null, {}, { role: "system", content: TEXT }, { role: ["user"], content: TEXT }, { role: "user" }].map(said),
  ...[{ type: "other" }, { type: "text", text: 5 }, { type: "resource", resource: { uri: 5, text: "x" } }].map(
    (content) => said({ role: "user", content }),
  ),
];
const FINE: readonly JsonObject[] = [
  held({ uri: "note://a", text: "words" }),
  held({ uri: "note://a", blob: "d29yZHM=" }),
  said({ role: "assistant", content: TEXT }),
];

it.each([...ODD.map((each) => [each, false] as const), ...FINE.map((each) => [each, true] as const)])(
  "%j: passed on %s",
  async (answer, passed) => {
    fleet.make("ev", () => {
      const server = new Server({ name: "h", version: "1" });
      server.resource("note://a", { name: "a", description: "A.", read: () => "a" });
      server.prompt("p", { description: "P.", run: () => "p" });
      server.use((call, next) => (/read|get/.test(call.method) ? Promise.resolve(answer) : next()));
      return server;
    });
    const policy = await fleet.policy('prompts: { allowed: ["*"] }\nresources: { allowed: ["note://*"] }');
    await fleet.approve(policy);
    await fleet.serve(policy);
    const peer = await fleet.client("2025-11-25");
    const asked = peer.request(
      ...(("contents" in answer ? ["resources/read", { uri: "note://a" }] : ["prompts/get", { name: "ev__p" }]) as [
        string,
        JsonObject,
      ]),
    );
    const got = await asked.then(JSON.stringify, (error: unknown) => String(error));
    if (passed) expect(got).not.toMatch(/violated|Error/);
    // The library at the server's end stops some of them itself.
    else expect(got).toMatch(/violated the protocol|ev: Internal error/);
  },
);
