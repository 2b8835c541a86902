// A link under test, what it gave to its sink, and small servers written by hand for it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Arrival as FromTransport, MessageSink, Transport } from "../../src/jsonrpc/transport.js";
import type { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import type { RequestId } from "../../src/jsonrpc/message.js";
import { nodeRequester, type NodeRequesterOptions } from "../../src/node/http-requester.js";
import { type HttpTransportOptions, streamableHttpTransport } from "../../src/http/client/streamable-http-transport.js";

export type Json = Record<string, unknown>;

export interface Arrival {
  readonly text: string;
  readonly message: Json;
  readonly info: FromTransport | undefined;
}

/** Notes all it is told; `until` waits for something to be noted. */
export class NotingSink implements MessageSink {
  readonly arrivals: Arrival[] = [];
  readonly losses: { readonly id: RequestId; readonly error: LocalError & { status?: number } }[] = [];
  readonly unread: RpcError[] = [];
  readonly ends: (LocalError | undefined)[] = [];
  /** What `receive` returns. */
  hold: () => void | Promise<void> = () => undefined;
  readonly #waiting = new Set<() => void>();

  receive(text: string, info?: FromTransport): void | Promise<void> {
    let message: Json = {};
    try {
      message = JSON.parse(text) as Json;
    } catch {
      // Not every text is JSON: the receiver's business.
    }
    this.arrivals.push({ text, message, info });
    this.#wake();
    return this.hold();
  }

  unreadable(error: RpcError): void {
    this.unread.push(error);
    this.#wake();
  }

  lost(id: RequestId, error: LocalError): void {
    this.losses.push({ id, error });
    this.#wake();
  }

  noise(): void {
    throw new Error("HTTP has no noise");
  }

  closed(error?: LocalError): void {
    this.ends.push(error);
    this.#wake();
  }

  async until(accepts: (sink: this) => boolean): Promise<this> {
    while (!accepts(this)) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return this;
  }

  /** The response to `id`, or what it was lost with. */
  async outcome(
    id: RequestId,
  ): Promise<{ readonly message?: Json; readonly error?: LocalError & { status?: number } }> {
    const answer = (): Arrival | undefined =>
      this.arrivals.find(({ message }) => message["id"] === id && !("method" in message));
    const loss = (): (typeof this.losses)[number] | undefined => this.losses.find((one) => one.id === id);
    await this.until(() => answer() !== undefined || loss() !== undefined);
    const message = answer()?.message;
    return message === undefined ? { error: loss()?.error as LocalError } : { message };
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }
}

export interface TestLink {
  readonly link: Transport;
  readonly sink: NotingSink;
  /** Sends a request and waits for what comes of it. */
  ask(method: string, params?: Json, headers?: Record<string, string>): ReturnType<NotingSink["outcome"]>;
  /** `initialize`, `notifications/initialized`, and the standing stream. */
  handshake(version?: string): Promise<void>;
}

export async function linkTo(
  url: string,
  options: Partial<HttpTransportOptions> & { readonly node?: NodeRequesterOptions } = {},
): Promise<TestLink> {
  const requester = options.requester ?? nodeRequester(options.node);
  const { node: _, ...rest } = options;
  return driven(streamableHttpTransport({ url, requester, ownsRequester: true, ...rest }));
}

/** Opens a link and closes it after the test. */
export async function driven(link: Transport): Promise<TestLink> {
  const sink = new NotingSink();
  onTestFinished(() => link.close());
  await link.start(sink);
  let last = 0;
  const ask: TestLink["ask"] = (method, params = {}, headers) => {
    const id = ++last;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    void link.send({ text, kind: "request", id, method, headers });
    return sink.outcome(id);
  };
  const handshake = async (version = "2025-11-25"): Promise<void> => {
    const capabilities = { elicitation: {} };
    const opened = await ask("initialize", {
      protocolVersion: version,
      capabilities,
      clientInfo: { name: "t", version: "1" },
    });
    if (opened.error !== undefined) throw opened.error;
    await link.send(notification("notifications/initialized"));
    link.established?.({ era: "handshake", version });
  };
  return { link, sink, ask, handshake };
}

export function notification(method: string, params: Json = {}): Parameters<Transport["send"]>[0] {
  return { text: JSON.stringify({ jsonrpc: "2.0", method, params }), kind: "notification", method };
}

/** A request as a hand-written server sees it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly message: Json;
  readonly response: ServerResponse;
}

export interface ByHand {
  readonly url: string;
  readonly seen: Seen[];
}

/** A server on a free port of this machine; each request is read whole and handed over. */
export async function byHand(serve: (request: Seen) => void): Promise<ByHand> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const message = (body === "" ? {} : JSON.parse(body)) as Json;
      const one = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body,
        message,
        response,
      };
      seen.push(one);
      serve(one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

export function answer({ message }: Seen, result: Json = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id: message["id"], result });
}

export function replyJson(seen: Seen, result: Json = {}, headers: Record<string, string> = {}): void {
  seen.response.writeHead(200, { "content-type": "application/json", ...headers }).end(answer(seen, result));
}
