// Joins a server to a transport: the public door for transports of one's own.
import type { Transport } from "../jsonrpc/transport.js";
import { SERVE } from "../jsonrpc/errors.js";
import type { LeanServer } from "../server/lean-server.js";
import type { Served, ServeOptions, Serving } from "../server/conversation.js";

/**
 * Serves one connection. The transport delivers each message as text, where it can with the reply its answer goes to, and
 * calls `closed` when the other side will send no more; it may carry any number of messages at once, in order.
 */
export function serve(server: LeanServer, transport: Transport, options: ServeOptions = {}): Serving {
  return (server as unknown as Served)[SERVE](transport, options);
}
