// Joins a server to a transport: the public door for transports of one's own.
import type { Transport } from "../jsonrpc/transport.js";
import { ServerConversation } from "../server/conversation.js";
import { coreOf, type Server } from "../server/server.js";

/** A server being served. */
export interface Serving {
  /** Stops: no new requests, what runs may finish within the grace time, then the transport closes. Safe to call again. */
  close(): Promise<void>;
  /** Resolves once everything has ended, whoever ended it. */
  readonly closed: Promise<void>;
}

/** How serving over a transport ends. */
export interface ServeOptions {
  /** Milliseconds running requests get to finish once the other side is gone or `close` is called. Default 50. */
  readonly graceMs?: number;
}

/** Long enough for answers that are nearly there, short enough that a client never waits for its server to exit. */
const GRACE_MS = 50;

/**
 * Serves one connection. The transport delivers each message as text, where it can with the reply its answer goes to, and
 * calls `closed` when the other side will send no more; it may carry any number of messages at once, in order.
 */
export function serve(server: Server, transport: Transport, options: ServeOptions = {}): Serving {
  const core = coreOf(server);
  let over = (): void => undefined;
  const closed = new Promise<void>((resolve) => (over = resolve));
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= conversation.close(options.graceMs ?? GRACE_MS).then(() => transport.close().then(over));
    return closing;
  };
  const conversation = new ServerConversation(core, undefined, () => void close());
  core.conversations.add(conversation);
  conversation.connection.open(transport).catch((error: unknown) => {
    core.report("error", "The transport could not be started", { error });
    void close();
  });
  return { close, closed };
}
