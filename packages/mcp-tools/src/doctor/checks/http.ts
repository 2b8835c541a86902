// Checks of Streamable HTTP: statuses, headers and sessions.
import type { HttpReply, HttpRequester } from "@secure-local/mcp/client";
import {
  type Check,
  type Examination,
  fail,
  initializeParams,
  note,
  OK,
  type Outcome,
  skipped,
  specification,
  unchecked,
  warn,
} from "../examination.js";
import { envelope, HANDSHAKE, knownRevision, STATELESS } from "../session.js";

// Sends single HTTP requests to an MCP endpoint, as no client would, and tells what came back.

interface HttpAnswer {
  readonly status: number;
  readonly type: string | undefined;
  readonly session: string | undefined;
  /** Empty for a stream, which is not read. */
  readonly body: string;
  /** Of the JSON-RPC error in the body. */
  readonly code: number | undefined;
}

interface Sending {
  readonly headers?: Readonly<Record<string, string>>;
  /** Within a session that is begun for it. */
  readonly inSession?: boolean;
}

const MOST_BYTES = 256 * 1024;

class HttpProbe {
  readonly #exam: Examination;
  readonly #requester: HttpRequester;
  #initialized: Promise<HttpAnswer> | undefined;
  /** A request was answered with 401: it says nothing about the rest of the server. */
  unauthorized = false;
  /** What is agreed on with this server, and so said in every request of a session. */
  readonly revision: string;

  constructor(exam: Examination) {
    this.#exam = exam;
    this.#requester = exam.requester();
    this.revision = exam.handshake?.revision ?? HANDSHAKE;
  }

