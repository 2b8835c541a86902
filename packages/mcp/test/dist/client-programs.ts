// Programs that use the packed library's client as its users do, written beside the packed server.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Connects to the packed server in every way there is and prints what came of it, a line each. */
const CLIENT = `
import { connect as connectAnywhere, ConnectError } from "@secure-local/mcp/client";
import { connect } from "@secure-local/mcp/client/node";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";

const options = { verdicts: false, elicit: () => ({ action: "accept", content: { sure: true } }) };
const tell = (...words) => console.log(words.join(" "));
const texts = ({ content }) => content.map(({ text }) => text).join();

const command = { command: process.execPath, args: ["server.mjs"] };
for (const revision of process.argv.slice(2)) {
  const client = await connect(command, { ...options, revision });
  const { length } = await client.tools().all();
  tell(client.transport, client.revision, length, texts(await client.call("add", { a: 2 })), texts(await client.call("ask")));
  await client.close();
}
const server = new Server({ name: "listening", version: "1.0.0" });
server.tool("greet", { run: () => "hello" });
const serving = await serveHttp(server, { port: 0, sse: true });
for (const [how, target] of [[connect, serving.url], [connectAnywhere, serving.url], [connectAnywhere, new URL("/sse", serving.url)], [connectAnywhere, server]]) {
  const client = await how(target, options);
  tell(client.transport, client.revision, texts(await client.call("greet")));
  await client.close();
}
await serving.close();
const error = await connect({ command: process.execPath, args: ["-e", "process.exit(3)"] }, options).catch((reason) => reason);
tell(error instanceof ConnectError, error.code);
`;

/** Uses the types where there is no Node. */
const CONSUMER = `
import { type Change, type Client, connect, LocalError, type Tool } from "@secure-local/mcp/client";
import type { HttpAuthorizer } from "@secure-local/mcp/client";

export async function main(url: string, authorizer: HttpAuthorizer): Promise<string[]> {
  const client: Client = await connect(url, {
    http: { authorizer },
    elicit: (request) => (request.mode === "url" ? { action: "decline" } : { action: "accept", content: { sure: true } }),
    onListChanged: (change: Change) => void change.kind,
  });
  try {
    const names: string[] = [];
    for await (const tool of client.tools()) names.push((tool satisfies Tool).name);
    const { content, isError } = await client.call("add", { a: 1 }, { timeoutMs: 1_000, onProgress: ({ progress }) => void progress });
    // @ts-expect-error a tool has a name
    await client.call();
    return isError === true ? [] : [...names, ...content.map(({ type }) => type)];
  } catch (error) {
    if (error instanceof LocalError && error.code === "TIMEOUT") return [];
    throw error;
  } finally {
    await client.close();
  }
}
`;

const NODE_CONSUMER = `
import { type Client, connect, type NodeConnectOptions } from "@secure-local/mcp/client/node";

const options: NodeConnectOptions = { http: { proxy: "http://proxy.example:8080" } };
export const client: Promise<Client> = connect({ command: "server", args: ["--quiet"], env: { A: "b" } }, options);
// @ts-expect-error arguments are a list
void connect({ command: "server", args: "--quiet" });
`;

/** Writes `client.mjs`, and what `neutral.json` and `node.json` compile of the client. */
export async function writeClientPrograms(folder: string): Promise<void> {
  const files = { "client.mjs": CLIENT, "client-consumer.mts": CONSUMER, "client-node-consumer.mts": NODE_CONSUMER };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}
