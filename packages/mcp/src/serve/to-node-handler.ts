// Serves a server inside somebody else's Node server: Express, Fastify, Koa, NestJS, node:http, node:http2.
import type { Identity } from "../jsonrpc/transport.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type NodeRequest, type NodeResponse, NodeExchange } from "../node/node-exchange.js";
import type { LeanServer } from "../server/lean-server.js";
import type { Authenticate, Entrance } from "../http/server/http-site.js";
import { httpEndpoint, type HttpOptions } from "../http/server/http-endpoint.js";

/** How a server is mounted. */
export interface NodeHandlerOptions extends HttpOptions {
  /** What the framework puts before the paths of this handler, such as `/api`. Default: nothing. */
  readonly pathPrefix?: string;
  /**
   * Who is asking, where the framework has found out: a name, or a name with scopes. Undefined and null are answered 401.
   * Instead of `authenticate` and `authorization`. Handlers find it in `ctx.principal` and `ctx.identity`.
   */
  readonly identity?: (request: NodeRequest) => Known | Promise<Known>;
}

type Known = string | (Partial<Identity> & Pick<Identity, "principal">) | undefined | null | false;

/** Answers a request of a Node server. */
export interface NodeHandler {
  /**
   * `third`: the body, where it was parsed already and does not stand in `request.body`; or the framework's `next`, called for paths
   * that are not served here. Resolves once the reply is complete; for a stream that is when it ends.
   */
  (request: NodeRequest, response: NodeResponse, third?: unknown): Promise<void>;
  /**
   * Refuses new requests, ends listens, lets what runs finish within the limit `drainMs`, then ends the server's tasks.
   * Safe to call again.
   */
  close(): Promise<void>;
}

/**
 * Makes a handler `(request, response, next or body)`. Mounted below a path (`app.use("/mcp", handler)`) it is found under that
 * path and under what is left of it. A request with an Origin is refused unless `allowedOrigins` names it; name the hosts in
 * `allowedHosts` too where browsers on the same machine can reach it.
 *
 * @throws {LocalError} BAD_OPTIONS where two options say who is asking, BAD_PATH for a prefix that is no path.
 */
export function toNodeHandler(server: LeanServer, options: NodeHandlerOptions = {}): NodeHandler {
  const { pathPrefix = "", identity, ...rest } = options;
  if (pathPrefix !== "" && !/^\/[!-~]*[^/?#]$/.test(pathPrefix)) {
    throw new LocalError("BAD_PATH", `pathPrefix "${pathPrefix}" is no path: write it as "/api"`);
  }
  if (identity !== undefined && (options.authenticate !== undefined || options.authorization !== undefined)) {
    throw new LocalError("BAD_OPTIONS", "Give identity, authenticate or authorization: only one can say who is asking");
  }
  const known = identity === undefined ? {} : { authenticate: askingFramework(identity) };
  const endpoint = httpEndpoint(server, { ...rest, ...known }, { hosts: undefined, origins: [] });
  let closing: Promise<void> | undefined;
  const handler = (request: NodeRequest, response: NodeResponse, third?: unknown): Promise<void> => {
    const target = targetOf(request, pathPrefix, (path) => endpoint.site.serves(path));
    const next = typeof third === "function" ? third : undefined;
    if (next !== undefined && !endpoint.site.serves(target.path)) {
      Reflect.apply(next, undefined, []);
      return Promise.resolve();
    }
    const given = next === undefined ? third : undefined;
    const exchange = new NodeExchange(request, response, { ...target, parsed: given ?? parsedBody(request) });
    endpoint.site.handle(exchange);
    return exchange.ended;
  };
  return Object.assign(handler, { close: () => (closing ??= endpoint.close()) });
}

/** A body that a parser has read. One that has not been read is ours to read, whatever stands in `request.body`. */
function parsedBody(request: NodeRequest): unknown {
  return request.readableDidRead || request.readableEnded ? request.body : undefined;
}

/** The target as the framework was asked for it or, where nothing is served there, as it hands it on. */
function targetOf(
  { url = "", originalUrl = url }: NodeRequest,
  prefix: string,
  serves: (path: string) => boolean,
): { readonly path: string; readonly query: string } {
  const own = cut(originalUrl, prefix);
  if (serves(own.path)) return own;
  const handed = cut(url, prefix);
  return serves(handed.path) ? handed : own;
}

function cut(target: string, prefix: string): { readonly path: string; readonly query: string } {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const below = prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`));
  const rest = below ? path.slice(prefix.length) || "/" : path;
  // Routers treat both alike.
  const clean = rest.length > 1 && rest.endsWith("/") ? rest.slice(0, -1) : rest;
  return { path: clean, query: end < 0 ? "" : target.slice(end + 1) };
}

const NOBODY: Entrance = {
  status: 401,
  text: "Nobody is signed in: the server's `identity` option found nobody in this request",
};

function askingFramework(identity: NonNullable<NodeHandlerOptions["identity"]>): Authenticate {
  const enter = (known: Known): Entrance => {
    if (known === undefined || known === null || known === false || known === "") return NOBODY;
    if (typeof known === "string") return known;
    return { identity: { scopes: [], ...known } };
  };
  return async (head) => enter(await identity((head as NodeExchange).request));
}
