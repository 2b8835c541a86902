// Serves bombs over HTTP from a process of its own, so that their memory is not that of who reads them.
import { createServer } from "node:net";
import { BOMBS, TWINS } from "./bombs.mjs";

/** Bytes of an answer that has no end, in case nobody ever leaves. */
const MOST = 400 * 1_048_576;
const names = [...Object.keys(BOMBS), ...Object.keys(TWINS)];
const made = new Map();

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", (bytes) => {
    const [, path, index] = /^\S+ (\/(\d*))/.exec(bytes.toString("latin1")) ?? [];
    void answer(socket, path, names[index]);
  });
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
// Made before it is asked for, so that making it is not part of the time.
process.on("message", (name) => {
  made.clear();
  prepared(name);
  process.send({ ready: name });
});
process.on("disconnect", () => process.exit());

function prepared(name) {
  const bomb = BOMBS[name] ?? TWINS[name];
  const known = made.get(name) ?? {
    ...bomb,
    body: bomb.body?.(),
    endless: bomb.endless?.(),
    headers: bomb.headers?.(),
  };
  made.set(name, known);
  return known;
}

async function answer(socket, path, name) {
  const { type, encoding, body, endless, headers = "", length, cut, chunked, raw } = prepared(name);
  const encodings = [encoding ?? []].flat().map((one) => `content-encoding: ${one}\r\n`);
  const bytes = Buffer.from(body ?? "");
  const size = endless || chunked ? "transfer-encoding: chunked\r\n" : `content-length: ${length ?? bytes.length}\r\n`;
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${encodings.join("")}${size}${headers}connection: close\r\n\r\n`,
  );
  if (endless) return pour(socket, raw ? endless : chunk(endless));
  if (chunked) return socket.end(Buffer.concat([chunk(bytes), Buffer.from("0\r\n\r\n")]));
  return cut ? socket.write(bytes, () => socket.end()) : socket.end(bytes);
}

function chunk(bytes) {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

async function pour(socket, piece) {
  for (let sent = 0; sent < MOST && !socket.destroyed; sent += piece.length) {
    if (!socket.write(piece)) await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
  }
  socket.destroy();
}
