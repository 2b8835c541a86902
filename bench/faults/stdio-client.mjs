// A client of the product over stdio that asks many things at once and keeps what nobody asked for.
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { product } from "./arena.mjs";
import { INITIALIZE } from "../measure/raw-client.mjs";

const STDERR_CHARS = 20_000;
/** An answer that takes longer than this never comes. */
const PATIENCE_MS = 60_000;

/** Starts the product in a place; `wrap` is the command that starts it, `node` are options of Node. */
export function startProduct(place, { wrap = [], node = [], args = [], env = {}, asks = {} } = {}) {
  const [command, ...rest] = [...wrap, process.execPath, ...node, product(), "--policy", place.policy, ...args];
  const child = spawn(command, rest, { env: { ...place.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  return new StdioClient(child, asks);
}

export class StdioClient {
  #waiting = new Map();
  #ids = 0;
  #rest = "";
  #asks;

  /** `asks` answers questions of the server, by method. */
  constructor(child, asks = {}) {
    this.child = child;
    this.#asks = asks;
    this.stderr = "";
    /** Answers to no open request, such as those without an id. */
    this.stray = [];
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve(signal ?? code));
      child.once("error", resolve);
    });
    child.stdin.on("error", () => {});
    child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr = (this.stderr + text).slice(-STDERR_CHARS)));
    child.stdout.setEncoding("utf8").on("data", (text) => this.#read(text));
    void this.exited.then((how) => {
      for (const { settle } of this.#waiting.values()) settle({ gone: how });
    });
  }

  get pid() {
    return this.child.pid;
  }

  get hasEnded() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async initialize(capabilities = {}) {
    const params = { ...INITIALIZE.params, capabilities };
    const { result, gone } = await this.request("initialize", params);
    if (result === undefined) throw new Error(`no handshake (${gone ?? "refused"}): ${this.stderr.trim().slice(-400)}`);
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return result;
  }

  send(message) {
    if (this.child.stdin.writable) this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Resolves to `{ result }`, `{ error }`, `{ gone }` when the server ended or `{ silent }`; and `ms`, never rejects. */
  request(method, params, { id = (this.#ids += 1), patienceMs = PATIENCE_MS } = {}) {
    const from = performance.now();
    return new Promise((resolve) => {
      const settle = (answer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve({ ...answer, ms: performance.now() - from });
      };
      const timer = setTimeout(() => settle({ silent: true }), patienceMs);
      this.#waiting.set(id, { settle });
      if (this.hasEnded) settle({ gone: this.child.exitCode ?? this.child.signalCode });
      else this.send({ jsonrpc: "2.0", id, method, params });
    });
  }

  /** A call of a tool: `ok`, its `text`, and how long it took. */
  async call(name, given = {}, options) {
    const answer = await this.request("tools/call", { name, arguments: given }, options);
    return callOutcome(answer);
  }

  async tools() {
    const { result } = await this.request("tools/list", {});
    return (result?.tools ?? []).map(({ name }) => name);
  }

  /** Waits until these tools are listed. */
  async listed(names, limitMs = 20_000) {
    for (const end = performance.now() + limitMs; performance.now() < end; await delay(20)) {
      const tools = await this.tools();
      if (names.every((name) => tools.includes(name))) return;
    }
    throw new Error(`${names.join(", ")} were not listed in time: ${this.stderr.slice(-400)}`);
  }

  /** Closes its input and resolves to how it ended, with force after a while. */
  async stop(limitMs = 5_000) {
    this.child.stdin.end();
    const how = await Promise.race([this.exited, delay(limitMs, "killed", { ref: false })]);
    this.child.kill("SIGKILL");
    await this.exited;
    return how;
  }

  #read(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#message(JSON.parse(line));
  }

  #message(message) {
    if (message.method !== undefined && message.id !== undefined) {
      const answer = this.#asks[message.method]?.(message.params);
      if (answer !== undefined) this.send({ jsonrpc: "2.0", id: message.id, result: answer });
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (waiting !== undefined) waiting.settle(message);
    else if (message.method === undefined) this.stray.push(message);
  }
}

/** What a call came to, from the answer of either transport. */
export function callOutcome({ result, error, gone, silent, ms }) {
  const text =
    (result?.content ?? []).map((block) => block.text ?? "").join("\n") ||
    (error?.message ?? (gone === undefined ? "" : `ended: ${gone}`));
  return { ok: result !== undefined && result.isError !== true, text, error, gone, silent: silent === true, ms };
}
