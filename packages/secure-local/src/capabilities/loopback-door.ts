// Offers the way out of a sandbox on loopback, for walls that have no network of their own: whoever comes has to know a token.
import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

const USER = "sandbox";
/** As many as the proxy behind it serves. */
const MAX_CONNECTIONS = 128;
/** A request's head is there after this long, and no longer than this. */
const HEAD_MS = 10_000;
const MAX_HEAD_BYTES = 16_384;
const HEAD_END = "\r\n\r\n";
const UNKNOWN =
  'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="sandbox"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

export class LoopbackDoor {
  /** With the token in it: for the environment of the program, and nobody else. */
  readonly url: string;
  readonly #server: Server;
  readonly #open: Set<Socket>;

  private constructor(server: Server, open: Set<Socket>, url: string) {
    this.#server = server;
    this.#open = open;
    this.url = url;
  }

  /** @param proxy Socket of the proxy that decides */
  static async open(proxy: string): Promise<LoopbackDoor> {
    const token = randomBytes(32).toString("base64url");
    const wanted = Buffer.from(`Basic ${Buffer.from(`${USER}:${token}`).toString("base64")}`);
    const open = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (inside) => {
      keep(open, inside);
      void admit(inside, wanted).then((head) => {
        if (head === undefined) return;
        const outside = keep(open, connect({ path: proxy, allowHalfOpen: true }));
        outside.once("close", () => inside.destroy());
        inside.once("close", () => outside.destroy());
        outside.write(head);
        inside.pipe(outside).pipe(inside);
      });
    });
    server.maxConnections = MAX_CONNECTIONS;
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return new LoopbackDoor(server, open, `http://${USER}:${token}@127.0.0.1:${port}`);
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    for (const stream of this.#open) stream.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function keep(open: Set<Socket>, stream: Socket): Socket {
  open.add(stream);
  return stream.on("error", () => stream.destroy()).once("close", () => open.delete(stream));
}

/** Everything that came up to the end of the first head, when that knows the token; the connection is closed otherwise. */
function admit(inside: Socket, wanted: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let got: Buffer = Buffer.alloc(0);
    const timer = setTimeout(() => settle(false), HEAD_MS);
    const settle = (known: boolean): void => {
      clearTimeout(timer);
      inside.off("data", more).off("close", gone).off("end", gone).pause();
      if (!known) inside.end(UNKNOWN, () => inside.destroy());
      resolve(known ? got : undefined);
    };
    const gone = (): void => settle(false);
    const more = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk]);
      const end = got.indexOf(HEAD_END);
      if (end >= 0) settle(knows(got.toString("latin1", 0, end), wanted));
      else if (got.length > MAX_HEAD_BYTES) settle(false);
    };
    inside.on("data", more).once("close", gone).once("end", gone);
  });
}

/** Exactly one header of that name: two would let two readers read different ones. */
function knows(head: string, wanted: Buffer): boolean {
  const given = head
    .split("\r\n")
    .slice(1)
    .flatMap((line) => /^proxy-authorization:(.*)$/i.exec(line)?.[1] ?? []);
  const one = Buffer.from(given.length === 1 ? (given[0] ?? "").trim() : "", "latin1");
  return one.length === wanted.length && timingSafeEqual(one, wanted);
}
