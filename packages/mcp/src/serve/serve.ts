// Serves a server over any transport.
import type { Transport } from "../jsonrpc/transport.js";
import { serveCore, type ServeOptions, type Serving } from "../server/conversation.js";
import { coreOf, type LeanServer } from "../server/lean-server.js";

/**
 * Serves one connection over a transport of one's own. The transport delivers each message as text, where it can with the reply its
 * answer goes to, and calls `closed` when the other side will send no more; it may carry any number of messages at once, in order.
 */
export function serve(server: LeanServer, transport: Transport, options: ServeOptions = {}): Serving {
  return serveCore(coreOf(server), transport, options);
}
