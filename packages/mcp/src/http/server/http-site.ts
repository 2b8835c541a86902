// Everything an endpoint's connections have in common: the front door, who is asking, which path leads where.
import { withLimits } from "../../jsonrpc/limits.js";
import { type Awaitable, isThenable } from "../../jsonrpc/message.js";
import { type Identity, identityFault } from "../../jsonrpc/transport.js";
import type { GoneListener, HeaderList, HttpCluster, HttpExchange, HttpRequestHead } from "./exchange.js";
import { CHALLENGE, type Entering, entranceFault, Passes } from "./passes.js";
import { DEFAULT_RATE, type RateLimits } from "./http-limits.js";
import { Misjudged } from "../../auth/authenticator.js";
import type { Later } from "../../endpoint/call.js";
import { headersFault, type HttpRefusal, headerList, refuse, replyFault, turnAway } from "./reply.js";

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

/** Says whether a parsed body may be served; undefined: it may. */
export type Permits = (exchange: HttpExchange, value: unknown) => HttpRefusal | undefined;

const STRANGER = "This request names nobody: log in, and send what the server gave you";
/** Of a caller of whom the name alone is known. */
const NO_SCOPES: readonly string[] = [];
const NO_ENTRANCE =
  "authenticate returned an object that is neither { identity: { principal, scopes } } nor a refusal { status }: return the name of the user";

const UNSENT = "What says who is asking (authenticate, identity, or the authenticator) returned what cannot be sent: ";

/** Why an entrance with an identity lets nobody in; undefined where it does. A program in JavaScript may say anything here. */
function admissionFault(who: HttpAdmission): string | undefined {
  const { status, text, ok } = who as { readonly status?: unknown; readonly text?: unknown; readonly ok?: unknown };
  if (status !== undefined || text !== undefined)
    return 'an identity that is a refusal as well, with "status" or "text": give one of both';
  if ("ok" in who && ok !== true) return 'an identity whose "ok" is not true';
  return entranceFault(who.identity);
}

/** What serves one path. */
export interface HttpRoute {
  /** True: served without asking who is there. */
  readonly open?: boolean;
  serve(exchange: HttpExchange): void;
}

export interface HttpSiteOptions {
  readonly door: FrontDoor;
  readonly routes: ReadonlyMap<string, HttpRoute>;
  readonly cors: boolean;
  readonly authenticate: Authenticate | undefined;
  readonly rate: RateGate | undefined;
  readonly turns: Turns;
  /** Told of an exception of `authenticate`. */
  readonly onError: (error: unknown) => void;
  /** Told of any other exception that a request met, whatever of the program's own threw it. Answers the request. */
  readonly failed: (exchange: HttpExchange, error: unknown) => void;
}

export class HttpSite {
  readonly #options: HttpSiteOptions;
  /** Who was let in, and may go on with what they began. */
  readonly passes: Passes = new Passes();

  constructor(options: HttpSiteOptions) {
    this.#options = options;
  }

  /** Serves a request that another process let in and handed on: it has asked who is there, and counted it. */
  relayed(exchange: HttpExchange): void {
    const route = this.#options.routes.get(exchange.path);
    exchange.pass = this.passes.give(exchange.principal);
    if (route === undefined) turnAway(exchange, 404, "Nothing is served at this path");
    else if (!turnedAway(exchange)) route.serve(exchange);
  }

  /** Whether something is served at a path. */
  serves(path: string): boolean {
    return this.#options.routes.has(path);
  }

  handle(exchange: HttpExchange): void {
    try {
      this.#handle(exchange);
    } catch (error) {
      this.#options.failed(exchange, error);
    }
  }

  #handle(exchange: HttpExchange): void {
    const { door, routes, cors, authenticate } = this.#options;
    const refusal = door.refusal(exchange);
    if (refusal !== undefined) return turnAway(exchange, refusal.status, refusal.text);
    const closed = this.passes.closed(exchange);
    if (closed !== undefined) return turnAway(exchange, closed.status, closed.text, closed.headers);
    if (cors) {
      const origin = exchange.header("origin");
      if (origin !== undefined) exchange.extra = corsHeaders(origin);
      if (exchange.method === "OPTIONS") return answerPreflight(exchange);
    }
    const route = routes.get(exchange.path);
    if (route === undefined) return turnAway(exchange, 404, this.#nothingAt(exchange.path));
    if (route.open === true) route.serve(exchange);
    else if (authenticate === undefined) this.#admit(exchange, route);
    else this.#identify(exchange, route, authenticate);
  }

