// A transport of your own: one JSON message a line over a TCP socket.
//
// Establishment: the client connects; there is no greeting, the first line is its first message.
// Exchange: each side writes one message, in UTF-8 without line breaks, and a newline. Closing the socket ends it.
import { createInterface } from "node:readline";
import { DEFAULT_LIMITS } from "@secure-local/mcp/jsonrpc";

/** A transport for `serve(server, transport)` on a connected socket. */
export function socketTransport(socket) {
  let finish;
  const done = new Promise((resolve) => {
    finish = resolve;
  });
  const carrier = {
    kind: "tcp",
    principal: undefined,
    get closed() {
      return socket.destroyed;
    },
    header: () => undefined,
    write(text) {
      if (socket.destroyed || socket.write(`${text}\n`)) return undefined;
      return new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    },
  };
  return {
    done,
    start(sink) {
      boundLines(socket, DEFAULT_LIMITS.messageBytes);
      createInterface({ input: socket }).on("line", (line) => sink.receive(line, carrier));
      socket.on("end", () => sink.closed());
      socket.on("error", () => socket.destroy());
      socket.on("close", finish);
    },
    async close() {
      socket.end();
      await done;
    },
  };
}

/** Hangs up on a peer that sends a line without end: what reads lines would keep all of it. */
function boundLines(socket, longest) {
  let length = 0;
  socket.on("data", (chunk) => {
    const newline = chunk.lastIndexOf(10);
    length = newline < 0 ? length + chunk.length : chunk.length - newline - 1;
    if (length > longest) socket.destroy();
  });
}
