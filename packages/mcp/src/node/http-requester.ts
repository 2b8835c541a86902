// Sends HTTP requests with node:http and node:https over connections that are kept.
import { type ClientRequest, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { LocalError } from "../jsonrpc/local-error.js";
import { shownUrl } from "../transport/http-client/http-errors.js";
import type { HttpReply, HttpRequest, HttpRequester } from "../transport/http-client/http-requester.js";
import { ConnectionPool, type NodeRequesterOptions, wasConnected } from "./http-requester-pool.js";
import { NodeReply } from "./http-requester-reply.js";
import { type HttpTarget, targetOf } from "./http-requester-target.js";

// Real replies have 2 KB of headers; cookies and policies of gateways a few more.
const HEADER_BYTES = 32 * 1024;

/**
 * Reaches `http:`, `https:` and `unix:` URLs, through a proxy where one is given. Proxy variables of the environment are
 * not looked at. Throws a LocalError INVALID_URL for a proxy that is no http: or https: URL.
 */
export function nodeRequester(options: NodeRequesterOptions = {}): HttpRequester {
  return new NodeRequester(options);
}

interface Settle {
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (error: LocalError) => void;
}

class NodeRequester implements HttpRequester {
  readonly #pool: ConnectionPool;
  // Almost every request goes where the one before went.
  #last: HttpTarget | undefined;

  constructor(options: NodeRequesterOptions) {
    this.#pool = new ConnectionPool(options);
  }

  request(request: HttpRequest): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      try {
        this.#send(request, { resolve, reject }, request.repeatable !== true);
      } catch (error) {
        const what = `The request to ${shownUrl(request.url)} cannot be sent: ${(error as Error).message}`;
        reject(error instanceof LocalError ? error : new LocalError("NOT_SUPPORTED", what, { cause: error }));
      }
    });
  }

  close(): void {
    this.#pool.close();
  }

  #send(request: HttpRequest, { resolve, reject }: Settle, last: boolean): void {
    const { url, method, signal } = request;
    const target = this.#last?.url === url ? this.#last : (this.#last = targetOf(url));
    const call = this.#call(target, request);
    let cancelled = false;
    let reply: NodeReply | undefined;
    const cancel = (): void => {
      cancelled = true;
      if (reply === undefined) call.destroy();
      else reply.cancel();
    };
    call.on("response", (message) => {
      reply = new NodeReply(message, target.shown);
      resolve(reply);
    });
    call.on("error", (error: NodeJS.ErrnoException) => {
      if (cancelled) reject(new LocalError("CANCELLED", `The ${method} to ${target.shown} was ended`));
      else if (!last && call.reusedSocket && isClosedConnection(error)) {
        // Connections opened together are closed together: the second attempt takes a new one.
        this.#pool.dropIdle();
        this.#send(request, { resolve, reject }, true);
      } else reject(failure(error, call, target.shown));
    });
    request.started?.(cancel);
    if (signal !== undefined) endBy(signal, cancel, call);
    call.end(request.body);
  }

  #call(target: HttpTarget, { method, headers, body }: HttpRequest): ClientRequest {
    const list: string[] = [];
    if (headers["host"] === undefined) list.push("host", target.authority);
    for (const name in headers) list.push(name, headers[name] as string);
    if (body !== undefined) list.push("content-length", String(Buffer.byteLength(body)));
    const { agent, secure, host, port, path, extra } = this.#pool.route(target);
    const options: RequestOptions = {
      method,
      path,
      host,
      port,
      agent,
      headers: extra.length === 0 ? list : list.concat(extra),
      maxHeaderSize: HEADER_BYTES,
    };
    if (target.socketPath !== undefined) options.socketPath = target.socketPath;
    return secure ? httpsRequest(options) : httpRequest(options);
  }
}

function endBy(signal: AbortSignal, cancel: () => void, call: ClientRequest): void {
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel, { once: true });
  call.once("close", () => signal.removeEventListener("abort", cancel));
}

function isClosedConnection({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}

function failure(error: NodeJS.ErrnoException, call: ClientRequest, shown: string): LocalError {
  const { code = "", message } = error;
  if (error instanceof LocalError) return error;
  if (code.startsWith("HPE_")) {
    const what =
      code === "HPE_HEADER_OVERFLOW"
        ? `with more than ${HEADER_BYTES} bytes of headers`
        : "with something that is not HTTP";
    return new LocalError("INVALID_RESPONSE", `${shown} answered ${what}: is it the MCP endpoint?`, { cause: error });
  }
  if (call.socket === null || call.socket === undefined || !wasConnected(call.socket)) {
    const what = `${shown} cannot be reached: ${reason(code, message)}`;
    return new LocalError("UNREACHABLE", what, { cause: error });
  }
  const what = `the connection to ${shown} was lost before an answer came (${reason(code, message)})`;
  return new LocalError("OUTCOME_UNKNOWN", what, { cause: error });
}

function reason(code: string, message: string): string {
  if (code === "ECONNREFUSED")
    return "nothing listens there (ECONNREFUSED). Is the server running, and the port right?";
  if (code === "ENOTFOUND") return "its name is unknown (ENOTFOUND). Check the host in the URL";
  if (code === "ENOENT") return "there is no such socket file (ENOENT). Is the server running?";
  if (/CERT|SELF_SIGNED|ALTNAME/.test(code))
    return `its certificate is not trusted (${code}). Give its authority in the option ca`;
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}
