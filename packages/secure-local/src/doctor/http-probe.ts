// Sends single HTTP requests to an MCP endpoint, as no client would, and tells what came back.
import type { HttpReply } from "@secure-local/mcp/client";
import { nodeRequester } from "@secure-local/mcp/client/node";
import type { Exam } from "./exam.js";
import { initializeParams } from "./exam.js";
import { HANDSHAKE } from "./session.js";

export interface HttpAnswer {
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

export class HttpProbe {
  readonly #exam: Exam;
  readonly #requester: ReturnType<typeof nodeRequester> = nodeRequester();
  #initialized: Promise<HttpAnswer> | undefined;

  constructor(exam: Exam) {
    this.#exam = exam;
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
    return { ...lower, ...known, "mcp-protocol-version": HANDSHAKE, ...headers };
  }

  async #send(method: string, headers: Readonly<Record<string, string>>, body?: string): Promise<HttpAnswer> {
    const { url = "", answerMs } = this.#exam;
    const signal = AbortSignal.timeout(answerMs);
    const reply = await this.#requester.request({ method, url, headers, body, signal });
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
