// Serves a server as a fetch handler, for Hono, Workers, Deno, Bun and plain Node alike.
import type { Server } from "../server/server.js";
import { FetchExchange } from "../transport/http/fetch-exchange.js";
import { httpEndpoint, type HttpOptions } from "./http-endpoint.js";

/** Answers a request; hand it to the runtime. */
export interface FetchHandler {
  (request: Request): Promise<Response>;
  /**
   * Refuses new requests, ends listens, lets what runs finish within the limit `drainMs`, then ends the server's tasks.
   * Safe to call again.
   */
  close(): Promise<void>;
}

/**
 * Makes a fetch handler. A request with an Origin is refused unless `allowedOrigins` names it; name the hosts in
 * `allowedHosts` too where browsers on the same machine can reach it. `sessions: false` suits runtimes that share no memory.
 */
export function toFetch(server: Server, options: HttpOptions = {}): FetchHandler {
  const endpoint = httpEndpoint(server, options, { hosts: undefined, origins: [] });
  let closing: Promise<void> | undefined;
  const handler = (request: Request): Promise<Response> => {
    const exchange = new FetchExchange(request);
    endpoint.site.handle(exchange);
    return exchange.response;
  };
  return Object.assign(handler, { close: () => (closing ??= endpoint.close()) });
}
