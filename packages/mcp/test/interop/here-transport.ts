// Joins an official client to a server in the same process: what a process of its own would only show once more.
import type { Server } from "../../src/server/server.js";
import { serve } from "../../src/serve/serve.js";
import { type MemoryTransport, memoryTransports } from "../../src/transport/memory.js";

/** A transport as both generations of the SDK want it; texts cross it as they cross a pipe. */
export class HereTransport<Message> {
  onmessage?: (message: Message) => void;
  onclose?: () => void;
  readonly #end: MemoryTransport;
  readonly #server: Server;
  readonly #far: MemoryTransport;

  constructor(server: Server) {
    this.#server = server;
    [this.#end, this.#far] = memoryTransports();
  }

  start(): Promise<void> {
    serve(this.#server, this.#far);
    this.#end.start({
      receive: (text) => this.onmessage?.(JSON.parse(text) as Message),
      unreadable: (error) => {
        throw error;
      },
      closed: () => this.onclose?.(),
    });
    return Promise.resolve();
  }

  async send(message: object): Promise<void> {
    await this.#end.send(JSON.stringify(message));
  }

  close(): Promise<void> {
    return this.#end.close();
  }
}
