// One connection of a server, from its transport's start to its end.
import type { SERVE } from "../jsonrpc/brand.js";
import type { Transport } from "../jsonrpc/transport.js";
import { ServerConversation } from "./conversation.js";
import type { ServerCore } from "./core.js";

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

/** What a server of any copy of the package has. */
export interface Served {
  [SERVE](transport: Transport, options?: ServeOptions): Serving;
}

/** Long enough for answers that are nearly there, short enough that a client never waits for its server to exit. */
const GRACE_MS = 50;

export function serveCore(core: ServerCore, transport: Transport, options: ServeOptions): Serving {
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
