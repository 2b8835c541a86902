// Passes one plain request on over a connection that stands, and its answer back; secrets of its endpoint are put in and out.
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { GatheredBody } from "./egress-body.js";
import type { EgressTarget } from "./egress-target.js";
import { endToEnd } from "./end-to-end.js";
import type { SecretExchange } from "./secret-exchange.js";

/** What is to be sent: the host is the one that was judged, whatever the headers say. */
export interface Outgoing {
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  /** Undefined where no secret belongs. */
  readonly secrets: SecretExchange | undefined;
}

/** @throws FetchError for a secret that may not be sent */
export function outgoing(asked: IncomingMessage, { url }: EgressTarget, secrets: SecretExchange | undefined): Outgoing {
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
  const length = body?.whole === true ? { "content-length": String(body.bytes.length) } : {};
  const headers = { ...out.headers, ...length };
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
  if (body !== undefined) sent.write(body.bytes);
  asked.pipe(sent);
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
