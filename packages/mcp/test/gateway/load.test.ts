// Much at once: a long answer that nobody reads, no file left to open, everybody coming back at the same time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage, request } from "node:http";
import { connect as dial, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it, vi } from "vitest";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { repeated } from "../support/soak.js";
import { within } from "../support/within.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const NARROW = fileURLToPath(new URL("narrow.mjs", import.meta.url));
const MEGABYTE = 1024 * 1024;
const AT_ONCE = 400;

it("answers of ten megabytes that nobody reads hold up nobody else, and little memory (case 38)", async () => {
  const program = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call")
          say({ id, result: { content: [{ type: "text", text: "x".repeat(params.arguments.long ? ${10 * MEGABYTE} : 1) }] } });
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const gateway = stage.gateway();
  await gateway.mount("up", (options) =>
    connect({ command: process.execPath, args: ["-e", program] }, { ...options, verdicts: false }),
  );
  const url = await stage.serve(gateway, { answers: "sse" });
  const before = process.memoryUsage().rss;
  const slow = await Promise.all(Array.from({ length: 5 }, (_, id) => unread(url, id + 1)));
  const client = await stage.client(url, { revision: "2026-07-28" });
  for (let n = 0; n < 20; n++) expect(texts(await client.call("up__read"))).toBe("x");
  // Five answers, as text and as bytes, and what the engine has not let go of: Node 24 keeps more than Node 20.
  expect(process.memoryUsage().rss - before).toBeLessThan(5 * 10 * MEGABYTE * 8);
  for (const response of slow) {
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(10 * MEGABYTE);
  }
});

/** The head of the answer to a call, of which nothing more is read yet. */
function unread(url: string, id: number): Promise<IncomingMessage> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "up__read", arguments: { long: true }, _meta };
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "up__read",
    };
    const sent = request(url, { method: "POST", headers, agent: false }, resolve).on("error", reject);
    sent.end(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
  });
}

/** Until a process that had no file left serves again. */
const COMES_BACK = { timeout: 10_000, interval: 20 };

it.skipIf(process.platform === "win32")(
  "with no file left to open, those who are there are served, and those who come later again (case 51)",
  async () => {
    const upstream = new Server({ name: "up", version: "1" });
    upstream.tool("say", { run: () => "said" });
    const there = await stage.serve(upstream);
    const child = spawn("sh", ["-c", 'ulimit -n 40; exec "$0" "$@"', process.execPath, NARROW, there], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    stage.later(() => (child.stdin.end(), once(child, "exit")));
    const [line] = (await within(once(child.stdout, "data"), "the gateway listens")) as [Buffer];
    const url = String(line).trim();
    const old = await stage.client(url, { revision: "2025-11-25" });
    expect(texts(await old.call("up__say"))).toBe("said");
    const stream = await standing(url);
    const sockets = await crowd(Number(new URL(url).port), 60);
    expect(child.exitCode).toBeNull();
    // Its connection may have been closed in between: then it is refused like everybody, and not left to wait.
    const during = await within(
      old.call("up__say").then(texts, (error: unknown) => `refused: ${String(error)}`),
      "an answer while there is no file left",
    );
    expect(during).toMatch(/^said$|^refused/);
    for (const socket of sockets) socket.destroy();
    expect(stream.destroyed).toBe(false);
    // Until the gateway has closed its ends of them, whoever comes is turned away as before.
    const late = await vi.waitFor(() => stage.client(url, { revision: "2025-11-25" }), COMES_BACK);
    for (const client of [late, old])
      await vi.waitFor(async () => expect(texts(await client.call("up__say"))).toBe("said"), COMES_BACK);
    stream.destroy();
  },
);

/** Connections that say nothing, as many as are let in of so many. */
async function crowd(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => dial(port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])));
  return sockets;
}

/** A stream that was there before. */
function standing(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) =>
    get(url, { agent: false, headers: { accept: "text/event-stream" } }, resolve).on("error", reject),
  );
}

it("everybody who comes back at the same time is answered, and their server lists once (case 52)", async () => {
  const upstream = new Server({ name: "up", version: "1" });
  upstream.tool("say", { run: () => "said" });
  const counts = new Map<string, number>();
  upstream.use((call, next) => {
    counts.set(call.method, (counts.get(call.method) ?? 0) + 1);
    return next();
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }));
  const url = await stage.serve(gateway);
  const everybody = repeated(400, 800);
  const ask = async (n: number): Promise<boolean> => {
    const { result } = await stage.post(url, n % 2 === 0 ? "tools/list" : "tools/call", {
      ...(n % 2 === 0 ? {} : { name: "up__say", arguments: {} }),
    });
    return JSON.stringify(result).includes("say") || JSON.stringify(result).includes("said");
  };
  const answered: boolean[] = [];
  // More at once than the system keeps waiting for a listener are cut off by it, and nobody's fault.
  for (let n = 0; n < everybody; n += AT_ONCE) {
    answered.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, each) => ask(n + each)))));
  }
  expect(answered.every(Boolean)).toBe(true);
  expect(counts.get("tools/list")).toBe(1);
  expect(counts.get("tools/call")).toBe(everybody / 2);
  expect(counts.get("initialize")).toBeLessThanOrEqual(2);
});