  /** The answer to an `initialize` of its own. */
  initialize(): Promise<HttpAnswer> {
    const params = initializeParams(HANDSHAKE);
    return (this.#initialized ??= this.post({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
  }

  post(message: object, sending: Sending = {}): Promise<HttpAnswer> {
    return this.postText(JSON.stringify(message), sending);
  }

  async postText(body: string, sending: Sending = {}): Promise<HttpAnswer> {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(await this.#headers(sending)),
    };
    return this.#send("POST", headers, body);
  }

  async get(sending: Sending): Promise<HttpAnswer> {
    return this.#send("GET", { accept: "text/event-stream", ...(await this.#headers(sending)) });
  }

  /** The answer to a DELETE of a session, and which one it was. */
  async deleteSession(): Promise<HttpAnswer> {
    const { session } = await this.initialize();
    return { ...(await this.#send("DELETE", await this.#headers({ inSession: true }))), session };
  }

  close(): void {
    this.#requester.close();
  }

  async #headers({ headers = {}, inSession = false }: Sending): Promise<Record<string, string>> {
    const { extraHeaders } = this.#exam;
    const lower = Object.fromEntries(Object.entries(extraHeaders).map(([name, value]) => [name.toLowerCase(), value]));
    if (!inSession) return { ...lower, ...headers };
    const { session } = await this.initialize();
    const known = session === undefined ? {} : { "mcp-session-id": session };
    return { ...lower, ...known, "mcp-protocol-version": this.revision, ...headers };
  }

  async #send(method: string, headers: Readonly<Record<string, string>>, body?: string): Promise<HttpAnswer> {
    const { url = "", answerMs, authorizer } = this.#exam;
    const signal = AbortSignal.timeout(answerMs);
    const kept = await authorizer?.headers({ method, url });
    const reply = await this.#requester.request({ method, url, headers: { ...headers, ...kept }, body, signal });
    this.unauthorized ||= reply.status === 401;
    const type = reply.header("content-type");
    const text = await bodyOf(reply, type);
    return { status: reply.status, type, session: reply.header("mcp-session-id"), body: text, code: errorCode(text) };
  }
}

/** A standing stream has no end to wait for. */
async function bodyOf(reply: HttpReply, type = ""): Promise<string> {
  if (!type.startsWith("text/event-stream")) return reply.text(MOST_BYTES).catch(() => "");
  reply.cancel();
  return "";
}

function errorCode(body: string): number | undefined {
  try {
    const { error } = JSON.parse(body) as { readonly error?: { readonly code?: unknown } };
    return typeof error?.code === "number" ? error.code : undefined;
  } catch {
    return undefined;
  }
}

const WANTS_TOKEN =
  "the server wants authorization; give it with --token, or log in first (inspect TARGET in a terminal)";
const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const SESSION_ID = /^[\x21-\x7e]+$/;

export const HTTP_CHECKS: readonly Check[] = [
  http("http-content-type", {
    title: "says what kind of body its answers have",
    tier: "breaks clients",
    page: specification("basic/transports#sending-messages-to-the-server"),
    advice: "Set Content-Type: application/json or text/event-stream on every answer that has a body.",
    async run(probe) {
      const { type, status } = await probe.initialize();
      if (type === undefined) return fail("the answer to initialize has no Content-Type");
      return /^(?:application\/json|text\/event-stream)\b/.test(type) || status >= 400
        ? OK
        : fail(`the answer to initialize has Content-Type ${type}`);
    },
  }),
  http("http-session-id", {
    title: "makes session ids of visible ASCII that cannot be guessed",
    tier: "breaks clients",
    page: specification("basic/transports#session-management"),
    must: 30,
    advice: "Use a random UUID.",
    async run(probe) {
      const { session } = await probe.initialize();
      if (session === undefined) return skipped("it has no sessions");
      if (!SESSION_ID.test(session)) return fail("a session id has characters outside of 0x21-0x7E");
      return session.length < 16 ? note("a session id is shorter than 16 characters") : OK;
    },
  }),
  http("http-notification", {
    title: "answers a notification with 202 and no body",
    tier: "breaks clients",
    page: specification("basic/transports#sending-messages-to-the-server"),
    must: 26,
    advice: "Answer 202 before the notification is worked on.",
    async run(probe) {
      const { status, body } = await probe.post(
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { inSession: true },
      );
      const text = `a notification was answered with HTTP ${status}`;
      // Clients take a refused notifications/initialized for a refused session.
      if (status >= 400) return fail(text);
      if (status !== 202) return warn(text);
      return body.trim() === "" ? OK : note("the 202 has a body");
    },
  }),
  http("http-session-missing", {
    title: "answers a session it does not know with 404",
    tier: "breaks the letter",
    page: specification("basic/transports#session-management"),
    must: 30,
    advice: "Answer 404, so that clients begin a new session.",
    async run(probe) {
      if ((await probe.initialize()).session === undefined) return skipped("it has no sessions");
      const { status } = await probe.post(PING, {
        headers: { "mcp-session-id": "doctor-made-this-up-0000", "mcp-protocol-version": probe.revision },
      });
      if (status === 404) return OK;
      return warn(`it was ${status < 400 ? "served" : "answered"} with HTTP ${status}`);
    },
  }),
  http("http-version-header", {
    title: "refuses an MCP-Protocol-Version that does not exist with 400",
    tier: "breaks the letter",
    page: specification("basic/transports#protocol-version-header"),
    must: 32,
    advice: "Check the header on every request after initialize.",
    async run(probe) {
      if (knownRevision(probe.revision)?.versionHeader !== true)
        return skipped(`the header is not in ${probe.revision}, which it speaks`);
      const { status } = await probe.post(PING, { inSession: true, headers: { "mcp-protocol-version": "1999-12-31" } });
      return status === 400 ? OK : warn(`it was answered with HTTP ${status}`);
    },
  }),
  http("http-origin", {
    title: "refuses pages of other origins with 403",
    tier: "breaks the letter",
    page: specification("basic/transports#security-warning"),
    must: 27,
    advice: "Compare Origin with a list of your own; without that any web page can call the server (DNS rebinding).",
    async run(probe) {
      const { status } = await probe.post(INITIALIZE, { headers: { origin: "https://doctor.invalid" } });
      return status === 403 || status === 401
        ? OK
        : warn(`a POST with a foreign Origin was answered with HTTP ${status}`);
    },
  }),
  http("http-get", {
    title: "answers GET with an event stream or 405",
    tier: "breaks the letter",
    page: specification("basic/transports#listening-for-messages-from-the-server"),
    advice: "Answer 405 when there is no standing stream.",
    async run(probe) {
      const { status, type = "" } = await probe.get({ inSession: true });
      if (status === 200)
        return type.startsWith("text/event-stream") ? OK : warn(`GET gave Content-Type ${type || "none"}`);
      return status === 405 ? OK : note(`GET was answered with HTTP ${status}`);
    },
  }),
  http("http-not-json", {
    title: "answers a body that is not JSON with 400",
    tier: "breaks the letter",
    page: specification("basic/transports#sending-messages-to-the-server"),
    advice: "Answer 400 with error -32700.",
    async run(probe) {
      const { status } = await probe.postText("{ not json", { inSession: true });
      if (status === 400) return OK;
      return status >= 500 || status < 300
        ? warn(`it was answered with HTTP ${status}`)
        : note(`it was answered with HTTP ${status}`);
    },
  }),
  http("http-media-type", {
    title: "refuses bodies that do not say they are JSON",
    tier: "note",
    page: specification("basic/transports#sending-messages-to-the-server"),
    advice: "Answer 415: forms of web pages are sent without asking, JSON is not.",
    async run(probe) {
      const { status } = await probe.postText(JSON.stringify(INITIALIZE), {
        headers: { "content-type": "text/plain" },
      });
      return status >= 400 ? OK : note(`a body of text/plain was served with HTTP ${status}`);
    },
  }),
  http("http-delete", {
    title: "ends a session on DELETE, or answers 405",
    tier: "breaks the letter",
    page: specification("basic/transports#session-management"),
    advice: "Forget the session on DELETE; it is answered with 404 from then on.",
    async run(probe) {
      const { session, status } = await probe.deleteSession();
      if (session === undefined) return skipped("it has no sessions");
      if (status === 405) return OK;
      if (status >= 300) return note(`DELETE was answered with HTTP ${status}`);
      const after = await probe.post(PING, {
        headers: { "mcp-session-id": session, "mcp-protocol-version": probe.revision },
      });
      return after.status === 404 ? OK : warn(`the ended session was answered with HTTP ${after.status}`);
    },
  }),
  stateless("http-unknown-method", {
    title: "answers an unknown method with 404 and -32601",
    tier: "breaks the letter",
    page: specification("basic/transports/streamable-http", STATELESS),
    must: 23,
    advice: "Send the JSON-RPC error with HTTP 404.",
    run: (probe) => expects(probe, { method: "doctor/none", status: 404, code: -32601 }),
  }),
  stateless("http-method-header", {
    title: "refuses a request without Mcp-Method",
    tier: "breaks the letter",
    page: specification("basic/transports/streamable-http", STATELESS),
    must: 18,
    advice: "Answer 400 with error -32020.",
    run: (probe) => expects(probe, { method: "server/discover", drop: "mcp-method", status: 400, code: -32020 }),
  }),
  stateless("http-header-mismatch", {
    title: "refuses headers that say other than the body",
    tier: "breaks the letter",
    page: specification("basic/transports/streamable-http", STATELESS),
    must: 17,
    advice: "Answer 400 with error -32020 where MCP-Protocol-Version or Mcp-Method differ from the body.",
    run: (probe) =>
      expects(probe, { method: "server/discover", headers: { "mcp-method": "tools/list" }, status: 400, code: -32020 }),
  }),
  stateless("http-version-missing", {
    title: "refuses a request without MCP-Protocol-Version",
    tier: "breaks the letter",
    page: specification("basic/transports/streamable-http", STATELESS),
    must: 17,
    advice: "Answer 400 with error -32020.",
    run: (probe) =>
      expects(probe, { method: "server/discover", drop: "mcp-protocol-version", status: 400, code: -32020 }),
  }),
  {
    id: "http-cleartext",
    title: "is reached over https from other machines",
    tier: "note",
    page: specification("basic/authorization#communication-security"),
    needs: ["http"],
    advice: "Serve over TLS: what is said is read and changed on the way otherwise.",
    run({ url = "" }) {
      const { protocol, hostname } = new URL(url);
      const here = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
      return protocol === "http:" && !here ? note(`${hostname} is reached without encryption`) : OK;
    },
  },
];

const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: initializeParams(HANDSHAKE) };

interface HttpCheck extends Pick<Check, "title" | "tier" | "page" | "must" | "advice"> {
  run(probe: HttpProbe): Promise<Outcome>;
}

function http(id: string, check: HttpCheck): Check {
  return { ...check, id, needs: ["http", "handshake"], run: (exam) => probing(exam, check) };
}

function stateless(id: string, check: HttpCheck): Check {
  return { ...check, id, needs: ["http", "stateless"], run: (exam) => probing(exam, check) };
}

async function probing(exam: Examination, check: HttpCheck): Promise<Outcome> {
  const probe = new HttpProbe(exam);
  try {
    const outcome = await check.run(probe);
    return probe.unauthorized && outcome.verdict !== "ok" ? unchecked(WANTS_TOKEN) : outcome;
  } catch (error) {
    return unchecked(`a request got no answer: ${(error as Error).message}`);
  } finally {
    probe.close();
  }
}

interface Expected {
  readonly method: string;
  readonly drop?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly code: number;
}

async function expects(probe: HttpProbe, { method, drop, headers = {}, status, code }: Expected): Promise<Outcome> {
  const all: Record<string, string> = { "mcp-protocol-version": STATELESS, "mcp-method": method, ...headers };
  if (drop !== undefined) delete all[drop];
  const answer: HttpAnswer = await probe.post(
    { jsonrpc: "2.0", id: 1, method, params: { _meta: envelope() } },
    { headers: all },
  );
  const said = answer.code;
  if (answer.status === status && said === code) return OK;
  const text = `it was answered with HTTP ${answer.status}${said === undefined ? "" : ` and error ${said}`}`;
  return warn(text);
}
