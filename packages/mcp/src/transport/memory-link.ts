// A client's link to a server in the same program.
import type { Link, LinkSink, Outgoing } from "../jsonrpc/link.js";
import type { MemoryTransport } from "./memory.js";

/** The link over one end of a pair of memory transports. */
export class MemoryLink implements Link {
  readonly kind = "memory";
  readonly #transport: MemoryTransport;
  #closing = false;

  constructor(transport: MemoryTransport) {
    this.#transport = transport;
  }

  describe(): string {
    return "the server in memory";
  }

  open(sink: LinkSink): Promise<void> {
    this.#transport.start({
      receive: (text) => void sink.receive(text),
      unreadable: (error) => sink.unreadable(error),
      closed: () => {
        if (!this.#closing) sink.closed();
      },
    });
    return Promise.resolve();
  }

  send(message: Outgoing): void | Promise<void> {
    return this.#transport.send(message.text);
  }

  forget(): boolean {
    return false;
  }

  close(): Promise<void> {
    this.#closing = true;
    return this.#transport.close();
  }
}
