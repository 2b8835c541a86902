// The product over HTTP, and a client of it that uses a few connections for many calls.
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { Requests } from "../measure/mcp-requests.mjs";
import { headerOf, HttpConnection, messageOf } from "../measure/raw-http.mjs";
import { product } from "./arena.mjs";
import { callOutcome } from "./stdio-client.mjs";

const START_MS = 20_000;
const STDERR_CHARS = 20_000;

/** Starts `serve` on a free port; resolves when it listens. */
export async function startHttpProduct(place, { wrap = [], node = [], args = [], env = {} } = {}) {
  const options = ["serve", "--port", "0", "--no-auth", "--quiet", "--rate", "1000000", "--policy", place.policy];
  const [command, ...rest] = [...wrap, process.execPath, ...node, product(), ...options, ...args];
  const child = spawn(command, rest, { env: { ...place.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  const server = new HttpProduct(child);
  for (const end = performance.now() + START_MS; server.port === undefined; await delay(5)) {
    if (server.hasEnded || performance.now() > end) {
      child.kill("SIGKILL");
      throw new Error(`it does not listen: ${server.stderr.trim().slice(-400)}`);
    }
  }
  return server;
}

class HttpProduct {
  constructor(child) {
    this.child = child;
    this.stderr = "";
    this.port = undefined;
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr = (this.stderr + text).slice(-STDERR_CHARS);
      this.port ??= Number(/serving at http:\/\/[^:]+:(\d+)/.exec(this.stderr)?.[1]) || undefined;
    });
  }

  get pid() {
    return this.child.pid;
  }

  get hasEnded() {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  client() {
    return new HttpCaller(this.port);
  }

  async health() {
    return JSON.parse(await this.#page("/healthz"));
  }

  metrics() {
    return this.#page("/metrics");
  }

  /** Ends it by SIGTERM, and by force after a while. */
  async stop(limitMs = 5_000) {
    this.child.kill("SIGTERM");
    const how = await Promise.race([this.exited, delay(limitMs, "killed", { ref: false })]);
    this.child.kill("SIGKILL");
    await this.exited;
    return how;
  }

  async #page(path) {
    const connection = new HttpConnection(this.port);
    try {
      const { body } = await connection.exchange(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.port}\r\n\r\n`);
      return body;
    } finally {
      connection.destroy();
    }
  }
}

/** One connection, one call at a time; it is opened again when it was lost. */
export class HttpCaller {
  #port;
  #requests;
  #connection;
  #ids = 0;

  constructor(port) {
    this.#port = port;
    this.#requests = new Requests({ port, modern: true });
  }

  /** Never rejects: a lost connection is `gone`. */
  async call(name, given = {}) {
    const from = performance.now();
    try {
      this.#connection ??= new HttpConnection(this.#port);
      const reply = await this.#connection.exchange(this.#requests.call((this.#ids += 1), name, given));
      if (headerOf(reply, "connection") === "close") this.close();
      const retryAfter = Number(headerOf(reply, "retry-after"));
      // Not for this call to be answered: what refused it speaks HTTP alone.
      if (reply.status >= 400 && retryAfter > 0)
        return { ok: false, text: reply.body, status: reply.status, retryAfter };
      return { ...callOutcome({ ...messageOf(reply), ms: performance.now() - from }), status: reply.status };
    } catch (error) {
      this.close();
      return callOutcome({ gone: error.message, ms: performance.now() - from });
    }
  }

  close() {
    this.#connection?.destroy();
    this.#connection = undefined;
  }
}
