// Serves a server over HTTP on Node: by a listener of its own, or inside somebody else's server (Express, Fastify, Koa,
// NestJS, node:http).
import type { ServerOptions as TlsOptions } from "node:https";
import type { Later } from "../endpoint/call.js";
import type { ClusterMember, HttpExchange, LocalEnd, Share } from "../http/server/exchange.js";
import { OTHER_PROCESSES } from "../http/server/guest-sessions.js";
import { PARTS_AT_HAND } from "../http/server/handshake-requests.js";
import {
  HTTP_MEMBERS,
  type HttpEndpoint,
  httpEndpoint,
  type HttpLoad,
  type HttpOptions,
} from "../http/server/http-endpoint.js";
import { checkDoor, DEFAULT_HTTP_LIMITS, type HttpLimits } from "../http/server/http-limits.js";
import { type Authenticate, type Entrance, loopbackHosts, turnedAway } from "../http/server/http-site.js";
import type { Whose } from "../http/server/http-session.js";
import { LocalError } from "../jsonrpc/errors.js";
import { withLimits } from "../jsonrpc/limits.js";
import { peerWords } from "../jsonrpc/message.js";
import type { Identity } from "../jsonrpc/transport.js";
import { HttpListener, type HttpTraffic } from "../node/http-listener.js";
import { NodeExchange, type NodeRequest, type NodeResponse } from "../node/node-exchange.js";
import { onShutdown } from "../node/standard-streams.js";
import { checkOptions } from "../protocol/capabilities.js";
import type { MembersOf } from "../schema/schema.js";
import type { LogMessage } from "../endpoint/progress.js";
import { levelIndex } from "../protocol/features/lifecycle.js";
import type { ServerCore } from "../server/core.js";
import type { CoreNews } from "../server/subscription.js";
import { coreOf, type LeanServer } from "../server/lean-server.js";
import { noSuchTask } from "../server/tasks/task-store.js";

/** Options of `serveHttp`: where it listens, and those of every HTTP endpoint. */
export interface ServeHttpOptions extends HttpOptions {
  /** Default 0: one that is free. */
  readonly port?: number;
  /** Address to listen on. Default 127.0.0.1: this machine only. */
  readonly host?: string;
  /** A socket file instead of a port. Its folder's permissions say who may connect. */
  readonly socketPath?: string;
  /**
   * Exact values of the Host header that are served besides the address listened on: the names of a proxy in front. With them, no
   * other host is served on any address, nor on a socket file, but this machine's own names. Not beside `allowedHosts`.
   */
  readonly publicHosts?: readonly string[];
  /** Key, certificate and the other options of node:https. Default: plain HTTP. */
  readonly tls?: TlsOptions;
  /**
   * What other processes of this server share, so that any of them may get any request: `redisCluster(url, …)`. Needs nothing of
   * the balancer. Default: this process is alone.
   */
  readonly share?: Share;
  /** False: SIGTERM and SIGINT are left to the program. Default true: they end serving. */
  readonly signals?: boolean;
}

const SERVE_HTTP_MEMBERS: MembersOf<ServeHttpOptions> = {
  ...HTTP_MEMBERS,
  port: "number",
  host: "text",
  socketPath: "text",
  publicHosts: "texts",
  tls: "object",
  share: "join()",
  signals: "flag",
};

/** What is open now, and the bytes of all connections so far. */
export interface HttpStats extends HttpLoad, HttpTraffic {}

/** A server being served over HTTP. */
export interface HttpServing {
  /** Where Streamable HTTP is served: `http://127.0.0.1:3333/mcp`, or `http+unix://` and the encoded socket path. */
  readonly url: string;
  /** What is open now, and the bytes of all connections so far. */
  stats(): HttpStats;
  /**
   * Ends the sessions and streams of the principals that `whose` is true of, and cancels what they have running: for people who
   * may not call any more. Undefined is whoever is unknown. Whether they are let in again is for `authorization` to say.
   */
  endSessions(whose: (principal: string | undefined) => boolean): Promise<void>;
  /**
   * Refuses new requests, lets what runs finish within the limit `drainMs`, tasks and questions to people too, then ends listens and
   * what is left; where other processes share with this one, they get what is new. Safe to call again.
   */
  close(): Promise<void>;
  /** Resolves once everything has ended. */
  readonly closed: Promise<void>;
}

