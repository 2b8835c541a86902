// Everything an endpoint's connections have in common: the front door, what lets requests in, which path leads where.
import type { Authenticator, Refusal as AuthRefusal } from "../../auth/authenticator.js";
import type { ScopeRules } from "../../auth/scopes.js";
import type { Later } from "../../endpoint/call.js";
import { isStateless } from "../../era/stateless/codec.js";
import type { Awaitable } from "../../jsonrpc/message.js";
import type { JsonRpcLimits } from "../../jsonrpc/limits.js";
import { parseJson, tooLong } from "../../jsonrpc/parse.js";
import type { Identity } from "../../jsonrpc/transport.js";
import type { ServerCore } from "../../server/core.js";
import type { HeaderList, HttpExchange, HttpRequestHead } from "./exchange.js";
import type { RateLimits } from "./http-limits.js";
import type { Whose } from "./http-session.js";
import { type HttpRefusal, refuse, refuseAs, turnAway } from "./reply.js";

/** Lets a request in as somebody of whom more is known than a name. */
export interface HttpAdmission {
  readonly identity: Identity;
  /** Headers of whatever reply the request gets, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What `authenticate` returns to let somebody in of whom nothing is known, such as a reader of what is public. */
export const anonymous: unique symbol = Symbol.for("@secure-local/mcp/anonymous") as never;

/**
 * Who is asking: any text that names one user, or more than that. `anonymous` lets somebody in without a name. Undefined, null
 * and an empty text know nobody, and the request is refused with 401; a refusal of one's own may say more. What is no name at all,
 * such as a number, is refused with 401 as well, and reported; so is an identity that is a refusal as well.
 */
export type Entrance = string | typeof anonymous | HttpAdmission | HttpRefusal | undefined | null;

/** Says who is asking before the body of a request is read. */
export type Authenticate = (request: HttpRequestHead) => Awaitable<Entrance>;

/** How many requests of one sender are served, and who counts as one where nobody is known. */
export interface RateOptions extends Partial<RateLimits> {
  /**
   * The address of a sender nobody knows by name. Default: that of the connection, which behind a proxy is the proxy's,
   * and which runtimes that speak fetch do not tell: senders without one share one bucket.
   */
  readonly address?: (request: HttpRequestHead) => string | undefined;
}

// Who may call, and what.

/** A request that was refused, as far as it had been read. Holds nothing of its token. */
export interface RefusedRequest {
  readonly path: string;
  /** Undefined when nobody knows whose the request is. */
  readonly principal: string | undefined;
  /** The MCP method that needs more scopes; undefined when the request was refused at the door. */
  readonly method: string | undefined;
  /** The tool, where it is the call of one. */
  readonly tool: string | undefined;
}

/** Who may call, and what. */
export interface HttpAuthorization {
  /** Decides who sent a request. Handlers find the outcome in `ctx.identity`, middleware in `call.identity`. */
  readonly authenticator: Authenticator;
  /** Scopes by method and tool, checked for every message. A batch is refused as a whole. Default: nothing more is needed. */
  readonly scopes?: ScopeRules;
  /** Told once of every refused request, for an audit record: bound what you keep, since anybody can cause it. */
  readonly onRefused?: (refusal: AuthRefusal, request: RefusedRequest) => void;
}

// Small documents beside the endpoint, such as health or metadata: whole replies, made on demand.

/** A whole reply to a request for a page: the status, headers by lower-case name, and the text. */
export interface HttpPageReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A document of one path. Only the front door and, unless it is open, `authenticate` stand before it. */
export interface HttpPage {
  /** True: served to whoever asks. Default: `authenticate` decides as for the endpoint. */
  readonly open?: boolean;
  /** Called for GET and HEAD. Must neither throw nor reject. */
  respond(request: HttpRequestHead): Awaitable<HttpPageReply>;
}

/** What serves one path. */
export interface HttpRoute {
  /** True: served without asking who is there. */
  readonly open?: boolean;
  serve(exchange: HttpExchange): void;
}

/** What a site asks where it lets nobody in by itself. */
interface Entry {
  /** Takes a request that came through the front door. */
  receive(exchange: HttpExchange): void;
}

export interface HttpSiteOptions {
  readonly door: FrontDoor;
  readonly routes: ReadonlyMap<string, HttpRoute>;
  /** Undefined: everybody may come in, nobody is known, and no web page reads the replies. */
  readonly guard: Later<Entry> | undefined;
  /** Told of an exception that a request met, whatever of the program's own threw it. Answers the request. */
  readonly failed: (exchange: HttpExchange, error: unknown) => void;
}

export class HttpSite {
  readonly #options: HttpSiteOptions;
  /** Who was let in, and may go on with what they began. */
  readonly passes: Passes = new Passes();