  #nothingAt(path: string): string {
    const slashes = path.endsWith("/") && this.serves(path.slice(0, -1));
    return `Nothing is served at this path${slashes ? ": leave out the slash at its end" : ""}`;
  }

  #identify(exchange: HttpExchange, route: HttpRoute, authenticate: Authenticate): void {
    try {
      const who = authenticate(exchange);
      if (!isThenable(who)) return this.#enter(exchange, route, { who });
      const entering = this.passes.enter();
      Promise.resolve(who)
        .then((known) => this.#enter(exchange, route, { who: known, entering }))
        .catch((error: unknown) => this.#failed(exchange, error))
        .finally(() => this.passes.leave(entering));
    } catch (error) {
      this.#failed(exchange, error);
    }
  }

  #enter(
    exchange: HttpExchange,
    route: HttpRoute,
    { who, entering }: { readonly who: Entrance; readonly entering?: Entering },
  ): void {
    if (exchange.over) return;
    if (who === anonymous) {
      exchange.principal = undefined;
    } else if (typeof who === "string" && who !== "") {
      exchange.principal = who;
      exchange.identity = { principal: who, scopes: NO_SCOPES };
    } else if (typeof who !== "object" || who === null) {
      const nobody = who === undefined || who === null || (who as unknown) === false || who === "";
      return this.#strange(exchange, nobody ? undefined : identityFault(who));
    } else if ("identity" in who) {
      const fault = admissionFault(who);
      if (fault !== undefined) return this.#strange(exchange, fault);
      if (this.#isUnsendable(exchange, headersFault(who.headers))) return;
      exchange.principal = who.identity.principal;
      exchange.identity = who.identity;
      if (who.headers !== undefined) exchange.extra = [...(exchange.extra ?? []), ...headerList(who.headers)];
    } else if (typeof who.status !== "number") {
      return this.#failed(exchange, new TypeError(NO_ENTRANCE));
    } else {
      if (this.#isUnsendable(exchange, replyFault(who))) return;
      return this.#unlessHeldBack(exchange, () =>
        turnAway(exchange, who.status, who.text ?? "", headerList(who.headers)),
      );
    }
    this.#admit(exchange, route, entering);
  }

  /** Turns away whom nobody knows. Whoever was named by something that is no name is reported: the program has to be mended. */
  #strange(exchange: HttpExchange, fault: string | undefined): void {
    if (fault !== undefined) this.#options.onError(new TypeError(`What says who is asking returned ${fault}`));
    this.#unlessHeldBack(exchange, () => turnAway(exchange, 401, STRANGER, CHALLENGE));
  }

  #admit(exchange: HttpExchange, route: HttpRoute, entering?: Entering): void {
    exchange.pass = this.passes.give(exchange.principal, entering);
    if (!turnedAway(exchange)) this.#serve(exchange, route);
  }

  #serve(exchange: HttpExchange, route: HttpRoute): void {
    const { rate } = this.#options;
    if (rate === undefined) this.#begin(exchange, route);
    else this.#unlessHeldBack(exchange, () => this.#begin(exchange, route));
  }

  #begin(exchange: HttpExchange, route: HttpRoute): void {
    const serve = (each: HttpExchange): void => {
      try {
        if (!turnedAway(each)) route.serve(each);
      } catch (error) {
        this.#options.failed(each, error);
      }
    };
    // Only what is posted is work: the rest is streams without end, and what ends something.
    if (exchange.method === "POST") this.#options.turns.enter(exchange, serve);
    else serve(exchange);
  }

  /** Goes on with a request, or turns it away where its sender sends too many. */
  #unlessHeldBack(exchange: HttpExchange, goOn: () => void): void {
    const held = (seconds: number): void => {
      if (exchange.over) return;
      if (seconds <= 0) return goOn();
      turnAway(exchange, 429, "Too many requests: try again later", ["retry-after", String(seconds)]);
    };
    const counted = this.#options.rate?.take(exchange) ?? 0;
    if (typeof counted === "number") held(counted);
    else void counted.then(held).catch((error: unknown) => this.#options.failed(exchange, error));
  }

  #isUnsendable(exchange: HttpExchange, fault: string | undefined): boolean {
    if (fault !== undefined) this.#failed(exchange, new TypeError(UNSENT + fault));
    return fault !== undefined;
  }

  #failed(exchange: HttpExchange, error: unknown): void {
    if (error instanceof Misjudged) return this.#strange(exchange, error.message);
    this.#options.onError(error);
    refuse(exchange, 500, "Authentication failed for a reason the server's log knows", ["connection", "close"]);
  }
}

/** Turns a request away that may not be gone on with: who sent it was sent away, or the server is going down. */
export function turnedAway(exchange: HttpExchange): boolean {
  const refusal = exchange.pass?.refusal(exchange);
  if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text, refusal.headers);
  return refusal !== undefined;
}

