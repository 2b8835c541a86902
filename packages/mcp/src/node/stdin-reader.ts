// Standard input read into one buffer over and over, so that reading leaves nothing behind for the garbage collector.
import type { OnReadOpts, SocketConstructorOpts } from "node:net";
import type { Readable } from "node:stream";

// Asked for by name: importing them would make Node load all they could lead to, which is 3 ms at every start.
const fs = process.getBuiltinModule("node:fs");
const net = process.getBuiltinModule("node:net");

// What a pipe holds.
const BUFFER_BYTES = 64 * 1024;

/**
 * Begins to read standard input. Chunks go to `take`, which must not keep them; the stream returned ends, pauses,
 * resumes and is destroyed as any other. A terminal or a file is read by Node's own stream.
 */
export function readStdin(take: (chunk: Uint8Array) => void): Readable {
  if (!isPipe()) return process.stdin.on("data", take);
  const buffer = new Uint8Array(BUFFER_BYTES);
  const callback = (length: number): boolean => {
    take(buffer.subarray(0, length));
    return true;
  };
  // The type of the constructor leaves `onread` out; its documentation and its code have it.
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: 0,
    readable: true,
    onread: { buffer, callback },
  };
  return new net.Socket(options);
}

function isPipe(): boolean {
  const stat = fs.fstatSync(0);
  return stat.isFIFO() || stat.isSocket();
}