/**
 * Listens and serves. Behind a loopback address only requests to that address, to `publicHosts` and from its own origin are let in;
 * on any other one name the hosts in `publicHosts` or `allowedHosts`. Rejects when the address cannot be listened on, with BAD_OPTIONS for
 * a member that does not exist, and with BAD_SHARE when what is shared is not fit for it.
 */
export async function serveHttp(server: LeanServer, options: ServeHttpOptions = {}): Promise<HttpServing> {
  // What is no server is refused before anything listens.
  coreOf(server);
  checkOptions("serveHttp(server, options)", options, SERVE_HTTP_MEMBERS);
  checkDoor(options);
  const { port = 0, host = "127.0.0.1", socketPath, tls } = options;
  const listener = listenerOf(withLimits(DEFAULT_HTTP_LIMITS, options.limits), tls);
  const scheme = tls === undefined ? "http" : "https";
  const listening = await listener.listen({ port, host, socketPath, tls }).catch((error: NodeJS.ErrnoException) => {
    throw advised(error);
  });
  const authority = host.includes(":") ? `[${host}]:${listening}` : `${host}:${listening}`;
  const usual = tls === undefined ? 80 : 443;
  const own = socketPath === undefined && isLoopback(host) ? loopbackHosts(listening, usual) : undefined;
  const origins = (own ?? []).map((each) => `${scheme}://${each}`);
  const { publicHosts = [] } = options;
  // A socket file has no port, and clients of one send the name of the machine.
  const here = socketPath === undefined ? [...loopbackHosts(listening, usual), authority] : ["localhost"];
  const hosts = publicHosts.length === 0 ? own : [...here, ...publicHosts];
  let endpoint: HttpEndpoint;
  let member: ClusterMember | undefined;
  try {
    member = (await options.share?.join()) as ClusterMember | undefined;
    endpoint = httpEndpoint(
      server,
      options,
      { hosts, origins, parts: PARTS_AT_HAND, processes: OTHER_PROCESSES },
      member,
    );
    await member?.open(localEnd(endpoint));
  } catch (error) {
    await member?.leave();
    await listener.close();
    throw error;
  }
  listener.serve(endpoint.site);
  const path = options.path ?? "/mcp";
  const url =
    socketPath === undefined
      ? `${scheme}://${authority}${path}`
      : `http+unix://${encodeURIComponent(socketPath)}${path}`;
  return serving(url, { endpoint, listener, member }, options.signals !== false);
}

const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE:
    "another program, or another start of this one, listens there; stop it, or give another port (0 takes a free one)",
  EACCES: "you may not listen there; give a port above 1023",
  EADDRNOTAVAIL: "this machine has no such address; give another host, such as 127.0.0.1",
};

function advised(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  const advice = ADVICE[error.code ?? ""];
  if (advice !== undefined) error.message += `: ${advice}`;
  return error;
}

/** Throws BAD_OPTIONS for a key and a certificate that are none. */
function listenerOf(limits: HttpLimits, tls: TlsOptions | undefined): HttpListener {
  if (tls !== undefined) checkTls(tls as Readonly<Record<string, unknown>>);
  try {
    return new HttpListener(limits, tls);
  } catch (error) {
    if (tls === undefined) throw error;
    const why = (error as Error).message;
    throw new LocalError("BAD_OPTIONS", `tls cannot be used: ${why}. ${PEM}`, { cause: error });
  }
}

const PEM =
  "key and cert are what stands in the PEM files: tls: { key: readFileSync(keyFile), cert: readFileSync(certFile) }";
/** As other programs call them. */
const FILES =
  /^(?:(?:key|cert|certificate|crt|ca|pfx|privateKey)(?:_?(?:file|path))|crt|certificate|privateKey|serverKey|serverCert)$/i;

function checkTls(tls: Readonly<Record<string, unknown>>): void {
  const odd = Object.keys(tls).find((name) => FILES.test(name));
  if (odd !== undefined) throw badTls(`tls has no member ${JSON.stringify(odd)}`);
  const { key, cert, pfx, SNICallback } = tls;
  for (const [name, value] of Object.entries({ key, cert, pfx })) {
    const each: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of each) checkPem(name, one);
  }
  const whole = pfx !== undefined || typeof SNICallback === "function";
  if (whole || (key !== undefined && cert !== undefined)) return;
  throw badTls(`tls has no ${key === undefined ? (cert === undefined ? "key and cert" : "key") : "cert"}`);
}

