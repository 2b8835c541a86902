// The transports of the contract: each serves the same server to a peer that writes lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { serve } from "../../src/serve/serve.js";
import { memoryTransports } from "../../src/transport/memory.js";
import { socketTransport } from "../../../../examples/over-tcp/transport.mjs";
import { contractServer } from "./contract-server.mjs";
import { LinePeer, type Revision } from "./line-peer.js";

export type Open = (revision: Revision) => Promise<LinePeer>;

export const TRANSPORTS: Readonly<Record<string, Open>> = { memory, stdio, tcp };

function memory(revision: Revision): Promise<LinePeer> {
  const [ours, theirs] = memoryTransports();
  const serving = serve(contractServer(), theirs);
  const peer = new LinePeer(revision, (received) => {
    const nothing = (): undefined => undefined;
    void ours.start({ receive: received, unreadable: nothing, lost: nothing, noise: nothing, closed: nothing });
    return {
      write: (text) => void ours.send({ text, kind: "request" }),
      end: undefined,
      close: () => void ours.close(),
      closed: serving.closed,
    };
  });
  return peer.open();
}

/** The library as it is built, in a process of its own. */
function stdio(revision: Revision): Promise<LinePeer> {
  const built = fileURLToPath(new URL("../../dist/stdio.js", import.meta.url));
  if (!existsSync(built))
    throw new Error("The contract over stdio serves the built library: run `npm run build` first");
  const script = fileURLToPath(new URL("contract-server.mjs", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const peer = new LinePeer(revision, (received) => {
    createInterface({ input: child.stdout }).on("line", received);
    return {
      write: (text) => void child.stdin.write(`${text}\n`),
      end: () => void child.stdin.end(),
      close: () => void child.kill(),
      closed: once(child, "close").then(([code, signal]) => ({ code, signal })),
    };
  });
  return peer.open();
}

/** The transport of one's own that the documentation shows. */
async function tcp(revision: Revision): Promise<LinePeer> {
  // Half open: what the client asked before its last word is still answered.
  const listener = createServer({ allowHalfOpen: true }, (socket) => serve(contractServer(), socketTransport(socket)));
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as { port: number };
  const socket = connectSocket({ port, host: "127.0.0.1", allowHalfOpen: true });
  const peer = new LinePeer(revision, (received) => {
    // Not readline: it would split a line at U+2028 too.
    let rest = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      lines.forEach(received);
    });
    const closed = once(socket, "end").then(() => {
      socket.destroy();
      listener.close();
    });
    return {
      write: (text) => void socket.write(`${text}\n`),
      end: () => void socket.end(),
      close: () => void socket.end(),
      closed,
    };
  });
  return peer.open();
}