  constructor(options: HttpSiteOptions) {
    this.#options = options;
  }

  /** Whether something is served at a path. */
  serves(path: string): boolean {
    return this.#options.routes.has(path);
  }

  /** What serves a request; undefined where nothing does, and it was turned away. */
  routeOf(exchange: HttpExchange): HttpRoute | undefined {
    const { path } = exchange;
    const route = this.#options.routes.get(path);
    if (route !== undefined) return route;
    const slashes = path.endsWith("/") && this.serves(path.slice(0, -1));
    // That of the endpoint comes first.
    const [first] = this.#options.routes.keys();
    turnAway(exchange, 404, `Not found: ${slashes ? "leave out the slash at its end" : `use ${first}`}`);
    return undefined;
  }

  handle(exchange: HttpExchange): void {
    try {
      this.#handle(exchange);
    } catch (error) {
      this.#options.failed(exchange, error);
    }
  }

  #handle(exchange: HttpExchange): void {
    const { door, guard } = this.#options;
    const refusal = door.refusal(exchange);
    if (refusal !== undefined) return turnAway(exchange, refusal.status, refusal.text);
    const closed = this.passes.closed(exchange);
    if (closed !== undefined) return turnAway(exchange, closed.status, closed.text, closed.headers);
    if (guard === undefined) return this.#letIn(exchange);
    if (guard.there !== undefined) return guard.there.receive(exchange);
    serveLater(guard, exchange, (made) => {
      try {
        made.receive(exchange);
      } catch (error) {
        this.#options.failed(exchange, error);
      }
    });
  }

  #letIn(exchange: HttpExchange): void {
    const route = this.routeOf(exchange);
    if (route === undefined) return;
    if (route.open !== true) exchange.pass = this.passes.unknown ??= this.passes.give(undefined);
    if (!turnedAway(exchange)) route.serve(exchange);
  }
}

/** Turns a request away that may not be gone on with: who sent it was sent away, or the server is going down. */
export function turnedAway(exchange: HttpExchange): boolean {
  const refusal = exchange.pass?.refusal(exchange);
  if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text, refusal.headers);
  return refusal !== undefined;
}

/** Turns a message away that begins something, where this process is going down and no other is there. */
export function begunTooLate(exchange: HttpExchange, value: unknown): boolean {
  const refused = exchange.pass?.refusesNew === true && !exchange.pass.goesOn(value);
  if (refused) turnAway(exchange, CLOSING.status, CLOSING.text, CLOSING.headers);
  return refused;
}

/** Serves a request by a part of the endpoint that is made for the first of such requests. */
export function serveLater<Part>(part: Later<Part>, exchange: HttpExchange, serve: (part: Part) => void): void {
  if (part.there !== undefined) return serve(part.there);
  const loading = part.use((made) => {
    // It may have been loaded for a while.
    if (!turnedAway(exchange)) serve(made);
  });
  loading?.catch(() => refuse(exchange, 500, "What serves this did not load"));
}

/** Says whether a parsed body may be served, where there is anything to say. */
export interface Permits {
  /** Whether somebody is known to be asking, or something is asked for that not everybody may have. */
  concerns(exchange: HttpExchange, value: unknown): boolean;
  readonly judge: Later<(exchange: HttpExchange, value: unknown) => HttpRefusal | undefined>;
  readonly lacking: HttpExchange["lacking"];
}

/** Whether a parsed body may be served; one that may not is refused. `again` is called where what says so has to be loaded first. */
export function isPermitted(
  { permits, again }: { readonly permits: Permits | undefined; again(exchange: HttpExchange, value: unknown): void },
  exchange: HttpExchange,
  value: unknown,
): boolean {
  if (permits === undefined) return true;
  exchange.lacking = permits.lacking;
  if (!permits.concerns(exchange, value)) return true;
  const judge = permits.judge.there;
  if (judge === undefined) {
    serveLater(permits.judge, exchange, () => again(exchange, value));
    return false;
  }
  const refusal = judge(exchange, value);
  if (refusal !== undefined) refuseAs(exchange, refusal);
  return refusal === undefined;
}

/** The message in a body; undefined where its request may not be gone on with any more, and was turned away. */
export function readMessage(exchange: HttpExchange, text: string, { limits }: ServerCore): unknown {
  return turnedAway(exchange) ? undefined : parseJson(text, limits);
}

/** Whether a request is of the stateless era, by its header or by the message in its body. */
export function ofStatelessEra(exchange: HttpExchange, value?: unknown): boolean {
  return isStateless(value, exchange.header("mcp-protocol-version"));
}

