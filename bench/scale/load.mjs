// Clients that record every call they make, for the history and the kills: sessions and calls without one, questions among them.
import { randomInt } from "node:crypto";
import { request } from "node:http";
import { agent, META, pause, send, STATELESS } from "./fleet.mjs";

/** Milliseconds of the clock that all processes of a machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

const REVISIONS = ["2025-06-18", "2025-11-25", STATELESS];
/** Milliseconds after which a client gives up: far beyond what any fault lasts. */
const PATIENCE_MS = 30_000;
/** One call in so many asks something. */
const ASKS = 8;
/** Lanes that share one principal, and so meet the limit. */
const SHARERS = 4;

/**
 * One client, which makes one call after the other. `told`: hears of each call as it begins and ends. `everyMs`: about how long it
 * takes from one call to the next, so that many clients do not fill the machine; `sharers`: how many of them are one principal.
 */
export class Lane {
  constructor(number, fleet, told, { everyMs = 0, sharers = SHARERS } = {}) {
    this.number = number;
    this.fleet = fleet;
    this.told = told;
    this.everyMs = everyMs;
    this.who = number < sharers ? "few" : `w${number}`;
    this.revision = REVISIONS[number % REVISIONS.length];
    this.session = undefined;
    this.count = 0;
    this.current = undefined;
  }

  /** Makes calls until it is told that it is over. */
  async run(over) {
    while (!over()) {
      const began = now();
      await this.#one();
      // Not all at once, however they began.
      const rest = this.everyMs * (0.5 + Math.random()) - (now() - began);
      if (rest > 0) await pause(rest);
    }
  }

  async #one() {
    const id = `${this.number}-${this.count++}`;
    const call = { id, who: this.who, begin: now(), end: 0, outcome: "failed", members: [], why: "", trail: [] };
    this.current = call;
    this.told.begin(call);
    try {
      await this.#ready();
      const tool = randomInt(ASKS) === 0 ? "sure" : "run";
      this.#judge(
        call,
        await (this.revision === STATELESS ? this.#stateless(call, tool) : this.#inSession(call, tool)),
      );
    } catch (error) {
      call.why = String(error);
    }
    call.end = now();
    this.current = undefined;
    this.told.end(call);
    if (call.outcome === "refused") await pause(20);
  }

  #judge(call, { status, message }) {
    const text = message?.result?.content?.[0]?.text;
    if (text !== undefined && message.result.isError !== true) call.outcome = text === call.id ? "answered" : "wrong";
    else if (status === 429 || status === 503 || status === 404) call.outcome = "refused";
    if (call.outcome !== "answered") call.why = `${status} ${JSON.stringify(message?.error ?? message?.result)}`;
    if (status === 404) this.session = undefined;
  }

  #member(call, what) {
    const member = this.fleet.any();
    call?.members.push(member.node);
    note(call, `${what} to ${member.node}`);
    return member.port;
  }

  /** Opens its session where it has none. */
  async #ready() {
    while (this.revision !== STATELESS && this.session === undefined) {
      const params = { protocolVersion: this.revision, capabilities: { elicitation: {} }, clientInfo: CLIENT };
      const body = { jsonrpc: "2.0", id: "open", method: "initialize", params };
      const reply = await send(this.#member(), body, { "x-who": this.who }).catch(() => undefined);
      this.session = reply?.headers["mcp-session-id"];
      if (this.session === undefined) await pause(50);
    }
  }

  async #stateless(call, name) {
    const headers = {
      "x-who": this.who,
      "mcp-protocol-version": STATELESS,
      "mcp-method": "tools/call",
      "mcp-name": name,
    };
    const params = { name, arguments: { id: call.id }, _meta: META };
    const first = await this.#exchange(call, headers, { jsonrpc: "2.0", id: call.id, method: "tools/call", params });
    const { inputRequests, requestState } = first.message?.result ?? {};
    if (inputRequests === undefined) return first;
    const inputResponses = { [Object.keys(inputRequests)[0]]: ACCEPTED };
    const again = { ...params, inputResponses, requestState };
    return this.#exchange(call, headers, { jsonrpc: "2.0", id: `${call.id}a`, method: "tools/call", params: again });
  }

  #inSession(call, name) {
    const headers = { "x-who": this.who, "mcp-session-id": this.session, "mcp-protocol-version": this.revision };
    const body = { jsonrpc: "2.0", id: call.id, method: "tools/call", params: { name, arguments: { id: call.id } } };
    // What is asked is answered through any process, and may meet the limit: then it is sent again, as nobody has taken it.
    const answer = async (id) => {
      const result = { jsonrpc: "2.0", id, result: ACCEPTED };
      for (;;) {
        const { status } = await send(this.#member(call, `the answer to ${id}`), result, headers);
        note(call, status);
        call.limited = status === 429;
        // Who has asked may have gone, or not have heard it: then the client gives its call up.
        if (status !== 429 && status !== 503 && status >= 400) throw new Error(`its answer was refused: ${status}`);
        if (status < 400) return;
        await pause(50);
      }
    };
    return this.#exchange(call, headers, body, answer);
  }

  /** Resolves with the status and the answer to a request, once it is there. */
  #exchange(call, headers, body, answer = async () => undefined) {
    return new Promise((resolve, reject) => {
      const all = { ...TYPES, ...headers };
      const port = this.#member(call, body.params.name);
      const asked = request({ port, host: "127.0.0.1", path: "/mcp", method: "POST", agent, headers: all }, (reply) => {
        let rest = "";
        let last;
        const hear = (text) => {
          if (text === "") return;
          const message = JSON.parse(text);
          if (message.method === undefined) last = message;
          else if (message.id !== undefined) answer(message.id).catch((error) => asked.destroy(error));
        };
        const streams = String(reply.headers["content-type"]).startsWith("text/event-stream");
        note(call, reply.statusCode);
        reply.setEncoding("utf8");
        reply.on("data", (chunk) => {
          rest += chunk;
          if (!streams) return;
          const lines = rest.split("\n");
          rest = lines.pop();
          for (const line of lines) if (line.startsWith("data: ")) hear(line.slice(6));
        });
        reply.on("end", () => {
          if (!streams && rest.startsWith("{")) hear(rest);
          resolve({ status: reply.statusCode, message: last });
        });
        reply.on("error", reject);
      });
      const late = setTimeout(() => {
        // Whose answers meet the limit all the time was told so.
        call.hung = call.limited !== true;
        asked.destroy(new Error("no answer in time"));
      }, PATIENCE_MS);
      asked.on("close", () => clearTimeout(late));
      asked.on("error", reject);
      asked.end(JSON.stringify(body));
    });
  }
}

/** Keeps what happened to a call, with the milliseconds since it began: what is known of one that nobody answers. */
function note(call, what) {
  call?.trail.push(`${Math.round(now() - call.begin)} ${what}`);
}

const CLIENT = { name: "bench", version: "1" };
const ACCEPTED = { action: "accept", content: { sure: true } };
const TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };
