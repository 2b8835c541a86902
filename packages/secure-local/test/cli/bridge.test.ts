// Bridges: any server at a URL as a program, and any program as a server over HTTP, whatever revision the client speaks.
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client/node";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { afterEach, describe, expect, it } from "vitest";
import { HttpBridge, type HttpBridgeOptions } from "@secure-local/mcp-tools/http-bridge";
import { childTransport } from "@secure-local/mcp/client/node";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, run, start } from "./command.js";

const PROGRAM = fileURLToPath(new URL("small-program.mjs", import.meta.url));
const ASKING = fileURLToPath(new URL("asking-program.mjs", import.meta.url));

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe("bridge URL", () => {
  const served = async (sse: boolean): Promise<string> => {
    const server = new Server({ name: "far", version: "1.0.0", report: () => undefined });
    server.tool("ask", {
      description: "Asks",
      run: async (_args, ctx) => {
        await ctx.progress(1, 2);
        const answer = await ctx.elicit({
          message: "Who?",
          schema: { who: { type: "string" } },
        });
        return `hello ${answer.action === "accept" ? answer.content?.["who"] : answer.action}`;
      },
    });
    const { url, close } = await serveHttp(server, { port: 0, sse });
    closers.push(close);
    return sse ? new URL("/sse", url).href : url;
  };

  it.each([
    [false, "2024-11-05"],
    [false, "2025-11-25"],
    [false, "2026-07-28"],
    [true, "2024-11-05"],
  ])("is that server on stdio, questions and progress too (SSE %s, %s)", async (sse, revision) => {
    const args = [COMMAND, "bridge", await served(sse)];
    let progress = 0;
    const client = await connect(
      { command: process.execPath, args, env: environmentOf(temporaryFolder()) },
      { revision, elicit: () => ({ action: "accept", content: { who: "you" } }) },
    );
    closers.push(() => client.close());
    expect(client.server.name).toBe("far");
    const asks = client.capabilities.tools !== undefined && revision !== "2024-11-05";
    const result = await client.call("ask", {}, { onProgress: () => (progress += 1) });
    expect(progress).toBe(1);
    expect(JSON.stringify(result)).toContain(asks ? "hello you" : "");
  });

  it("answers for a server that is not there, and ends with its client", async () => {
    const input = `${JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params: {} })}\n`;
    const { code, stdout } = await run(["bridge", "http://127.0.0.1:9/mcp"], { home: temporaryFolder(), input });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 7, error: { code: -32000 } });
  });
});

async function bridged(options: Partial<HttpBridgeOptions> = {}): Promise<string> {
  const link = () => childTransport({ command: process.execPath, args: [PROGRAM] });
  const rest = { shared: false, host: "127.0.0.1", port: 0, token: undefined, origins: [], say: () => undefined };
  const bridge = new HttpBridge({ link, ...rest, ...options });
  const url = await bridge.listen();
  closers.push(() => bridge.close());
  return url;
}

/** Status of a POST of one ping, with these headers. */
async function posted(url: string, headers: Record<string, string>, body = '{"jsonrpc":"2.0","id":1,"method":"ping"}') {
  const sent = request(url, { method: "POST", headers: { "content-type": "application/json", ...headers } });
  sent.on("error", () => undefined).end(body);
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe("bridge -- COMMAND", () => {
  it.each([
    [false, "2024-11-05"],
    [false, "2025-11-25"],
    [false, "2026-07-28"],
    [true, "2025-11-25"],
    [true, "2026-07-28"],
  ])("serves the program to several clients at once (shared %s, %s)", async (shared, revision) => {
    const url = await bridged({ shared });
    const clients = await Promise.all([1, 2, 3].map(() => connect(url, { revision })));
    closers.push(...clients.map((client) => () => client.close()));
    const said = await Promise.all(
      clients.flatMap((client, at) => [0, 1, 2].map((n) => client.call("echo", { text: `${at}.${n}` }))),
    );
    expect(said.map(({ content }) => (content[0] as { text: string }).text)).toEqual(
      [0, 1, 2].flatMap((at) => [0, 1, 2].map((n) => `${at}.${n}`)),
    );
  });

  it("hands a question of a shared program to its only client, and to none of several: whose call it is, nobody can tell", async () => {
    const link = () => childTransport({ command: process.execPath, args: [ASKING] });
    const url = await bridged({ shared: true, link });
    const asked: string[] = [];
    const logged: string[] = [];
    const join = async (name: string) => {
      const client = await connect(url, {
        revision: "2025-11-25",
        elicit: () => {
          asked.push(name);
          return { action: "accept", content: { who: name } };
        },
        onLog: ({ data }) => void logged.push(`${name}: ${String(data)}`),
      });
      closers.push(() => client.close());
      return client;
    };
    const first = await join("first");
    expect(JSON.stringify(await first.call("ask", {}))).toContain("first");
    expect({ asked, logged }).toEqual({ asked: ["first"], logged: ["first: about ask"] });

    const second = await join("second");
    let waits: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve) => {
      waits = first.call("wait", {}, { onProgress: () => resolve() });
    });
    expect(JSON.stringify(await second.call("ask", {}))).toContain("-32601");
    await waits;
    // Alone at work, but not alone there.
    expect(JSON.stringify(await second.call("ask", {}))).toContain("-32601");
    expect({ asked, logged }).toEqual({ asked: ["first"], logged: ["first: about ask"] });

    await first.close();
    expect(JSON.stringify(await second.call("ask", {}))).toContain("second");
  });

  it("lets in neither pages of others, nor names that lead here, nor who lacks the token, and takes no endless message", async () => {
    const token = "a".repeat(43);
    const url = await bridged({ token, origins: ["https://app.example"], messageBytes: 1_000 });
    const authorization = `Bearer ${token}`;
    expect(await posted(url, {})).toBe(401);
    expect(await posted(url, { authorization: "Bearer b" })).toBe(401);
    expect(await posted(url, { authorization, host: "evil.example" })).toBe(403);
    expect(await posted(url, { authorization, origin: "https://evil.example" })).toBe(403);
    expect(await posted(url, { authorization, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await posted(url, { authorization, "content-type": "text/plain" })).toBe(415);
    expect(await posted(url, { authorization }, "x".repeat(2_000))).toBe(413);
    expect(await posted(url, { authorization, "mcp-session-id": "guess" })).toBe(404);
    expect(await posted(url, { authorization, origin: "https://app.example" })).toBe(400);
  });

  it("says what cannot be started, and goes on", async () => {
    const said: string[] = [];
    const link = () => childTransport({ command: "/no/such/program" });
    const url = await bridged({ link, say: (text) => said.push(text) });
    const hello = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    expect([await posted(url, {}, hello), await posted(url, {}, hello)]).toEqual([502, 502]);
    expect(said[0]).toContain("/no/such/program");
  });

  it("is a command that ends, and its programs with it", async () => {
    const child = start(["bridge", "--port", "0", "--", process.execPath, PROGRAM], { home: temporaryFolder() });
    const [text] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    const [url = ""] = /^http\S+/.exec(text) ?? [];
    expect(await posted(url, {})).toBe(401);
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(0);
  });
});
