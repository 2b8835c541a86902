// Bad answers of a client to each question a server asks: they fail the call that asked, and nothing else.
import { describe, expect, it } from "vitest";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import type { Context } from "../../src/server/context.js";
import type { LiveSession } from "../../src/server/session.js";
import { Server } from "../../src/server/server.js";
import { badAnswers, expectAllHandled } from "../support/unhandled.js";

const ASKED = { type: "boolean" } as const;
const MESSAGES = [{ role: "user", content: { type: "text", text: "hi" } }] as const;
const TEXT = { type: "text", text: "hello" };

type Asking = Pick<Context, "roots" | "sample" | "elicit"> | LiveSession;

const QUESTIONS: Readonly<
  Record<string, { good: Record<string, unknown>; ask: (asking: Asking) => Promise<unknown> }>
> = {
  "roots/list": {
    good: { roots: [{ uri: "file:///a" }] },
    ask: async (asking) => (await asking.roots()).map(({ uri }) => uri.toUpperCase()),
  },
  "sampling/createMessage": {
    good: { role: "assistant", content: TEXT, model: "m", stopReason: "endTurn" },
    ask: (asking) => asking.sample({ messages: [...MESSAGES], maxTokens: 5 }),
  },
  "elicitation/create": {
    good: { action: "accept", content: { sure: true } },
    ask: (asking) => asking.elicit({ message: "Sure?", schema: { sure: ASKED } }),
  },
};

function server(asker: (ctx: Context) => Asking): Server {
  const made = new Server({ name: "asks", version: "1.0.0", limits: { askTimeoutMs: 200 } });
  for (const [name, { ask }] of Object.entries(QUESTIONS)) {
    made.tool(name.replace("/", "_"), { run: async (_, ctx) => JSON.stringify(await ask(asker(ctx))) });
  }
  return made;
}

const CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: {} };

describe.each([
  ["a call", (ctx: Context): Asking => ctx],
  ["the session of a call", (ctx: Context): Asking => ctx.session as LiveSession],
] as const)("a bad answer to a question of %s", (_, asker) => {
  expectAllHandled();

  it.each(Object.keys(QUESTIONS))("fails that call alone: %s", async (method) => {
    const { good } = QUESTIONS[method] as (typeof QUESTIONS)[string];
    // The peer answers nothing by itself: each answer is written below, as it stands on the wire.
    const answer = { [method]: () => new Promise<never>(() => undefined) };
    const peer = await connectInMemory(server(asker), { revision: "2025-11-25", capabilities: CAPABILITIES, answer });
    let id = 1000;
    for (const bad of badAnswers(good)) {
      const call = { name: method.replace("/", "_"), arguments: {} };
      // What was answered well once is kept until the client says that it changed.
      peer.notify("notifications/roots/list_changed");
      peer.send(JSON.stringify({ jsonrpc: "2.0", id: ++id, method: "tools/call", params: call }));
      const question = await peer.next((message) => message["method"] === method);
      peer.send(JSON.stringify({ jsonrpc: "2.0", id: question.id, ...bad }));
      const ended = await peer.next((message) => message.id === id && !("method" in message));
      expect(JSON.stringify(ended), JSON.stringify(bad)).not.toContain("failed unexpectedly");
    }
    expect(await peer.request("ping")).toEqual({});
    await peer.close();
  });
});