/** Serves a request by a part of the endpoint that is made for the first of such requests. */
export function serveLater<Part>(part: Later<Part>, exchange: HttpExchange, serve: (part: Part) => void): void {
  if (part.there !== undefined) return serve(part.there);
  const loading = part.use((made) => {
    // It may have been loaded for a while.
    if (!turnedAway(exchange)) serve(made);
  });
  loading?.catch(() => refuse(exchange, 500, "What serves this request could not be loaded"));
}

// CORS for web pages on the list of origins: what they may send, and what they may read.

const SENT: ReadonlySet<string> = new Set([
  "content-type",
  "accept",
  "authorization",
  "dpop",
  "mcp-protocol-version",
  "mcp-session-id",
  "last-event-id",
  "mcp-method",
  "mcp-name",
]);
const MIRRORED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/;
const READ = "mcp-session-id, www-authenticate, dpop-nonce, retry-after";

/** Seconds a browser may remember what it was allowed. */
const PREFLIGHT_AGE = "600";

/** Headers for a reply to a page of a listed origin. */
function corsHeaders(origin: string): HeaderList {
  return ["access-control-allow-origin", origin, "access-control-expose-headers", READ, "vary", "origin"];
}

/** Answers a preflight: allows those of the headers asked for that the protocol has. */
function answerPreflight(exchange: HttpExchange): void {
  const asked = (exchange.header("access-control-request-headers") ?? "").toLowerCase().split(",");
  const allowed = asked.map((name) => name.trim()).filter((name) => SENT.has(name) || MIRRORED.test(name));
  exchange.reply(204, [
    "access-control-allow-methods",
    "GET, POST, DELETE",
    "access-control-allow-headers",
    allowed.join(", "),
    "access-control-max-age",
    PREFLIGHT_AGE,
  ]);
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

const NOT_ORIGIN_FORM: Refusal = { status: 400, text: "The request target must be a path" };
const ONE_HOST: Refusal = { status: 400, text: "Send exactly one Host header" };
const NOT_JSON: Refusal = { status: 415, text: "Send Content-Type: application/json" };
const PACKED: Refusal = { status: 415, text: "Send the body without Content-Encoding" };
const TOO_LONG: Refusal = { status: 413, text: "The body is too long" };

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
  bodyRefusal(head: HttpRequestHead, limit: number): Refusal | undefined {
    const type = head.header("content-type");
    if (type !== "application/json" && !isJson(type)) return NOT_JSON;
    const encoding = head.header("content-encoding");
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") return PACKED;
    return Number(head.header("content-length") ?? 0) > limit ? TOO_LONG : undefined;
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

// Gives callers their turn: who has many requests in service waits for those, and everybody else does not.

/** Principals remembered though they have nothing in service: looking one up again is cheaper than making it. */
const MOST_IDLE = 1_000;
/** How often it is looked whether there is a reason to wait. */
const LOOK_MS = 50;
/** Above this share of the time spent working, requests compete for the processor. Below it nobody holds anybody up. */
const BUSY = 0.9;

interface Utilization {
  readonly idle: number;
  readonly active: number;
  readonly utilization: number;
}

/** Node's measure of how busy its one thread is; other runtimes have none, and count as busy. */
type Measure = (one?: Utilization, other?: Utilization) => Utilization;
const measure = (performance as { eventLoopUtilization?: Measure }).eventLoopUtilization?.bind(performance);

type Begin = (exchange: HttpExchange) => void;

interface Waiting {
  readonly exchange: HttpExchange;
  readonly begin: Begin;
}

/** One principal: what it has in service, and what waits, by connection. */
class Principal {
  inService = 0;
  /** Raised when what was in service stops counting. */
  round = 0;
  readonly waiting: Map<object | undefined, Waiting[]> = new Map();
}

/** A request in service gives its place back when its reply is complete. */
class Place implements GoneListener {
  readonly #turns: Turns;
  readonly #principal: Principal;
  readonly #round: number;

  constructor(turns: Turns, principal: Principal) {
    this.#turns = turns;
    this.#principal = principal;
    this.#round = principal.round;
  }

  gone(): void {
    if (this.#round === this.#principal.round) this.#turns.leave(this.#principal);
  }
}

/**
 * Each principal has a bounded number of requests in service while the process is busy, and its connections take turns. While it
 * is not, whatever waits is begun: calls that wait for a person or for another server are no reason to hold others back.
 */
export class Turns {
  readonly #most: number;
  readonly #principals = new Map<string, Principal>();
  readonly #held = new Set<Principal>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #seen: Utilization | undefined;

  /** `most`: requests of one principal in service at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Begins a request now or in its turn. Nobody in particular has as many as there are connections. */
  enter(exchange: HttpExchange, begin: Begin): void {
    if (exchange.principal === undefined) return begin(exchange);
    const principal = this.#find(exchange.principal);
    if (principal.inService < this.#most && principal.waiting.size === 0) {
      this.#begin(principal, { exchange, begin });
      return;
    }
    const line = principal.waiting.get(exchange.connection);
    if (line === undefined) principal.waiting.set(exchange.connection, [{ exchange, begin }]);
    else line.push({ exchange, begin });
    this.#held.add(principal);
    if (this.#timer !== undefined) return;
    this.#seen = measure?.();
    this.#timer = setInterval(this.#look, LOOK_MS);
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** One of its requests has been answered: the next connection has its turn. */
  leave(principal: Principal): void {
    principal.inService--;
    if (principal.waiting.size > 0) this.#goOn(principal);
  }

  #begin(principal: Principal, { exchange, begin }: Waiting): void {
    principal.inService++;
    const place = new Place(this, principal);
    begin(exchange);
    if (exchange.over) principal.inService--;
    else exchange.onOver = place;
  }

  #goOn(principal: Principal): void {
    while (principal.inService < this.#most) {
      const next = principal.waiting.entries().next();
      if (next.done === true) break;
      const [connection, line] = next.value;
      const first = line.shift();
      principal.waiting.delete(connection);
      if (line.length > 0) principal.waiting.set(connection, line);
      // Whoever has gone meanwhile takes no turn.
      if (first !== undefined && !first.exchange.over) this.#begin(principal, first);
    }
    if (principal.waiting.size === 0) this.#held.delete(principal);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const before = this.#seen;
    this.#seen = measure?.();
    if (before === undefined || measure === undefined || measure(before).utilization >= BUSY) return;
    for (const principal of [...this.#held]) {
      principal.round++;
      principal.inService = 0;
      this.#goOn(principal);
    }
  };

  #find(name: string): Principal {
    let principal = this.#principals.get(name);
    if (principal !== undefined) return principal;
    if (this.#principals.size >= MOST_IDLE) {
      for (const [other, { inService, waiting }] of this.#principals)
        if (inService === 0 && waiting.size === 0) this.#principals.delete(other);
    }
    principal = new Principal();
    this.#principals.set(name, principal);
    return principal;
  }
}

// Counts requests by who sends them and holds back whoever sends too many: a token bucket each, in a bounded table.

/** How many requests of one sender are served, and who counts as one where nobody is known. */
export interface RateOptions extends Partial<RateLimits> {
  /**
   * The address of a sender nobody knows by name. Default: that of the connection, which behind a proxy is the proxy's,
   * and which runtimes that speak fetch do not tell: senders without one share one bucket.
   */
  readonly address?: (request: HttpRequestHead) => string | undefined;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Known senders are counted by principal wherever they are, unknown and refused ones by address. */
export class RateGate {
  readonly #limits: RateLimits;
  readonly #address: RateOptions["address"];
  /** The ones heard last come last. */
  readonly #buckets = new Map<string, Bucket>();
  /** Whoever was heard last: its bucket is the last one already, and most requests come from the one before. */
  #last: string | undefined;
  readonly #cluster: HttpCluster | undefined;

  /** `cluster`: counts for all processes. Throws RangeError for a limit that is not a positive integer. */
  constructor({ address, ...limits }: RateOptions, cluster?: HttpCluster) {
    this.#cluster = cluster;
    this.#limits = withLimits(DEFAULT_RATE, limits);
    this.#address = address;
  }

  /** Counts a request. Returns 0 when it may pass, otherwise the seconds after which the next one may. */
  take(exchange: HttpExchange): number | Promise<number> {
    const sender = this.#sender(exchange);
    if (this.#cluster === undefined) return this.#takeHere(sender);
    // A sender that is held back here alone sends too many already: nobody else is asked.
    const here = this.#takeHere(sender);
    return here > 0 ? here : this.#cluster.take(sender, this.#limits);
  }

  #takeHere(sender: string): number {
    const bucket = this.#bucketOf(sender);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#limits.perSecond);
    bucket.tokens--;
    return 0;
  }

  #sender(exchange: HttpExchange): string {
    const { principal } = exchange;
    if (principal !== undefined) return `principal ${principal}`;
    const address = this.#address === undefined ? exchange.address : this.#address(exchange);
    return address === undefined ? "" : networkOf(address);
  }

  #bucketOf(sender: string): Bucket {
    const { perSecond, burst, callers } = this.#limits;
    const now = performance.now();
    const bucket = this.#buckets.get(sender) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    if (sender === this.#last) return bucket;
    this.#last = sender;
    this.#buckets.delete(sender);
    this.#buckets.set(sender, bucket);
    if (this.#buckets.size > callers) this.#buckets.delete(this.#buckets.keys().next().value as string);
    return bucket;
  }
}

/** One customer has a whole IPv6 network of 64 bits, and so as many addresses as it likes. */
function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!bare.includes(":")) return bare;
  const [left = [], right] = bare.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = right === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...(right ?? [])].slice(0, 4).join(":");
}
