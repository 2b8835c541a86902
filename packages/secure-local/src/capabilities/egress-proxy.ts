// The only way out of a sandbox: an HTTP and SOCKS 5 proxy on a Unix socket that dials what the policy allows, at addresses it has checked.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { dial } from "./dial.js";
import { gatherBody } from "./egress-body.js";
import type { DecideEgress } from "./egress-decision.js";
import { forward, outgoing } from "./egress-forward.js";
import { type EgressTarget, parseTarget } from "./egress-target.js";
import { FetchError } from "./fetch-error.js";
import { type Resolve, resolveAllowed, resolveBySystem } from "./resolve.js";
import type { SecretBroker } from "./secret-broker.js";
import { isHandshake, serverNameOf } from "./server-name.js";
import { openSocksDoor } from "./socks-door.js";
import { HTTP_TUNNEL, SOCKS_TUNNEL, type TunnelAnswers } from "./tunnel-answers.js";

/** One sandbox's connections at a time: a package manager uses some dozens. */
const MAX_CONNECTIONS = 128;
/** Headers of a request have to be there after this long. */
const HEADERS_MS = 10_000;
/** A tunnel that carries nothing this long is closed. */
const IDLE_MS = 5 * 60_000;
/** A client hello is shorter; what is longer is none. */
const MAX_HELLO_BYTES = 16_384;

export interface EgressProxyOptions {
  /** Asked before the name is looked up, and with each of its addresses. */
  readonly decide: DecideEgress;
  readonly resolve?: Resolve;
  /** Puts values in place of placeholders, in plain requests to hosts that secrets belong to; these leave by https. */
  readonly secrets?: SecretBroker | undefined;
  /** Makes connections to addresses that were checked; `dial` when absent. */
  readonly connect?: typeof dial;
  /** Hears of every refusal: where to, and by which rule. */
  readonly refused?: (endpoint: string, rule: string) => void;
}

interface Dialled {
  /** The client; when it leaves, so does the connection. */
  readonly inside: Duplex;
  readonly by: "tcp" | "http" | "https";
}

interface Tunnel {
  readonly inside: Duplex;
  /** What was sent with the request. */
  readonly head: Buffer;
  readonly answers: TunnelAnswers;
}

export class EgressProxy {
  /** Path of the socket; only this user reaches it. */
  readonly socket: string;
  readonly #folder: string;
  readonly #options: EgressProxyOptions;
  readonly #server: Server;
  readonly #open = new Set<Duplex>();