function checkPem(name: string, value: unknown): void {
  // Node takes a key with its passphrase, too.
  const pem: unknown =
    value instanceof Uint8Array ? value : ((Object(value) as { readonly pem?: unknown }).pem ?? value);
  if (pem === undefined) return;
  if (typeof (Object(pem) as { readonly then?: unknown }).then === "function")
    throw badTls(`tls.${name} is a promise: await it`);
  if (pem instanceof Uint8Array) return;
  if (typeof pem !== "string") throw badTls(`tls.${name} is neither a text nor bytes`);
  if (name === "pfx" || pem.includes("-----BEGIN ")) return;
  const path = /[\\/]|\.(?:pem|key|crt|cer|cert)$/i.test(pem) && !pem.includes("\n");
  throw badTls(`tls.${name} is ${path ? "a path" : "no PEM, which begins with -----BEGIN"}`);
}

function badTls(what: string): LocalError {
  return new LocalError("BAD_OPTIONS", `${what}. ${PEM}`);
}

interface Parts {
  readonly endpoint: HttpEndpoint;
  readonly listener: HttpListener;
  readonly member: ClusterMember | undefined;
}

/** What the other processes reach of an endpoint. */
interface Reached extends Pick<HttpEndpoint, "core" | "site"> {
  readonly handshake: Later<LocalSessions>;
}

/** The sessions an endpoint has. */
interface LocalSessions extends Pick<LocalEnd, "holds" | "release" | "keep"> {
  readonly guests: Pick<LocalEnd, "hear"> | undefined;
  adopt(...session: Parameters<LocalEnd["adopt"]>): void;
}

/** The end of an endpoint that the other processes of its server reach. */
export function localEnd({ core, site, handshake }: Reached): LocalEnd {
  return {
    serve: (exchange) => serveRelayed(exchange, site),
    adopt: (id, principal, facts) => handshake.use((requests) => requests.adopt(id, principal, facts)),
    holds: (id) => handshake.there?.holds(id) === true,
    release: (id) => handshake.there?.release(id),
    keep: (id) => handshake.there?.keep(id),
    hear(news) {
      handshake.there?.guests?.hear(news);
      if (!("session" in news)) hear(core, news);
    },
    // A process that made the task may be back under its name as one without tasks.
    errand: (errand) => core.tasks?.errand(errand) ?? Promise.reject(noSuchTask()),
    report: core.report,
  };
}

/** Serves a request that another process let in and handed on: it has asked who is there, and counted it. */
function serveRelayed(exchange: HttpExchange, site: HttpEndpoint["site"]): void {
  exchange.pass = site.passes.give(exchange.principal);
  const route = site.routeOf(exchange);
  if (route !== undefined && !turnedAway(exchange)) route.serve(exchange);
}

/** Passes on what another process told. */
function hear({ subscribers, tasks, conversations }: ServerCore, news: CoreNews): void {
  switch (news.kind) {
    case "list":
      return subscribers?.listChanged(news.list);
    case "resource":
      return subscribers?.resourceUpdated(news.uri);
    case "task":
      return tasks?.heard(news.record, news.questions);
    case "log": {
      const index = levelIndex(news.level);
      for (const conversation of conversations) conversation.log(index, news.message as object as LogMessage);
      return;
    }
    case "all":
      return subscribers?.allChanged();
  }
}

/** Milliseconds for which what comes on connections that are open is still served once no more are taken. */
const LAST_REQUESTS_MS = 500;

function serving(url: string, { endpoint, listener, member }: Parts, signals: boolean): HttpServing {
  let settle = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });
  let closing: Promise<void> | undefined;
  const forget = signals ? onShutdown(() => void close()) : undefined;
  const end = async (): Promise<void> => {
    // Still listening while it drains: new work is told to come back, or handed on to other processes, and what has begun gets what it
    // waits for. What runs among others is reached by them, and so it is done before this one leaves them.
    const began = performance.now();
    const among = member !== undefined && (await member.retire());
    if (among) listener.drain();
    const spentMs = await endpoint.settle(() => member?.alone !== false);
    await member?.drain();
    await endpoint.close(spentMs);
    await listener.refuse(among ? LAST_REQUESTS_MS : 0);
    await member?.handedOn(endpoint.limits.drainMs - (performance.now() - began));
    await member?.leave();
    await listener.close();
    forget?.();
    settle();
  };
  function close(): Promise<void> {
    return (closing ??= end());
  }
  const stats = (): HttpStats => ({ ...loadOf(endpoint), ...listener.traffic() });
  return { url, stats, endSessions: (whose) => endOf(whose, endpoint), close, closed };
}

