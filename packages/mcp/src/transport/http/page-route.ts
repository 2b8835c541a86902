// Small documents beside the endpoint, such as health or metadata: whole replies, made on demand.
import type { HttpExchange, HttpRequestHead } from "./exchange.js";
import type { HttpRoute } from "./http-site.js";
import { headerList } from "./replies.js";

export interface HttpPageReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A document of one path. Only the front door and, unless it is open, `authenticate` stand before it. */
export interface HttpPage {
  /** True: served to whoever asks. Default: `authenticate` decides as for the endpoint. */
  readonly open?: boolean;
  /** Called for GET and HEAD. Must neither throw nor reject. */
  respond(request: HttpRequestHead): HttpPageReply | Promise<HttpPageReply>;
}

const NOT_ALLOWED: HttpPageReply = { status: 405, headers: { allow: "GET, HEAD" } };

export class PageRoute implements HttpRoute {
  readonly open: boolean;
  readonly #page: HttpPage;

  constructor(page: HttpPage) {
    this.#page = page;
    this.open = page.open === true;
  }

  serve(exchange: HttpExchange): void {
    const { method } = exchange;
    const reply = method === "GET" || method === "HEAD" ? this.#page.respond(exchange) : NOT_ALLOWED;
    if (reply instanceof Promise) void reply.then((late) => send(exchange, late));
    else send(exchange, reply);
  }
}

function send(exchange: HttpExchange, { status, headers, body }: HttpPageReply): void {
  const list = headerList(headers);
  exchange.reply(status, list, exchange.method === "HEAD" ? "" : body);
}
