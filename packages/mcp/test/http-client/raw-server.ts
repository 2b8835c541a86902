// A server that speaks whatever a test wants, once a request's head has come.
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface RawServer {
  readonly url: string;
  close(): Promise<void>;
}

/** `serve` is called when the first bytes of a request are there. */
export async function rawServer(serve: (socket: Socket, bytes: Buffer) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => serve(socket, bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}
