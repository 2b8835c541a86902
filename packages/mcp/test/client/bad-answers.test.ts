// Bad answers of a server to each question a client asks, of itself or for a caller: they fail that question, and nothing else.
import { describe, it } from "vitest";
import { Client } from "../../src/client/client.js";
import { badAnswers, expectAllHandled } from "../support/unhandled.js";
import { DISCOVERED, initialized, type Script, ScriptedServer, serving } from "./scripted-server.js";

const REVISIONS = ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"];
const TEXT = { type: "text", text: "x" };
const TOOL = { name: "t", inputSchema: { type: "object" } };
const PAGE = { resultType: "complete", nextCursor: "", ttlMs: 1, cacheScope: "private" };

/** A good answer to each question, and what asks it. */
const QUESTIONS: Readonly<
  Record<string, { good: Record<string, unknown>; ask: (client: Client) => Promise<unknown> }>
> = {
  "tools/list": { good: { ...PAGE, tools: [TOOL] }, ask: (client) => client.tools().all() },
  "resources/list": { good: { ...PAGE, resources: [] }, ask: (client) => client.resources().all() },
  "resources/templates/list": {
    good: { ...PAGE, resourceTemplates: [] },
    ask: (client) => client.resourceTemplates().all(),
  },
  "prompts/list": { good: { ...PAGE, prompts: [] }, ask: (client) => client.prompts().all() },
  "tools/call": { good: { resultType: "complete", content: [TEXT], _meta: {} }, ask: (client) => client.call("t", {}) },
  "resources/read": { good: { ...PAGE, contents: [] }, ask: (client) => client.read("test://a") },
  "prompts/get": { good: { resultType: "complete", messages: [] }, ask: (client) => client.prompt("p", {}) },
  "completion/complete": {
    good: { resultType: "complete", completion: { values: [], total: 1, hasMore: false } },
    ask: (client) => client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "b" }),
  },
  ping: { good: { resultType: "complete" }, ask: (client) => client.ping() },
  "logging/setLevel": { good: {}, ask: (client) => client.setLogLevel("debug") },
};

const settled = async (asked: Promise<unknown>): Promise<void> => void (await asked.catch(() => undefined));

describe.each(REVISIONS)("a bad answer of a server in revision %s", (revision) => {
  expectAllHandled();

  it.each(Object.keys(QUESTIONS))("fails the question alone: %s", async (method) => {
    const { good, ask } = QUESTIONS[method] as (typeof QUESTIONS)[string];
    for (const bad of badAnswers(good)) {
      // Answers with a cursor that goes on are read to their end: the second page is empty.
      let answered = 0;
      const script: Script = (message, { say, answer }) => {
        if (message.id === undefined) return;
        if (message.method !== method || answered++ > 3) answer(QUESTIONS[String(message.method)]?.good ?? {});
        else say({ jsonrpc: "2.0", id: message.id, ...bad });
      };
      const scripted = new ScriptedServer(serving(revision, script));
      const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: false, timeoutMs: 300 });
      await settled(ask(client));
      await client.close();
    }
  });

  it("to what a client asks when lists changed, and when it is connected again", async () => {
    for (const bad of badAnswers({ ...PAGE, tools: [TOOL] })) {
      const script: Script = (message, { say }) => {
        if (message.id !== undefined) say({ jsonrpc: "2.0", id: message.id, ...bad });
      };
      const scripted = new ScriptedServer(serving(revision, script));
      const client = await Client.connect(scripted.dialer(), {
        verdicts: false,
        reconnect: { delayMs: 1 },
        timeoutMs: 300,
        onListChanged: async () => {
          await client.tools().all();
        },
      });
      const watched = client.subscribe({ resources: ["test://a"], toolsListChanged: true });
      void watched.ready.catch(() => undefined);
      for (const kind of ["tools", "resources", "prompts"])
        scripted.say({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed`, ...noteOf(bad) });
      for (const name of ["resources/updated", "progress", "message", "cancelled", "subscriptions/acknowledged"])
        scripted.say({ jsonrpc: "2.0", method: `notifications/${name}`, ...noteOf(bad) });
      await settled(client.tools().all());
      await client.close();
    }
  });

  it("to how it is asked who it is", async () => {
    const wanted = revision === "2026-07-28" ? "server/discover" : "initialize";
    for (const bad of badAnswers(wanted === "initialize" ? initialized(revision) : DISCOVERED)) {
      const script: Script = (message, talk) => {
        if (message.method === wanted) talk.say({ jsonrpc: "2.0", id: message.id, ...bad });
        else serving(revision, () => undefined)(message, talk);
      };
      const scripted = new ScriptedServer(script);
      const connecting = Client.connect(scripted.dialer(), { verdicts: false, reconnect: false, timeoutMs: 100 });
      await settled(connecting.then((client) => client.close()));
    }
  });
});

/** Notifications have no result: what would be one is their params. */
function noteOf(bad: Readonly<Record<string, unknown>>): object {
  return "result" in bad ? { params: bad["result"] } : { params: bad["error"] };
}
