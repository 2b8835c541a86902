// The only way out of a sandbox: an HTTP and SOCKS 5 proxy on a Unix socket in a folder of its own that dials what
// the policy allows, at addresses it has checked.

import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from "node:http";
import { type Socket, connect } from "node:net";
import type { Duplex } from "node:stream";
import { Buffer } from "node:buffer";
import { dial, type Resolve, resolveAllowed, resolveBySystem } from "./resolve.js";
import { type DecideEgress, type EgressTarget, parseTarget } from "./egress-target.js";
import { FetchError } from "./refusals.js";
import type { SecretBroker } from "./secret-broker.js";
import { HTTP_TUNNEL, SOCKS_TUNNEL, type TunnelAnswers, openSocksDoor } from "./socks-door.js";
import { MAX_BODY_BYTES, type SecretExchange } from "./secret-exchange.js";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "mcp-egress-";
const SOCKET = "egress.sock";
/** A proxy listens within milliseconds of making its folder; a folder that is younger may be about to. */
const YOUNG_MS = 60_000;
/** Folders looked at by one process: what more there are the next ones find. */
const MOST_SWEPT = 200;

let sweeping: Promise<void> | undefined;

/** A new folder that only this user may use, and the path of the socket in it. The first of a process looks for stale ones meanwhile. */
export async function makeEgressFolder(): Promise<{ readonly folder: string; readonly socket: string }> {
  // Nobody waits for it: a folder that stays another time does no harm.
  sweeping ??= removeStaleFolders().catch(() => undefined);
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  return { folder, socket: join(folder, SOCKET) };
}

/** Removes this user's folders of proxies in `parent` at whose socket nobody listens any more. */
export async function removeStaleFolders(parent: string = tmpdir(), now: number = Date.now()): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  for (const name of names.slice(0, MOST_SWEPT)) {
    const folder = join(parent, name);
    const stats = await lstat(folder).catch(() => undefined);
    const own = stats?.isDirectory() === true && stats.uid === process.getuid?.();
    if (!own || now - stats.mtimeMs < YOUNG_MS || (await isServed(join(folder, SOCKET)))) continue;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whatever else than an absent or deaf socket counts as served: in doubt a folder stays. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (served: boolean): void => {
      socket.destroy();
      resolve(served);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => settle(code !== "ECONNREFUSED" && code !== "ENOENT"));
  });
}

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

  private constructor({ folder, socket }: Awaited<ReturnType<typeof makeEgressFolder>>, options: EgressProxyOptions) {
    this.#folder = folder;
    this.socket = socket;
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
    const proxy = new EgressProxy(await makeEgressFolder(), options);
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

// Gathers the body of a request that passes the proxy as far as secrets may have to be put in it.

/** A body that secrets are put in is a form or a message: it is there at once, or its sender has stopped. */
const GATHER_MS = 30_000;

/** What is sent first. When it is not all of the body, the rest is passed on as it comes. */
interface GatheredBody {
  readonly bytes: Buffer;
  readonly whole: boolean;
}

/**
 * The body with its secrets; undefined where none can be in it, and nothing was read. One that is too large goes as it is.
 *
 * @throws FetchError `denied` for a secret that may not be sent, `timeout`, `cancelled`
 */
async function gatherBody(asked: IncomingMessage, secrets: SecretExchange): Promise<GatheredBody | undefined> {
  const { headers } = asked;
  const has = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!has || !secrets.fills(headers)) return undefined;
  const { bytes, whole } = await read(asked);
  return { bytes: secrets.body(bytes, headers), whole };
}

function read(asked: IncomingMessage): Promise<GatheredBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        fail(new FetchError("timeout", `The body of the request did not come within ${GATHER_MS / 1_000} seconds.`)),
      GATHER_MS,
    );
    const settle = (): void => {
      clearTimeout(timer);
      asked.off("data", more).off("end", ended).off("close", gone).pause();
    };
    const fail = (error: FetchError): void => {
      settle();
      reject(error);
    };
    const done = (whole: boolean): void => {
      settle();
      resolve({ bytes: Buffer.concat(chunks, size), whole });
    };
    const more = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) done(false);
    };
    const ended = (): void => done(true);
    const gone = (): void => fail(new FetchError("cancelled", "The client went away."));
    // Stays: what breaks off later is told by the connection as well.
    asked.on("error", () => undefined);
    asked.on("data", more).once("end", ended).once("close", gone);
  });
}

// Tells which headers belong to a message and which only to the connection it came by (RFC 9110 7.6.1).

const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade host".split(
    " ",
  ),
);

/** What tells where a message ends is not for `Connection` to take away. */
const FRAMING = new Set(["content-length"]);

/** Those that are to be passed on, by lower-case name. */
function endToEnd({ headers }: Pick<IncomingMessage, "headers">): Record<string, string | string[]> {
  const named = (headers.connection ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name) && (FRAMING.has(name) || !named.includes(name)))
      kept[name] = value;
  }
  return kept;
}

// Passes one plain request on over a connection that stands, and its answer back; secrets of its endpoint are put in and out.

/** What is to be sent: the host is the one that was judged, whatever the headers say. */
interface Outgoing {
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  /** Undefined where no secret belongs. */
  readonly secrets: SecretExchange | undefined;
}

