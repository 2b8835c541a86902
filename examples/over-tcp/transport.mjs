// A transport of your own: one JSON message a line over a TCP socket.
//
// Establishment: the client connects; there is no greeting, the first line is its first message.
// Exchange: each side writes one message, in UTF-8 without line breaks, and a newline. Closing the socket ends it.
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
      onLines(socket, DEFAULT_LIMITS.messageBytes, (line) => sink.receive(line, carrier));
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

/** Splits at newlines only (readline splits at more), and hangs up on a peer that sends a line without end. */
function onLines(socket, longest, received) {
  let rest = "";
  socket.setEncoding("utf8").on("data", (text) => {
    const [end, ...begun] = text.split("\n");
    rest += end;
    for (const begin of begun) {
      received(rest);
      rest = begin;
    }
    if (rest.length > longest) socket.destroy();
  });
}
