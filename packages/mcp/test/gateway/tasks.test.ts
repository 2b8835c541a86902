// Tasks of a server that decides itself what becomes one, through the gateway: who waits, who is asked, and who decides.
import { afterEach, expect, it } from "vitest";
import type { ClientOptions } from "../../src/client/options.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { META } from "../../src/protocol/meta.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const NAME = { name: { type: "string" } } as const;

/** Runs as a task that asks two things at once. */
function asking(): Server {
  const server = new Server({ name: "up", version: "1", limits: { taskGraceMs: 1 } });
  server.tool("both", {
    task: "optional",
    async run(_given, context) {
      const ask = (message: string): ReturnType<typeof context.elicit> => context.elicit({ message, schema: NAME });
      const [first, last] = await Promise.all([ask("First?"), ask("Last?")]);
      return `${String(first.content?.["name"])} ${String(last.content?.["name"])}`;
    },
  });
  server.tool("plain", { run: () => "at once" });
  return server;
}

it("a task's result is waited for in a session, and its questions come there together, named after it (case 18)", async () => {
  const gateway = stage.gateway();
  await gateway.mount("up", open(await stage.serve(asking()), { revision: "2026-07-28" }));
  const asked: string[] = [];
  const names: unknown[] = [];
  let bothAsked!: () => void;
  const both = new Promise<void>((resolve) => (bothAsked = resolve));
  const elicit: ClientOptions["elicit"] = async (request) => {
    asked.push(request.message);
    names.push((request as { _meta?: Record<string, unknown> })._meta?.[META.relatedTask]);
    if (asked.length === 2) bothAsked();
    // Neither is answered before the other was asked.
    await both;
    return { action: "accept", content: { name: request.message.slice(0, -1) } };
  };
  const client = await stage.client(await stage.serve(gateway), { revision: "2025-11-25", elicit });
  const task = await client.callTask("up__both");
  expect(texts((await task.result()) as never)).toBe("First Last");
  expect(asked.sort()).toEqual(["First?", "Last?"]);
  expect(names).toEqual([{ taskId: task.id }, { taskId: task.id }]);
});

it("a call that its server answers at once becomes no task, however long the server takes to start", async () => {
  const gateway = stage.gateway({ limits: { taskGraceMs: 1 } });
  let later!: () => void;
  const started = new Promise<void>((resolve) => (later = resolve));
  const upstream = asking();
  const offer = (await stage.gateway().mount("up", (options) => connect(upstream, options))).offer;
  await gateway.mount(
    "up",
    async (options) => {
      await started;
      return connect(upstream, options);
    },
    { offer: offer as NonNullable<typeof offer> },
  );
  const url = await stage.serve(gateway);
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const answer = stage.post(url, "tools/call", {
    name: "up__plain",
    arguments: {},
    _meta: { [META.clientCapabilities]: capabilities },
  });
  // Other calls come and go: the time after which a call would become a task is long over.
  for (let count = 0; count < 20; count++) await stage.post(url, "tools/list", {});
  later();
  expect((await answer).result).toMatchObject({ resultType: "complete", content: [{ text: "at once" }] });
});
