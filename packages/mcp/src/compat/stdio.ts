// The SDKs' stdio transport on ours: strict framing, bounded, and nothing but messages on stdout.
import type { Readable, Writable } from "node:stream";
import type { Server as CoreServer } from "../server/server.js";
import type { Serving } from "../server/conversation.js";
import { serveStdio as serveProcess } from "../serve/stdio.js";
import type { McpServer } from "./mcp-server.js";
import type { OwnTransport } from "./transport.js";

/** Stands for `StdioServerTransport` of SDK v1 and v2. Give it to `connect`. */
export class StdioServerTransport implements OwnTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  readonly sessionId: undefined;
  readonly #streams: { readonly input?: Readable; readonly output?: Writable };

  /** Default: the process's own streams. */
  constructor(input?: Readable, output?: Writable) {
    this.#streams = { ...(input === undefined ? {} : { input }), ...(output === undefined ? {} : { output }) };
  }

  serveCore(server: CoreServer): Promise<Serving> {
    return serveProcess(server, this.#streams);
  }
}

/** `serveStdio(factory)` of SDK v2: one server for the one client there is. */
export async function serveStdio(
  factory: (context: object) => McpServer | Promise<McpServer>,
  options: { readonly transport?: OwnTransport } = {},
): Promise<{ close(): Promise<void> }> {
  const server = await factory({});
  await server.connect(options.transport ?? new StdioServerTransport());
  return { close: () => server.close() };
}