// The front door: who may come in, judged by the head of a request before anything is parsed.

interface FrontDoorOptions {
  /** Values of Host that are ours, port included; undefined: any one host. */
  readonly hosts: readonly string[] | undefined;
  /** Origins of web pages that may call; a request without Origin is no web page. */
  readonly origins: readonly string[];
  /** Where a person names further origins, for the refusal. Default: allowedOrigins, the option of this library. */
  readonly originOption?: string | undefined;
  /** What a person does about a host that is not served, for the refusal. Default: names allowedHosts, the option of this library. */
  readonly hostAdvice?: string | undefined;
}

interface Refusal {
  readonly status: number;
  readonly text: string;
}

const NOT_ORIGIN_FORM: Refusal = { status: 400, text: "The target must be a path" };
const ONE_HOST: Refusal = { status: 400, text: "Send one Host header" };
const NOT_JSON: Refusal = { status: 415, text: "Send Content-Type: application/json" };
const PACKED: Refusal = { status: 415, text: "Send it without Content-Encoding" };

/** Lists are exact: no patterns, no ports left out, no suffixes. */
export class FrontDoor {
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #origins: ReadonlySet<string>;
  readonly #foreignOrigin: Refusal;
  readonly #foreignHost: Refusal;

  constructor({
    hosts,
    origins,
    originOption = "allowedOrigins",
    hostAdvice = "add it to allowedHosts",
  }: FrontDoorOptions) {
    this.#foreignHost = { status: 403, text: `This Host is not served here: ${hostAdvice}` };
    this.#foreignOrigin = { status: 403, text: `This Origin may not call: add it to ${originOption}` };
    this.#hosts = hosts && new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins.map((origin) => origin.toLowerCase()));
  }

