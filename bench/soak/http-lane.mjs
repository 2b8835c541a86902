// The soak's clients over HTTP: some without sessions, some with, which come and go.
import { setTimeout as delay } from "node:timers/promises";
import { HttpCaller, startHttpProduct } from "../faults/http-client.mjs";
import { callOutcome } from "../faults/stdio-client.mjs";
import { Requests } from "../measure/mcp-requests.mjs";
import { headerOf, HttpConnection, messageOf } from "../measure/raw-http.mjs";
import { CANCEL_MS } from "./calls.mjs";

const STATELESS = 8;
const SESSIONS = 8;
/** Calls of one session before it is closed and the next one opened. */
const CALLS_A_SESSION = 500;
const READY_MS = 20_000;

export class HttpLane {
  name = "HTTP";
  #server;
  #free = [];
  #waiting = [];

  static async start(place, options) {
    const lane = new HttpLane();
    lane.#server = await startHttpProduct(place, options);
    for (let n = 0; n < STATELESS; n += 1) lane.#free.push(lane.#server.client());
    for (let n = 0; n < SESSIONS; n += 1) lane.#free.push(new SessionCaller(lane.#server.port));
    for (const end = performance.now() + READY_MS; performance.now() < end; await delay(50)) {
      if ((await lane.call(["steady_shout", { text: "x" }])).ok) return lane;
    }
    throw new Error(`its plugin is not there: ${lane.complaints.slice(-300)}`);
  }

  get pid() {
    return this.#server.pid;
  }

  get complaints() {
    return this.#server.stderr;
  }

  get hasEnded() {
    return this.#server.hasEnded;
  }

  async call([name, given]) {
    const caller = this.#free.pop() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
    try {
      return await caller.call(name, given);
    } finally {
      const next = this.#waiting.shift();
      // The one that rested longest comes last, so that all of them are used.
      if (next === undefined) this.#free.unshift(caller);
      else next(caller);
    }
  }

  /** A client that hangs up in the middle. */
  async cancelled([name, given]) {
    const caller = new HttpCaller(this.#server.port);
    const call = caller.call(name, given);
    await delay(CANCEL_MS);
    caller.close();
    await Promise.race([call, delay(100)]);
    return { ok: true };
  }

  async other() {
    const caller = new HttpConnection(this.#server.port);
    try {
      await caller.exchange(new Requests({ port: this.#server.port, modern: true }).request(1, "tools/list"));
      await this.#server.health();
    } finally {
      caller.destroy();
    }
  }

  stop() {
    for (const caller of this.#free) caller.close();
    return this.#server.stop();
  }
}

/** Shakes hands, calls for a while, takes leave. */
class SessionCaller {
  #port;
  #connection;
  #requests;
  #calls = 0;

  constructor(port) {
    this.#port = port;
  }

  async call(name, given) {
    const from = performance.now();
    try {
      if (this.#connection === undefined) await this.#open();
      const reply = await this.#connection.exchange(this.#requests.call((this.#calls += 1), name, given));
      const outcome = callOutcome({ ...messageOf(reply), ms: performance.now() - from });
      if (this.#calls >= CALLS_A_SESSION) await this.#leave();
      return outcome;
    } catch (error) {
      this.close();
      return callOutcome({ gone: error.message, ms: performance.now() - from });
    }
  }

  close() {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  async #open() {
    this.#connection = new HttpConnection(this.#port);
    this.#requests = new Requests({ port: this.#port });
    const reply = await this.#connection.exchange(this.#requests.initialize());
    this.#requests.joined(headerOf(reply, "mcp-session-id"), "2025-11-25");
    await this.#connection.exchange(this.#requests.notification("notifications/initialized"));
    this.#calls = 0;
  }

  async #leave() {
    await this.#connection.exchange(this.#requests.bare("DELETE"));
    this.close();
  }
}
