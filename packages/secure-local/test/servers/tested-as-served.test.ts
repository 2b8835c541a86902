// `servers test` examines a server by the very way that its calls go: with its headers, its secrets and in its sandbox.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { Household, tool } from "./household.js";

const house = new Household();
afterAll(() => house.close());

/** A server of 2025-06-18 over HTTP that lets nobody in without its token; the headers of each request. */
async function guardedServer(token: string): Promise<{ url: string; seen: (string | undefined)[] }> {
  const seen: (string | undefined)[] = [];
  const body = async (request: IncomingMessage): Promise<string> => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    return text;
  };
  const server = createServer((request, response) => {
    void body(request).then((text) => {
      seen.push(request.headers.authorization);
      if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
      if (request.method !== "POST") return response.writeHead(405).end();
      let message: { id?: number; method?: string } = {};
      try {
        message = JSON.parse(text) as typeof message;
      } catch {
        return response.writeHead(400).end();
      }
      if (message.id === undefined) return response.writeHead(202).end();
      const answers: Record<string, object> = {
        initialize: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "tickets", version: "1" },
        },
        "tools/list": { tools: [tool("count")] },
        ping: {},
      };
      const result = answers[message.method ?? ""];
      const said = result === undefined ? { error: { code: -32601, message: "no such method" } } : { result };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...said }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

/** What the examination said of a server, whatever it found in it. */
async function tested(name: string): Promise<{ target?: string; server?: { name?: string }; stderr: string }> {
  const { stdout, stderr } = await house.run(["servers", "test", name, "--json"]);
  return { ...(JSON.parse(stdout || "{}") as object), stderr };
}

it("sends the headers of a remote server with every request", async () => {
  const file = join(house.folder, "tk");
  writeFileSync(file, "tk-90d1e6c2b7f04a11", { mode: 0o600 });
  const { url, seen } = await guardedServer("tk-90d1e6c2b7f04a11");
  house.write(`version: "1.0"
secrets: { tk: { from: "file:${file}", hosts: [{ host: 127.0.0.1, ports: [${new URL(url).port}] }] } }
servers:
  tickets: { url: "${url}", headers: { Authorization: "Bearer \${secret:tk}" } }
`);
  expect(await tested("tickets")).toMatchObject({ target: url, server: { name: "tickets" }, stderr: "" });
  expect(new Set(seen)).toEqual(new Set(["Bearer tk-90d1e6c2b7f04a11"]));
});

it("starts a command with the variables its secrets come from", async () => {
  const program = house.program("board", { tools: [tool("list_cards")] });
  house.env = { BOARD_KEY: "key-90d1e6c2b7f04a11" };
  house.write(`version: "1.0"
sandbox: none
secrets: { bk: { from: "env:BOARD_KEY", hosts: [] } }
servers:
  board: { command: [node, "${program}"], env: { BOARD_KEY: "\${secret:bk}" }, ${house.readable} }
`);
  expect(await tested("board")).toMatchObject({ target: `node ${program}`, server: { name: "board" } });
});

it("says why a server cannot be examined in the words of its entry", async () => {
  house.env = {};
  const { stderr } = await tested("board");
  expect(stderr).toContain("the secret bk cannot be read: the variable BOARD_KEY is not set here; set it");
  house.write(`version: "1.0"\nsandbox: none\nservers: { board: { command: [node, "${house.folder}/none.mjs"] } }\n`);
  const missing = await tested("board");
  expect(missing.stderr).toContain("board cannot be examined: it ");
  expect(missing.stderr).not.toContain("servers run board");
});

it("names the servers there are where none is called alike", async () => {
  house.write('version: "1.0"\nservers: { board: { url: "http://127.0.0.1:9/mcp" } }\n');
  expect((await house.run(["servers", "restart", "brd"])).stderr).toContain(
    "the policy names no server brd; it names board",
  );
  expect((await house.run(["servers", "remove", "nope"])).stderr).toContain("it names board");
  expect((await house.run(["servers", "stop", "bord"])).stderr).toContain('did you mean "board"?');
});
