// Servers that have a tool with tasks beside tools that ask: every call ends, whoever calls, with tasks and without.
import { expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { Gateway, type MountOptions } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
/** The first revision with forms. */
const FORMS = "2025-06-18";
const SAMPLE = { messages: [{ role: "user" as const, content: { type: "text" as const, text: "?" } }], maxTokens: 10 };

/** Nobody here waits for a person. */
const POLLED = { taskPollMs: 50 };

/** One tool may run as a task, the others may not. */
function upstream(): Server {
  const server = new Server({ name: "up", version: "1", limits: POLLED });
  server.tool("work", { task: "optional", run: () => "worked" });
  server.tool("plain", { run: () => "at once" });
  server.tool("ask", {
    async run(_given, context) {
      const { content } = await context.elicit({ message: "Who?", schema: { name: { type: "string" } } });
      return String(content?.["name"]);
    },
  });
  server.tool("sample", {
    run: async (_given, context) => JSON.stringify((await context.sample(SAMPLE)).content),
  });
  // Asks, and goes on as a task.
  server.tool("ask_and_work", {
    task: "optional",
    async run(_given, context) {
      const { content } = await context.elicit({ message: "Who?", schema: { name: { type: "string" } } });
      const { content: said } = await context.sample(SAMPLE);
      return `${String(content?.["name"])} ${JSON.stringify(said)}`;
    },
  });
  return server;
}

/** What the gateway does with what is asked: keeps the call, as where something stands before calls, or passes rounds on. */
const KEEPING: Readonly<Record<string, MountOptions>> = { "kept calls": { before: () => undefined }, rounds: {} };

const CELLS = REVISIONS.flatMap((ours) =>
  REVISIONS.flatMap((theirs) =>
    Object.keys(KEEPING).flatMap((keeping) => [true, false].map((tasks) => ({ ours, theirs, keeping, tasks }))),
  ),
);

async function said(client: Client, name: string, tasks: boolean): Promise<string> {
  try {
    const result = tasks ? await (await client.callTask(name)).result() : await client.call(name);
    return texts(result);
  } catch (error) {
    return (error as Error).message;
  }
}

it.each(CELLS)("$ours to $theirs, $keeping, tasks: $tasks", { timeout: 5_000 }, async (cell) => {
  const { ours, theirs, keeping, tasks } = cell;
  const server = upstream();
  const gateway = new Gateway({ name: "gateway", version: "1", limits: POLLED });
  await gateway.mount("up", (options) => connect(server, { ...options, revision: theirs }), {
    prefix: "",
    ...KEEPING[keeping],
  });
  const client = await connect(gateway, {
    revision: ours,
    elicit: () => ({ action: "accept", content: { name: "Ada" } }),
    sample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "Paris" } }),
  });
  try {
    // A client has to know a tool before it may ask for a task.
    await client.tools().all();
    const forms = ours >= FORMS && theirs >= FORMS;
    expect(await said(client, "plain", tasks)).toBe("at once");
    expect(await said(client, "work", tasks)).toBe("worked");
    expect(await said(client, "sample", tasks)).toContain("Paris");
    expect(await said(client, "ask", tasks)).toMatch(forms ? /^Ada$/ : /elicitation/);
    expect(await said(client, "ask_and_work", tasks)).toMatch(forms ? /^Ada .*Paris/ : /elicitation/);
  } finally {
    await client.close();
    await gateway.unmountAll();
  }
});
