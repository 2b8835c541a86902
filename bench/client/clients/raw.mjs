// The raw client: the least a careful person writes by hand in bare Node to call a tool and get its result.
import { spawn } from "node:child_process";
import { Agent, request } from "node:http";
import { ENVELOPE, INITIALIZE, MODERN } from "./raw-messages.mjs";

/** Over stdio: a write a call. */
export function openStdio(args) {
  return stdioClient(args, (stdin, line) => stdin.write(line));
}

/** `write(stdin, line)` gets each line on its way. */
export async function stdioClient(args, write) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let lastId = 0;
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf("\n"); at !== -1; at = chunk.indexOf("\n", from)) {
      settle(waiting, JSON.parse(rest + chunk.slice(from, at)));
      rest = "";
      from = at + 1;
    }
    rest += chunk.slice(from);
  });
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      write(child.stdin, `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  await ask("initialize", INITIALIZE);
  write(child.stdin, `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return {
    call: (name, given) => ask("tools/call", { name, arguments: given }),
    close: () => child.stdin.end(),
  };
}

function settle(waiting, { id, result, error }) {
  const waiter = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) waiter?.resolve(result);
  else waiter?.reject(new Error(error.message));
}

/** Over node:http on kept connections, with the session of 2025-11-25 or the headers of 2026-07-28. */
export async function openHttp(url, modern) {
  const agent = new Agent({ keepAlive: true });
  const { hostname: host, port, pathname: path } = new URL(url);
  const own = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  let lastId = 0;
  const post = (message, extra) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(message);
      const headers = { ...own, ...extra, "content-length": Buffer.byteLength(body) };
      const sent = request({ host, port, path, agent, method: "POST", headers }, (reply) => {
        let text = "";
        reply.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        reply.on("end", () => resolve({ reply, text }));
        reply.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const ask = async (method, params, extra) => {
    const { reply, text } = await post({ jsonrpc: "2.0", id: ++lastId, method, params }, extra);
    if (reply.statusCode !== 200) throw new Error(`HTTP ${reply.statusCode}: ${text}`);
    const { result, error } = JSON.parse(text);
    if (error !== undefined) throw new Error(error.message);
    return { result, reply };
  };
  if (modern) {
    return {
      call: async (name, given) => {
        const params = { name, arguments: given, _meta: ENVELOPE };
        const extra = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name };
        return (await ask("tools/call", params, extra)).result;
      },
      close: () => agent.destroy(),
    };
  }
  const { reply } = await ask("initialize", INITIALIZE, {});
  const session = { "mcp-session-id": reply.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25" };
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return {
    call: async (name, given) => (await ask("tools/call", { name, arguments: given }, session)).result,
    close: () => agent.destroy(),
  };
}
