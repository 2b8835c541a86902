// A look at a task that fails since a process ends, or is not there for a moment, says nothing of the task: another look does.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { gate, start } from "../http/http-fixture.js";

const REVISIONS = ["2025-11-25", "2026-07-28"];
/** What looks at a task are answered that meet a process which ends, or none. */
const FATES = ["a text", "an error of the protocol", "nothing"] as const;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** A server behind something that lets the next looks at tasks fail, as many as `left` says. */
async function behind(fate: (typeof FATES)[number]) {
  const { opened, open } = gate();
  onTestFinished(() => open());
  const server = new Server({ name: "polled", version: "1", report: false });
  server.tool("job", { task: "required", run: () => opened.then(() => "done") });
  const { url } = await start(server);
  const state = { left: 0, failed: [] as string[] };
  const front = createServer(async (request, response) => {
    const text = await textOf(request);
    const { id, method = "" } = text === "" ? {} : (JSON.parse(text) as { id?: number; method?: string });
    if (method.startsWith("tasks/") && state.left > 0) {
      state.left--;
      state.failed.push(method);
      if (fate === "nothing") return void response.destroy();
      const error = { code: -32_603, message: "This process is shutting down" };
      const json = JSON.stringify({ jsonrpc: "2.0", id, error });
      return void response
        .writeHead(503, { "content-type": fate === "a text" ? "text/plain" : "application/json" })
        .end(fate === "a text" ? error.message : json);
    }
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers as Record<string, string>;
    const reply = await fetch(url, { method: request.method ?? "", headers, ...(text === "" ? {} : { body: text }) });
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    response.end(await reply.text());
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    front.close();
    front.closeAllConnections();
  });
  return { state, open, url: `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp` };
}

it.each(REVISIONS.flatMap((revision) => FATES.map((fate) => [revision, fate] as const)))(
  "waits for the end of a task of %s where looks at it are answered with %s",
  async (revision, fate) => {
    const { state, open, url } = await behind(fate);
    const client = await connect(url, { revision, verdicts: false });
    onTestFinished(() => client.close());
    const task = await client.callTask("job");
    state.left = 2;
    const result = task.result();
    open();
    expect((await result).content).toEqual([{ type: "text", text: "done" }]);
    expect(state.failed).toHaveLength(2);
  },
);