  private constructor(folder: string, options: EgressProxyOptions) {
    this.#folder = folder;
    this.socket = join(folder, "egress.sock");
    this.#options = options;
    this.#server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: 0 });
    this.#server.maxConnections = MAX_CONNECTIONS;
    openSocksDoor(
      this.#server,
      ({ authority, socket, head }) => void this.#tunnel(authority, { inside: socket, head, answers: SOCKS_TUNNEL }),
    );
    this.#server.on("connection", (socket) => this.#keep(socket));
    this.#server.on("request", (asked, answer) => void this.#forward(asked, answer));
    this.#server.on(
      "connect",
      (asked, socket, head) => void this.#tunnel(asked.url ?? "", { inside: socket, head, answers: HTTP_TUNNEL }),
    );
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  static async open(options: EgressProxyOptions): Promise<EgressProxy> {
    const proxy = new EgressProxy(await mkdtemp(join(tmpdir(), "mcp-egress-")), options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject).listen(proxy.socket, resolve);
    });
    return proxy;
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    for (const stream of this.#open) stream.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }

  #keep(stream: Duplex): void {
    this.#open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => this.#open.delete(stream));
  }

  /** CONNECT: bytes pass as they are once the server name in the first of them is the host that was allowed. */
  async #tunnel(authority: string, { inside, head, answers }: Tunnel): Promise<void> {
    let stands = false;
    try {
      const target = parseTarget(`https://${authority}`);
      if (this.#options.secrets?.owns(target) === true) throw new FetchError("denied", OPAQUE, TUNNEL_RULE);
      const outside = await this.#dial(target, { inside, by: "tcp" });
      outside.once("close", () => inside.destroy());
      inside.write(answers.stands);
      stands = true;
      const hello = await firstRecord(inside, head);
      if (!namesOnly(target, hello))
        throw new FetchError("denied", "The server name is another one than the host.", NAME_RULE);
      outside.write(hello);
      outside.pipe(inside);
      inside.pipe(outside);
    } catch (error) {
      inside.end(answers.refused(error, this.#refusal(error, authority), stands));
    }
  }

  /** A request in absolute form, in plain HTTP. */
  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    try {
      const target = parseTarget(asked.url ?? "");
      if (target.scheme !== "http")
        throw new FetchError("bad-url", "Over https this proxy only makes tunnels (CONNECT).");
      const { secrets } = this.#options;
      const reached = secrets?.secured(target) ?? target;
      const exchange = await secrets?.at(reached);
      const out = outgoing(asked, reached, exchange);
      const body = exchange === undefined ? undefined : await gatherBody(asked, exchange);
      const outside = await this.#dial(reached, { inside: asked.socket, by: reached.scheme });
      forward(asked, answer, outside, { ...out, body });
    } catch (error) {
      const { status, text } = this.#refusal(error, asked.url ?? "");
      answer
        .writeHead(Number.parseInt(status, 10), { "content-type": "text/plain", connection: "close" })
        .end(`${text}\n`);
    }
  }

  /** A connection to an address of the target that may be reached, with TLS where it is for `https`. */
  async #dial(target: EgressTarget, { inside, by }: Dialled): Promise<Socket> {
    const gone = new AbortController();
    const leave = (): void => gone.abort(new FetchError("cancelled", "The client went away."));
    inside.once("close", leave);
    const { decide, resolve = resolveBySystem, connect = dial } = this.#options;
    try {
      const addresses = await resolveAllowed(target, decide, resolve);
      const scheme = by === "https" ? "https" : "http";
      const outside = await connect({ ...target, scheme }, addresses, gone.signal);
      this.#keep(outside);
      const end = (): void => void outside.destroy();
      inside.once("close", end);
      outside.once("close", () => inside.off("close", end));
      outside.setTimeout(IDLE_MS, end);
      return outside;
    } finally {
      inside.off("close", leave);
    }
  }

  #refusal(error: unknown, endpoint: string): { readonly status: string; readonly text: string } {
    if (!(error instanceof FetchError)) return { status: "502 Bad Gateway", text: "The connection failed." };
    if (error.rule === undefined) return { status: "502 Bad Gateway", text: error.message };
    this.#options.refused?.(endpoint.slice(0, 300), error.rule);
    return { status: "403 Forbidden", text: error.message };
  }
}

const OPAQUE =
  "A secret belongs to this host, and in a tunnel it cannot be put in: ask for http://HOST through this proxy, the request leaves by https.";
const TUNNEL_RULE = "built-in rule: no tunnel to the host of a secret";
const NAME_RULE = "built-in rule: a tunnel carries TLS for the host it was asked for";

/** A tunnel to a name carries TLS for that very name; one to a literal address carries TLS without a name. */
function namesOnly({ host, literal }: EgressTarget, hello: Buffer): boolean {
  const name = serverNameOf(hello);
  return name !== undefined && (literal ? name === "" : name.toLowerCase() === host);
}

/** The first TLS record, whole; shorter when the stream ends before. */
async function firstRecord(stream: Duplex, head: Buffer): Promise<Buffer> {
  let got = head;
  const wanted = (): number => (got.length < 5 ? 5 : Math.min(5 + got.readUInt16BE(3), MAX_HELLO_BYTES));
  // What does not begin like TLS is not worth waiting for.
  while (got.length < wanted() && (got.length === 0 || isHandshake(got))) {
    const more = await nextChunk(stream);
    if (more === undefined) break;
    got = Buffer.concat([got, more]);
  }
  return got;
}

function nextChunk(stream: Duplex): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(undefined), HEADERS_MS);
    const settle = (chunk: Buffer | undefined): void => {
      clearTimeout(timer);
      stream.off("data", settle).off("close", end).off("end", end).pause();
      resolve(chunk);
    };
    const end = (): void => settle(undefined);
    stream.on("data", settle).once("close", end).once("end", end).resume();
  });
}