  admitsOrigin(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  /** Why a request may not come in; undefined when it may. */
  refusal(head: HttpRequestHead): Refusal | undefined {
    if (head.path.charCodeAt(0) !== 0x2f) return NOT_ORIGIN_FORM;
    const host = head.header("host");
    if (host === undefined || host === "" || host.includes(",")) return ONE_HOST;
    if (this.#hosts !== undefined && !this.#hosts.has(host.toLowerCase())) return this.#foreignHost;
    const origin = head.header("origin");
    if (origin !== undefined) return this.admitsOrigin(origin) ? undefined : this.#foreignOrigin;
    // Browsers leave Origin out where no script may read the answer; they still say where a request comes from.
    const site = head.header("sec-fetch-site");
    return site === "cross-site" || site === "same-site" ? this.#foreignOrigin : undefined;
  }

  /** Why the body of a POST may not be read; undefined when it may. */
  bodyRefusal(head: HttpRequestHead, limits: JsonRpcLimits): Refusal | undefined {
    const type = head.header("content-type");
    if (type !== "application/json" && !isJson(type)) return NOT_JSON;
    const encoding = head.header("content-encoding");
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") return PACKED;
    const isTooLong = Number(head.header("content-length")) > limits.messageBytes;
    return isTooLong ? { status: 413, text: tooLong(limits) } : undefined;
  }
}

// Only what a web page cannot send without asking first (CORS) counts as JSON; parameters may follow.
function isJson(type: string | undefined): boolean {
  if (type === undefined) return false;
  const end = type.indexOf(";");
  if (/charset/i.test(type) && !/;\s*charset\s*=\s*"?utf-8"?\s*(?:;|$)/i.test(type)) return false;
  return !type.includes(",") && (end < 0 ? type : type.slice(0, end)).trim().toLowerCase() === "application/json";
}

/** Hosts under which a listener on a loopback address is reached. */
export function loopbackHosts(port: number, defaultPort: number): readonly string[] {
  const names = ["localhost", "127.0.0.1", "[::1]"];
  const hosts = names.map((name) => `${name}:${port}`);
  return port === defaultPort ? [...hosts, ...names] : hosts;
}

// What a request is let in by, as something that can be taken back: whatever goes on for a request asks its pass whether it still may.

/** Why a request may not go on. */
interface NoPass {
  readonly status: 401 | 503;
  readonly text: string;
  readonly headers: HeaderList;
}

/** A 401 names a way to log in (RFC 9110, section 15.5.2). */
export const CHALLENGE: HeaderList = ["www-authenticate", "Bearer"];
/** Seconds after which a client may try again while the server is going down. */
const RETRY_AFTER: HeaderList = ["retry-after", "5"];

const REVOKED: NoPass = {
  status: 401,
  text: "Its login was taken back or exchanged: log in, and send it again",
  headers: CHALLENGE,
};
const CLOSING: NoPass = {
  status: 503,
  text: "The server is shutting down and has not served this: send it again in a moment",
  headers: RETRY_AFTER,
};

/** One for all requests of a principal, until it is taken back. */
export class Pass {
  readonly #passes: Passes;
  revoked = false;

  constructor(passes: Passes) {
    this.#passes = passes;
  }

  get drains(): boolean {
    return this.#passes.drains;
  }

  get refusesNew(): boolean {
    return this.#passes.drains && this.#passes.alone();
  }

  goesOn(value: unknown): boolean {
    return this.#passes.goesOn(value);
  }

  /** To be asked wherever something begins that outlives the moment: after a body, a turn, another process was waited for. */
  refusal(exchange: HttpExchange): NoPass | undefined {
    return this.revoked ? REVOKED : this.#passes.closed(exchange);
  }
}

/** Somebody about to come in: who it is has not been found out yet. */
export interface Entering {
  /** Who has been sent away meanwhile. */
  readonly gone: Whose[];
}

/** Principals remembered before it is looked which of them have nothing open any more. */
const MOST_REMEMBERED = 1_000;

export class Passes {
  /** Set when the endpoint is going down: nothing new is served, and sessions hear only what they wait for. */
  closing = false;
  /** Set before that: what has begun goes on, and what is new is for other processes. */
  drains = false;
  /** Whether a message is about what has begun; none is while the code that tells is loaded. */
  goesOn: (value: unknown) => boolean = () => false;
  /** Whether no other process is there. */
  alone: () => boolean = () => true;
  /** Held by what came in by them, so that one nobody holds any more is nobody's to take back. */
  readonly #current = new Map<string | undefined, WeakRef<Pass>>();
  readonly #entering = new Set<Entering>();
  /** The pass of all who are not known, where nobody is asked: kept, since to look whether it is still held costs each request more than the rest. */
  unknown: Pass | undefined;
  #sweepAt = MOST_REMEMBERED;

  /** Why nothing new is served, while the endpoint is going down. Whether a message is new shows once it is read. */
  closed(exchange: HttpExchange): NoPass | undefined {
    if (!this.drains || mayFinish(exchange)) return undefined;
    const posted = exchange.method === "POST";
    if (!this.closing && (posted || exchange.header("mcp-session-id") !== undefined)) return undefined;
    return this.alone() || (this.closing && !(posted && exchange.stays !== true)) ? CLOSING : undefined;
  }

  enter(): Entering {
    const entering: Entering = { gone: [] };
    this.#entering.add(entering);
    return entering;
  }

  /** Gives out the pass of a principal. One who was sent away while it was found out who it is gets one that is worth nothing. */
  give(principal: string | undefined, entering?: Entering): Pass {
    if (entering !== undefined) this.#entering.delete(entering);
    if (entering?.gone.some((whose) => whose(principal)) === true) {
      const none = new Pass(this);
      none.revoked = true;
      return none;
    }
    const known = this.#current.get(principal)?.deref();
    if (known !== undefined) return known;
    const pass = new Pass(this);
    this.#current.set(principal, new WeakRef(pass));
    if (this.#current.size > this.#sweepAt) this.#sweep();
    return pass;
  }

  /** Nobody came in. */
  leave(entering: Entering): void {
    this.#entering.delete(entering);
  }

  /** From now on these may not go on with anything. Whoever of them comes again is judged anew. */
  revoke(whose: Whose): void {
    for (const { gone } of this.#entering) gone.push(whose);
    for (const [principal, held] of this.#current) {
      if (!whose(principal)) continue;
      if (principal === undefined) this.unknown = undefined;
      const pass = held.deref();
      if (pass !== undefined) pass.revoked = true;
      this.#current.delete(principal);
    }
  }

  #sweep(): void {
    for (const [principal, held] of this.#current) if (held.deref() === undefined) this.#current.delete(principal);
    this.#sweepAt = Math.max(MOST_REMEMBERED, 2 * this.#current.size);
  }
}

/** A session that is ending may still be told the answers to its questions; requests it refuses by itself. */
function mayFinish(exchange: HttpExchange): boolean {
  return exchange.method === "POST" && exchange.header("mcp-session-id") !== undefined;
}

// How many bytes of large request bodies are held at once, those being received and those being served.

/** Bodies up to here cost no more than the connection they come on, whose number is bounded. */
export const SMALL_BODY: number = 64 * 1024;

export class BodyRoom {
  #left: number;

  /** @param bytes all the room there is */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes room, to be given back; false when there is not so much. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}
