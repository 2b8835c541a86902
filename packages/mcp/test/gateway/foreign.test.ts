// The gateway between other people's programs: their servers as processes behind it, their clients in front of it.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Client as OfficialV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as OfficialV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, expect, it } from "vitest";
import { Gateway } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect-node.js";
import { serveHttp } from "../../src/serve/http.js";
import { program } from "../interop-client/cells.js";
import { ALL, allBut, ANSWERING, texts, use } from "../interop-client/features.js";

const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function newGateway(): Gateway {
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  closing.push(() => gateway.unmountAll());
  return gateway;
}

const everything = { command: process.execPath, args: [EVERYTHING] };

it.each(["sdk-v1.mjs", "sdk-v2.mjs"])("relays all that %s has", async (name) => {
  const gateway = newGateway();
  await gateway.mount("theirs", (options) => connect(program(name), { ...options, verdicts: false }), { prefix: "" });
  const client = await connect(gateway, ANSWERING);
  closing.push(() => client.close());
  const direct = await connect(program(name), ANSWERING);
  closing.push(() => direct.close());
  const features = direct.capabilities.logging === undefined ? allBut("logging") : ALL;
  await use(client, features);
});

it.each([
  ["v1", () => [new OfficialV1({ name: "official", version: "1" }), TransportV1] as const],
  ["v2", () => [new OfficialV2({ name: "official", version: "1" }), TransportV2] as const],
])("gives the official client %s the answers it has without the gateway", async (_name, official) => {
  const gateway = newGateway();
  await gateway.mount("every", (options) => connect(everything, { ...options, verdicts: false }));
  const serving = await serveHttp(gateway, { signals: false });
  closing.push(() => serving.close());
  const direct = await connect(everything, { verdicts: false });
  closing.push(() => direct.close());
  const [client, Transport] = official();
  const transport = new Transport(new URL(serving.url));
  await (client as OfficialV2).connect(transport);
  closing.push(() => client.close());
  const tools = await direct.tools().all();
  const listed = await client.listTools();
  expect(listed.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(tools.map(({ name }) => `every__${name}`)),
  );
  for (const [name, args] of [
    ["echo", { message: "hi" }],
    ["get-sum", { a: 1, b: 2 }],
    ["get-sum", { a: "one" }],
    ["get-tiny-image", {}],
    ["get-structured-content", { location: "Chicago" }],
  ] as const) {
    const theirs = await direct.call(name, args);
    const ours = await (client as OfficialV2).callTool({ name: `every__${name}`, arguments: args });
    expect(ours.content).toEqual(theirs.content);
    expect(ours.isError ?? false).toBe(theirs.isError ?? false);
    expect(ours["structuredContent"]).toEqual(theirs.structuredContent);
  }
  await expect((client as OfficialV2).callTool({ name: "echo", arguments: {} })).rejects.toThrow("Unknown tool");
});

it("merges two servers, one of which dies in a call, and the other is as it was", async () => {
  const gateway = newGateway();
  const dying = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") { console.error("out of paper"); process.exit(3); }
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "print", inputSchema: { type: "object" } }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const command = { command: process.execPath, args: ["-e", dying] };
  await gateway.mount("printer", (options) => connect(command, { ...options, verdicts: false, reconnect: false }));
  await gateway.mount("ours", (options) => connect(program("ours.mjs"), { ...options, verdicts: false }));
  const client = await connect(gateway, ANSWERING);
  closing.push(() => client.close());
  const names = (await client.tools().all()).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["printer__print", "ours__echo"]));
  const died = await client.call("printer__print");
  expect(died.isError).toBe(true);
  expect(texts(died)).toMatch(/^printer: its process exited with status 3 /);
  expect(texts(await client.call("ours__echo", { text: "still here" }))).toBe("still here");
});
