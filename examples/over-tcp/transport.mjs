// A transport of your own: one JSON message a line over a TCP socket.
//
// Establishment: the client connects; there is no greeting, the first line is its first message.
// Exchange: each side writes one message, in UTF-8 without line breaks, and a newline. Closing the socket ends it.
import { DEFAULT_LIMITS } from "@secure-local/mcp/jsonrpc";

/** A transport on a connected socket, for `serve(server, transport)` and for `connect(() => transport)` alike. */
export function socketTransport(socket) {
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return {
    kind: "tcp",
    start(sink) {
      onLines(socket, DEFAULT_LIMITS.messageBytes, (line) => sink.receive(line));
      socket.on("end", () => sink.closed());
      socket.on("error", () => socket.destroy());
    },
    send({ text }) {
      if (socket.destroyed || socket.write(`${text}\n`)) return undefined;
      return new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    },
    async close() {
      socket.end();
      await closed;
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
