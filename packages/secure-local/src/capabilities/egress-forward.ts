// Passes one plain request on over a connection that stands, and its answer back; secrets of its endpoint are put in and out.
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { GatheredBody } from "./egress-body.js";
import type { EgressTarget } from "./egress-target.js";
import { endToEnd } from "./end-to-end.js";
import { FetchError } from "./fetch-error.js";
import type { SecretExchange } from "./secret-exchange.js";

/** What is to be sent: the host is the one that was judged, whatever the headers say. */
export interface Outgoing {
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  /** Undefined where no secret belongs. */
  readonly secrets: SecretExchange | undefined;
}

/** Methods whose requests mean nothing by a body: servers read one without a length as the next request. */
const BODILESS = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]);

/** @throws FetchError for a secret that may not be sent, and for a body that not every server would know the end of */
export function outgoing(asked: IncomingMessage, { url }: EgressTarget, secrets: SecretExchange | undefined): Outgoing {
  if (isChunked(asked) && BODILESS.has(asked.method ?? ""))
    throw new FetchError("bad-url", `A ${asked.method} request has no body but one with a Content-Length.`);
  const path = url.pathname + url.search;
  const headers = endToEnd(asked);
  return {
    path: secrets === undefined ? path : secrets.path(path),
    headers: { ...(secrets === undefined ? headers : secrets.headers(headers)), host: url.host },
    secrets,
  };
}

/** @param body What was read of the body already, and is sent in its place */
export function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  outside: Socket,
  out: Outgoing & { readonly body: GatheredBody | undefined },
): void {
  const { path, secrets, body } = out;
  const headers = { ...out.headers, ...framing(asked, body) };
  const sent = request({ createConnection: () => outside, method: asked.method, path, headers });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => outside.destroy());
  sent.on("response", (got) => {
    got.on("error", () => answer.destroy());
    if (secrets === undefined) {
      answer.writeHead(got.statusCode ?? 502, endToEnd(got));
      got.pipe(answer);
    } else {
      answerFiltered(got, answer, secrets);
    }
  });
  if (body?.whole === true) return void sent.end(body.bytes);
  if (!hasBody(asked)) return void sent.end();
  if (body !== undefined) sent.write(body.bytes);
  asked.pipe(sent);
}

/** Every body says where it ends, whatever its method: an end that is not told is where a second request begins. */
function framing(asked: IncomingMessage, body: GatheredBody | undefined): Record<string, string> {
  if (body?.whole === true) return { "content-length": String(body.bytes.length) };
  return isChunked(asked) ? { "transfer-encoding": "chunked" } : {};
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined;
}

function hasBody(asked: IncomingMessage): boolean {
  return isChunked(asked) || Number(asked.headers["content-length"] ?? 0) > 0;
}

function answerFiltered(got: IncomingMessage, answer: ServerResponse, secrets: SecretExchange): void {
  const { "content-length": _length, ...kept } = endToEnd(got);
  if (!/^(?:identity)?$/i.test(String(kept["content-encoding"] ?? ""))) {
    got.destroy();
    answer
      .writeHead(502, { "content-type": "text/plain", connection: "close" })
      .end("The answer is compressed although that was not asked for, so nobody can tell whether a secret is in it.\n");
    return;
  }
  const filter = secrets.filter();
  answer.writeHead(got.statusCode ?? 502, filter.headers(kept));
  got.pipe(filter.stream()).pipe(answer);
}
