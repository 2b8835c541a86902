// A client over stdio in a few lines: starts the built product, or any server, and asks it. For pictures and the console's stage.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const REVISION = "2025-11-25";

/**
 * Starts `command` and opens a session as the client `name`. `answer` is what the client says to a question of the server
 * (`elicitation/create`), by its params; without it the client declares that it cannot be asked.
 *
 * @returns the child; `ask(method, params)`, which resolves to a result, or to the error of an answer that has none; and
 * `call(tool, args)`. Where the server ends, what was asked resolves to undefined.
 */
export async function startDriver(command, { name, version = "2.1", env, cwd, answer }) {
  const child = spawn(command[0], command.slice(1), { env, cwd, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  // What is written to a server that has just ended is lost, and that it ended is seen below.
  child.stdin.on("error", () => undefined);
  createInterface(child.stdout).on("line", (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method === "elicitation/create" && answer !== undefined) send({ id, result: answer(params) });
    if (method !== undefined) return;
    waiting.get(id)?.(result ?? error);
    waiting.delete(id);
  });
  child.once("close", () => {
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  });
  let ids = 0;
  const ask = (method, params) => {
    const id = (ids += 1);
    send({ id, method, params });
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  const capabilities = answer === undefined ? {} : { elicitation: {} };
  await ask("initialize", { protocolVersion: REVISION, capabilities, clientInfo: { name, version } });
  send({ method: "notifications/initialized" });
  return { child, ask, call: (tool, args) => ask("tools/call", { name: tool, arguments: args }) };
}