function loadOf({ keeper, open }: HttpEndpoint): HttpLoad {
  return { sessions: open.reduce((sum, holder) => sum + (holder?.there?.sessions ?? 0), 0), streams: keeper.size };
}

/**
 * Ends what some principals have open at once, and cancels what they have running: what is in some table; what is not yet holds a
 * pass, which is taken back.
 */
async function endOf(whose: Whose, { site, open, alone }: HttpEndpoint): Promise<void> {
  site.passes.revoke(whose);
  for (const each of alone) each.endOf(whose);
  await Promise.all(open.map(async (each) => await each?.there?.endOf(whose)));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

// Serves a server inside somebody else's Node server: Express, Fastify, Koa, NestJS, node:http, node:http2.

/** How a server is mounted. */
export interface NodeHandlerOptions extends HttpOptions {
  /** What the framework puts before the paths of this handler, such as `/api`. Default: nothing. */
  readonly pathPrefix?: string;
  /**
   * Who is asking, where the framework has found out: a name, or a name with scopes. Undefined and null are answered 401, and so is
   * what is no name, such as a number: that is reported as well. A type for the parameter says what the framework adds.
   * Instead of `authenticate` and `authorization`. Handlers find it in `ctx.principal` and `ctx.identity`.
   */
  readonly identity?: (request: NodeRequest) => Known | Promise<Known>;
}

const NODE_HANDLER_MEMBERS: MembersOf<NodeHandlerOptions> = { ...HTTP_MEMBERS, pathPrefix: "text", identity: "any" };

type Known = string | (Partial<Identity> & Pick<Identity, "principal">) | undefined | null | false;

/** Answers a request of a Node server. */
export interface NodeHandler {
  /**
   * `third`: the body, where it was parsed already and does not stand in `request.body`; or the framework's `next`, called for paths
   * that are not served here. Resolves once the reply is complete; for a stream that is when it ends.
   */
  (request: NodeRequest, response: NodeResponse, third?: unknown): Promise<void>;
  /**
   * Refuses new requests, lets what runs finish within the limit `drainMs`, tasks and questions to people too, then ends listens and
   * what is left. Safe to call again.
   */
  close(): Promise<void>;
}

/**
 * Makes a handler `(request, response, next or body)`. Mounted below a path (`app.use("/mcp", handler)`) it is found under that
 * path and under what is left of it. A request with an Origin is refused unless `allowedOrigins` names it; name the hosts in
 * `allowedHosts` too where browsers on the same machine can reach it.
 *
 * @throws {LocalError} BAD_OPTIONS for a member that does not exist and where two options say who is asking, BAD_PATH for a prefix that is no path.
 */
export function toNodeHandler(server: LeanServer, options: NodeHandlerOptions = {}): NodeHandler {
  checkOptions("toNodeHandler(server, options)", options, NODE_HANDLER_MEMBERS);
  checkDoor(options);
  const { pathPrefix = "", identity, ...rest } = options;
  if (pathPrefix !== "" && !/^\/[!-~]*[^/?#]$/.test(pathPrefix)) {
    throw new LocalError("BAD_PATH", `pathPrefix "${pathPrefix}" is no path: write it as "/api"`);
  }
  if (identity !== undefined && typeof identity !== "function") {
    throw new LocalError("BAD_OPTIONS", '"identity" is a function of the request that returns the name of the user');
  }
  if (identity !== undefined && (options.authenticate !== undefined || options.authorization !== undefined)) {
    throw new LocalError("BAD_OPTIONS", "Give identity, authenticate or authorization: only one can say who is asking");
  }
  const known = identity === undefined ? {} : { authenticate: askingFramework(identity) };
  const endpoint = httpEndpoint(server, { ...rest, ...known }, { hosts: undefined, origins: [], parts: PARTS_AT_HAND });
  const mount = new MountWatch(coreOf(server), options);
  let closing: Promise<void> | undefined;
  const handler = (request: NodeRequest, response: NodeResponse, third?: unknown): Promise<void> => {
    const target = targetOf(request, pathPrefix, (path) => endpoint.site.serves(path));
    mount.seen(request, endpoint.site.serves(target.path));
    const next = typeof third === "function" ? third : undefined;
    if (next !== undefined && !endpoint.site.serves(target.path)) {
      Reflect.apply(next, undefined, []);
      return Promise.resolve();
    }
    const given = next === undefined ? third : undefined;
    const exchange = new NodeExchange(request, response, { ...target, parsed: given ?? parsedBody(request) });
    endpoint.site.handle(exchange);
    return exchange.ended;
  };
  return Object.assign(handler, { close: () => (closing ??= endpoint.close()) });
}

/** What frameworks add to a request: what they cut off its path, and the one path it was registered for. */
interface Mounted {
  readonly baseUrl?: unknown;
  readonly route?: unknown;
}

/** Says once how to mount a handler that is mounted where it finds nothing, or where nobody finds what it serves at the root. */
class MountWatch {
  readonly #core: Pick<ServerCore, "report">;
  readonly #path: string;
  readonly #prefix: string;
  /** Pages that clients look for at the root. */
  readonly #root: string | undefined;
  #told = false;
  #toldOfPages = false;

  constructor(core: Pick<ServerCore, "report">, { path = "/mcp", pathPrefix = "", pages = {} }: NodeHandlerOptions) {
    this.#core = core;
    this.#path = path;
    this.#prefix = pathPrefix;
    this.#root = Object.keys(pages).find((page) => page.startsWith("/.well-known/"));
  }

  seen(request: NodeRequest, served: boolean): void {
    const { baseUrl, route } = request as Mounted;
    const below = typeof baseUrl === "string" && baseUrl !== "" ? baseUrl : undefined;
    if (!served) return this.#lost(request, below !== undefined || route !== undefined);
    if (below === undefined || this.#root === undefined || this.#toldOfPages || below.startsWith("/.well-known"))
      return;
    this.#toldOfPages = true;
    const where = `This handler is mounted below ${peerWords(below)}, and clients look for ${this.#root} at the root, where it is not found`;
    this.#core.report("warning", `${where} unless it is mounted there too: app.use("/.well-known", handler)`);
  }

  /** Mounted for one path, or for what is below one, it is asked for nothing else: then it would never find anything. */
  #lost({ url = "", originalUrl = url }: NodeRequest, mounted: boolean): void {
    const asked = cut(originalUrl, "").path;
    if (this.#told || !mounted || !asked.endsWith(this.#path)) return;
    const rest = asked.slice(0, asked.length - this.#path.length);
    if (rest === this.#prefix) return;
    this.#told = true;
    const has = this.#prefix === "" ? "has no pathPrefix" : `has pathPrefix: "${this.#prefix}"`;
    const what = `This handler was asked for ${peerWords(asked)} and serves ${this.#prefix}${this.#path}, since it ${has}`;
    const write =
      rest === "" ? "leave pathPrefix out" : `write toNodeHandler(server, { pathPrefix: "${peerWords(rest)}" })`;
    this.#core.report("warning", `${what}: ${write}`);
  }
}

/** A body that a parser has read. One that has not been read is ours to read, whatever stands in `request.body`. */
function parsedBody(request: NodeRequest): unknown {
  return request.readableDidRead || request.readableEnded ? request.body : undefined;
}

/** The target as the framework was asked for it or, where nothing is served there, as it hands it on. */
function targetOf(
  { url = "", originalUrl = url }: NodeRequest,
  prefix: string,
  serves: (path: string) => boolean,
): { readonly path: string; readonly query: string } {
  const own = cut(originalUrl, prefix);
  if (serves(own.path)) return own;
  const handed = cut(url, prefix);
  return serves(handed.path) ? handed : own;
}

function cut(target: string, prefix: string): { readonly path: string; readonly query: string } {
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  const below = prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`));
  const rest = below ? path.slice(prefix.length) || "/" : path;
  // Routers treat both alike.
  const clean = rest.length > 1 && rest.endsWith("/") ? rest.slice(0, -1) : rest;
  return { path: clean, query: end < 0 ? "" : target.slice(end + 1) };
}

const NOBODY: Entrance = {
  status: 401,
  text: "Nobody is signed in: the server's `identity` option found nobody in this request",
};

function askingFramework(identity: NonNullable<NodeHandlerOptions["identity"]>): Authenticate {
  const enter = (known: Known): Entrance => {
    if (known === undefined || known === null || known === false || known === "") return NOBODY;
    // What is neither is not let in, and what it is goes into the report.
    return typeof known === "object" ? { identity: { scopes: [], ...known } } : known;
  };
  return async (head) => enter(await identity((head as NodeExchange).request));
}
