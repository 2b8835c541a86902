// Lets one listener serve SOCKS 5 beside HTTP: the first byte of a connection says which of the two it is.
import { Buffer } from "node:buffer";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { greetingAnswer, readGreeting, readRequest, SOCKS_VERSION, SocksFault } from "./socks-request.js";

/** From the first byte to the request: both ends are on this machine. */
const HANDSHAKE_MS = 10_000;

/** A client that asked for a connection; it waits for a reply. */
export interface SocksAsked {
  /** `host:port` as a URL has it; the host may be a name or a literal. */
  readonly authority: string;
  readonly socket: Socket;
  /** What it sent without waiting. */
  readonly head: Buffer;
}

/**
 * To be called before anybody else listens for connections of `server`: what is HTTP goes on to it as if nothing had been
 * read. A handshake takes no more than its 520 bytes and ten seconds; what is none is answered, where it can be, and closed.
 */
export function openSocksDoor(server: Server, asked: (client: SocksAsked) => void): void {
  const listeners = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  const http = (socket: Socket): void => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_MS);
    const settled = (): void => clearTimeout(timer);
    socket.once("close", settled).on("error", () => socket.destroy());
    void enter(socket, http, asked).catch(refuse(socket)).finally(settled);
  });
}

async function enter(
  socket: Socket,
  http: (socket: Socket) => void,
  asked: (client: SocksAsked) => void,
): Promise<void> {
  const bytes = new Taking(socket);
  const protocol = await bytes.until((got) => got[0]);
  if (protocol !== SOCKS_VERSION) {
    bytes.giveBack();
    // In the same turn as the bytes went back: the HTTP parser reads on from the socket itself.
    return http(socket);
  }
  await bytes.take(readGreeting);
  socket.write(greetingAnswer());
  const authority = await bytes.take(readRequest);
  asked({ authority, socket, head: bytes.rest() });
}

function refuse(socket: Socket): (error: unknown) => void {
  return (error) => {
    const answer = error instanceof SocksFault ? error.answer : undefined;
    if (answer === undefined) socket.destroy();
    else socket.end(answer, () => socket.destroy());
  };
}

/** The beginning of a stream, read no further than somebody wants it. */
class Taking {
  readonly #socket: Socket;
  #got: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @throws SocksFault when the stream ends before `find` finds something */
  async until<T>(find: (got: Buffer) => T | undefined): Promise<T> {
    for (;;) {
      const found = this.#got.length === 0 ? undefined : find(this.#got);
      if (found !== undefined) return found;
      await this.#more();
    }
  }

  async take<T>(read: (got: Buffer) => { readonly value: T; readonly size: number } | undefined): Promise<T> {
    const { value, size } = await this.until(read);
    this.#got = this.#got.subarray(size);
    return value;
  }

  rest(): Buffer {
    return this.#got;
  }

  giveBack(): void {
    this.#socket.unshift(this.#got);
  }

  #more(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      if (socket.destroyed || socket.readableEnded) return reject(new SocksFault("It went away."));
      const done = (): void => void socket.off("readable", read).off("end", gone).off("close", gone);
      const gone = (): void => {
        done();
        reject(new SocksFault("It went away."));
      };
      const read = (): void => {
        const chunk = socket.read() as Buffer | null;
        if (chunk === null) return;
        done();
        this.#got = Buffer.concat([this.#got, chunk]);
        resolve();
      };
      socket.on("readable", read).once("end", gone).once("close", gone);
    });
  }
}
