// CORS for web pages on the list of origins: what they may send, and what they may read.
import type { HeaderList, HttpExchange } from "./exchange.js";

const SENT: ReadonlySet<string> = new Set([
  "content-type",
  "accept",
  "authorization",
  "dpop",
  "mcp-protocol-version",
  "mcp-session-id",
  "last-event-id",
  "mcp-method",
  "mcp-name",
]);
const MIRRORED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/;
const READ = "mcp-session-id, www-authenticate, dpop-nonce, retry-after";

/** Seconds a browser may remember what it was allowed. */
const PREFLIGHT_AGE = "600";

/** Headers for a reply to a page of a listed origin. */
export function corsHeaders(origin: string): HeaderList {
  return ["access-control-allow-origin", origin, "access-control-expose-headers", READ, "vary", "origin"];
}

/** Answers a preflight: allows those of the headers asked for that the protocol has. */
export function answerPreflight(exchange: HttpExchange): void {
  const asked = (exchange.header("access-control-request-headers") ?? "").toLowerCase().split(",");
  const allowed = asked.map((name) => name.trim()).filter((name) => SENT.has(name) || MIRRORED.test(name));
  exchange.reply(204, [
    "access-control-allow-methods",
    "GET, POST, DELETE",
    "access-control-allow-headers",
    allowed.join(", "),
    "access-control-max-age",
    PREFLIGHT_AGE,
  ]);
}
