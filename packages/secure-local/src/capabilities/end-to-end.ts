// Tells which headers belong to a message and which only to the connection it came by (RFC 9110 7.6.1).
import type { IncomingMessage } from "node:http";

const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade host".split(
    " ",
  ),
);

/** What tells where a message ends is not for `Connection` to take away. */
const FRAMING = new Set(["content-length"]);

/** Those that are to be passed on, by lower-case name. */
export function endToEnd({ headers }: Pick<IncomingMessage, "headers">): Record<string, string | string[]> {
  const named = (headers.connection ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name) && (FRAMING.has(name) || !named.includes(name)))
      kept[name] = value;
  }
  return kept;
}
