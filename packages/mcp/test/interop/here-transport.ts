// Joins an official client to a server in the same process: what a process of its own would only show once more.
import type { Server } from "../../src/server/server.js";
import { serve } from "../../src/serve/serve.js";
import type { Transport } from "../../src/jsonrpc/transport.js";
import { memoryTransports } from "../../src/transport/memory.js";

/** A transport as both generations of the SDK want it; texts cross it as they cross a pipe. */
export class HereTransport<Message> {
  onmessage?: (message: Message) => void;
  onclose?: () => void;
  readonly #end: Transport;
  readonly #server: Server;
  readonly #far: Transport;

  constructor(server: Server) {
    this.#server = server;
    [this.#end, this.#far] = memoryTransports();
  }

  start(): Promise<void> {
    serve(this.#server, this.#far);
    void this.#end.start({
      receive: (text) => this.onmessage?.(JSON.parse(text) as Message),
      unreadable: (error) => {
        throw error;
      },
      lost: () => undefined,
      noise: () => undefined,
      closed: () => this.onclose?.(),
    });
    return Promise.resolve();
  }

  async send(message: object): Promise<void> {
    await this.#end.send({ text: JSON.stringify(message), kind: "request" });
  }

  close(): Promise<void> {
    return this.#end.close();
  }
}
