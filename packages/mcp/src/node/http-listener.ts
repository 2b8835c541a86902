// Listens with node:http or node:https: bounded in connections, headers and time, and strict about HTTP itself.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { HttpLimits } from "../transport/http/http-limits.js";
import type { HttpSite } from "../transport/http/http-site.js";
import { BodyRoom } from "./body-room.js";
import { HttpConnection } from "./http-connection.js";
import { NodeExchange } from "./http-exchange.js";

export interface ListenOptions {
  readonly port: number;
  readonly host: string;
  readonly socketPath: string | undefined;
  readonly tls: TlsOptions | undefined;
}

/** Connections open now, and bytes as the program sees them: within TLS, not around it. */
export interface HttpTraffic {
  readonly connections: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** How often Node looks for requests that take too long: a tenth of the shortest time it has to keep. */
const CHECK_MS = 1_000;

export class HttpListener {
  readonly #server: Server;
  #site: HttpSite | undefined;
  /** Sockets count their bytes themselves: asking them now and then costs a request nothing. */
  readonly #connections = new Map<Socket, HttpConnection<NodeExchange>>();
  readonly #limits: HttpLimits;
  #bytesIn = 0;
  #bytesOut = 0;

  constructor(limits: HttpLimits, tls: TlsOptions | undefined) {
    const options: ServerOptions = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: CHECK_MS,
      // A header that came twice must never count as one of its two values.
      joinDuplicateHeaders: true,
      // The front door does that: after a refusal of Node's own, what follows on the connection would still be served.
      requireHostHeader: false,
    };
    this.#limits = limits;
    const room = new BodyRoom(limits.bodyBytes);
    // Node drops what shared a packet with a wish to upgrade: whoever waits for its answer must see an end.
    const listener: RequestListener = (request, response) => {
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
      const connection = this.#connections.get(request.socket);
      if (connection !== undefined) connection.enter(new NodeExchange(request, response, { connection, room }));
    };
    this.#server =
      tls === undefined ? createServer(options, listener) : createTlsServer({ ...tls, ...options }, listener);
    this.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => this.#count(socket));
    this.#server.maxConnections = limits.connections;
    // One more than allowed, so that too many are noticed: Node drops the rest without a word.
    this.#server.maxHeadersCount = limits.headers + 1;
  }

  /** Resolves with the port listened on (0 for a socket file). Rejects with Node's own error when that cannot be. */
  listen(options: ListenOptions): Promise<number> {
    const { port, host, socketPath } = options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(socketPath === undefined ? { port, host } : { path: socketPath }, () => {
        this.#server.off("error", reject);
        const address = this.#server.address() as AddressInfo | string;
        resolve(typeof address === "string" ? 0 : address.port);
      });
    });
  }

  traffic(): HttpTraffic {
    let bytesIn = this.#bytesIn;
    let bytesOut = this.#bytesOut;
    for (const socket of this.#connections.keys()) {
      bytesIn += socket.bytesRead;
      bytesOut += socket.bytesWritten;
    }
    return { connections: this.#connections.size, bytesIn, bytesOut };
  }

  /** From now on requests are handled. */
  serve(site: HttpSite): void {
    this.#site = site;
  }

  readonly #serve = (exchange: NodeExchange): void => {
    if (exchange.tooLate) return;
    if (this.#site === undefined || isMalformed(exchange.request, this.#limits)) exchange.refuseMalformed();
    else this.#site.handle(exchange);
  };

  /** Ends every connection. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #count(socket: Socket): void {
    const connection = new HttpConnection(socket, this.#limits, this.#serve);
    this.#connections.set(socket, connection);
    socket.once("close", () => {
      this.#connections.delete(socket);
      connection.ended();
      this.#bytesIn += socket.bytesRead;
      this.#bytesOut += socket.bytesWritten;
    });
  }
}

// What Node's parser lets through although nobody who means well sends it.
function isMalformed({ headers, rawHeaders, httpVersionMajor }: IncomingMessage, limits: HttpLimits): boolean {
  if (httpVersionMajor !== 1 || rawHeaders.length > limits.headers * 2) return true;
  // An empty encoding passes with a length, and whoever reads on from here must not have to guess which one counted.
  return headers["transfer-encoding"] !== undefined && headers["content-length"] !== undefined;
}