/** Methods whose requests mean nothing by a body: servers read one without a length as the next request. */
const BODILESS = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]);

/** @throws FetchError for a secret that may not be sent, and for a body that not every server would know the end of */
function outgoing(asked: IncomingMessage, { url }: EgressTarget, secrets: SecretExchange | undefined): Outgoing {
  if (isChunked(asked) && BODILESS.has(asked.method ?? ""))
    throw new FetchError("bad-url", `A ${asked.method} request has no body but one with a Content-Length.`);
  const path = url.pathname + url.search;
  const headers = endToEnd(asked);
  return {
    path: secrets === undefined ? path : secrets.path(path),
    headers: { ...(secrets === undefined ? headers : secrets.headers(headers)), host: url.host },
    secrets,
  };
}

/** @param body What was read of the body already, and is sent in its place */
function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  outside: Socket,
  out: Outgoing & { readonly body: GatheredBody | undefined },
): void {
  const { path, secrets, body } = out;
  const headers = { ...out.headers, ...framing(asked, body) };
  const sent = request({ createConnection: () => outside, method: asked.method, path, headers });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => outside.destroy());
  // Nobody asked for it: `upgrade` is not passed on. Unheard, the client would wait for an answer that never comes.
  sent.on("upgrade", (got, stream: Duplex) => {
    stream.destroy();
    answer
      .writeHead(502, { "content-type": "text/plain", connection: "close" })
      .end(
        `The server answered by changing to another protocol (HTTP ${got.statusCode}), which this proxy passes on for no plain request: make a tunnel (CONNECT) to a server that does so over TLS.\n`,
      );
  });
  sent.on("response", (got) => {
    got.on("error", () => answer.destroy());
    if (secrets === undefined) {
      answer.writeHead(got.statusCode ?? 502, endToEnd(got));
      got.pipe(answer);
    } else {
      answerFiltered(got, answer, secrets);
    }
  });
  if (body?.whole === true) return void sent.end(body.bytes);
  if (!hasBody(asked)) return void sent.end();
  if (body !== undefined) sent.write(body.bytes);
  asked.pipe(sent);
}

/** Every body says where it ends, whatever its method: an end that is not told is where a second request begins. */
function framing(asked: IncomingMessage, body: GatheredBody | undefined): Record<string, string> {
  if (body?.whole === true) return { "content-length": String(body.bytes.length) };
  return isChunked(asked) ? { "transfer-encoding": "chunked" } : {};
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined;
}

function hasBody(asked: IncomingMessage): boolean {
  return isChunked(asked) || Number(asked.headers["content-length"] ?? 0) > 0;
}

function answerFiltered(got: IncomingMessage, answer: ServerResponse, secrets: SecretExchange): void {
  const { "content-length": _length, ...kept } = endToEnd(got);
  if (!/^(?:identity)?$/i.test(String(kept["content-encoding"] ?? ""))) {
    got.destroy();
    answer
      .writeHead(502, { "content-type": "text/plain", connection: "close" })
      .end("The answer is compressed although that was not asked for, so nobody can tell whether a secret is in it.\n");
    return;
  }
  const filter = secrets.filter();
  answer.writeHead(got.statusCode ?? 502, filter.headers(kept));
  got.pipe(filter.stream()).pipe(answer);
}

// Reads the server name out of the first record of a TLS connection (RFC 8446 4.1.2, RFC 6066 3).

const HANDSHAKE = 0x16;
const CLIENT_HELLO = 0x01;
const SERVER_NAME = 0x0000;
const HOST_NAME = 0x00;
/** Client hello: type, length, version, random. */
const BEFORE_SESSION = 4 + 2 + 32;

/** Whether bytes begin as a TLS connection does. */
function isHandshake(bytes: Buffer): boolean {
  return bytes[0] === HANDSHAKE;
}

/** The name, empty when the hello has none; undefined when the record holds no whole client hello. */
export function serverNameOf(record: Buffer): string | undefined {
  try {
    return readName(record);
  } catch {
    // Shorter than its lengths say.
    return undefined;
  }
}

function readName(record: Buffer): string | undefined {
  if (record.readUInt8(0) !== HANDSHAKE || record.readUInt8(5) !== CLIENT_HELLO) return undefined;
  const body = record.subarray(5, 5 + record.readUInt16BE(3));
  let at = BEFORE_SESSION;
  at += 1 + body.readUInt8(at); // session id
  at += 2 + body.readUInt16BE(at); // cipher suites
  at += 1 + body.readUInt8(at); // compression methods
  if (at === body.length) return "";
  const end = at + 2 + body.readUInt16BE(at);
  if (end > body.length) return undefined;
  at += 2;
  while (at < end) {
    const kind = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (kind === SERVER_NAME) return hostName(body.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return "";
}

/** A list of one name; more than one would let the two ends read different ones. */
function hostName(list: Buffer): string | undefined {
  const length = list.readUInt16BE(3);
  if (list.readUInt8(2) !== HOST_NAME || list.readUInt16BE(0) !== length + 3 || list.length !== length + 5)
    return undefined;
  return list.toString("latin1", 5);
}
