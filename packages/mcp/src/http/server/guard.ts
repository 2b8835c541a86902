// Who is asking, and what they may: for endpoints that ask, count their callers, or answer web pages. At hand on Node; elsewhere it is
// loaded for the first request, which nothing is served before.
import {
  type AuthOutcome,
  checkVerdict,
  entranceFault,
  identityFault,
  Misjudged,
  type Refusal,
} from "../../auth/authenticator.js";
import { authRequest, gateRefusal, type RequestHead } from "../../auth/resource-metadata.js";
import { scopeRules } from "../../auth/scopes.js";
import { isJsonObject, isThenable, type JsonObject } from "../../jsonrpc/message.js";
import type { Identity } from "../../jsonrpc/transport.js";
import { shownValue } from "../../schema/schema.js";
import { CALL_TOOL } from "../../protocol/features/tools.js";
import { type ServerCore, textIn } from "../../server/core.js";
import type { GoneListener, HeaderList, HttpCluster, HttpExchange } from "./exchange.js";
import type { RateLimits } from "./http-limits.js";
import {
  anonymous,
  type Authenticate,
  CHALLENGE,
  type Entering,
  type Entrance,
  type HttpAdmission,
  type HttpAuthorization,
  type HttpPage,
  type HttpPageReply,
  type HttpRoute,
  type HttpSite,
  type HttpSiteOptions,
  type RateOptions,
  type RefusedRequest,
  turnedAway,
} from "./http-site.js";
import { headerList, type HttpRefusal, refuse, TEXTLESS, turnAway } from "./reply.js";

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

/** How many requests of one sender are served: all limits, and who counts as one. */
export type Rate = RateLimits & { readonly address: RateOptions["address"] | undefined };

/** What the guard of an endpoint goes by. */
export interface GuardOptions {
  readonly site: HttpSite;
  readonly core: ServerCore;
  readonly cors: boolean;
  readonly authenticate: Authenticate | undefined;
  readonly authorization: HttpAuthorization | undefined;
  readonly rate: Rate | undefined;
  /** Requests of one principal in service at once. */
  readonly turns: number;
  readonly cluster: HttpCluster | undefined;
  /** Told of an exception of `authenticate`. */
  readonly onError: (error: unknown) => void;
  readonly failed: HttpSiteOptions["failed"];
}

/** Stands between the front door and what is served. */
export class Guard {
  readonly #options: GuardOptions & Pick<HttpSite, "passes">;
  readonly #authenticate: Authenticate | undefined;
  readonly #turns: Turns;
  readonly #rate: RateGate | undefined;

  constructor(options: GuardOptions) {
    const { authorization, authenticate, core, rate, turns, cluster, site } = options;
    this.#options = { ...options, passes: site.passes };
    this.#authenticate = authorization === undefined ? authenticate : admitting(authorization, core);
    this.#turns = new Turns(turns);
    this.#rate = rate && new RateGate(rate, cluster);
  }

  /** Takes a request that came through the front door. */
  receive(exchange: HttpExchange): void {
    const { cors, site } = this.#options;
    if (cors) {
      const origin = exchange.header("origin");
      if (origin !== undefined) exchange.extra = corsHeaders(origin);
      if (exchange.method === "OPTIONS") return answerPreflight(exchange);
    }
    const route = site.routeOf(exchange);
    if (route === undefined) return;
    if (route.open === true) route.serve(exchange);
    else if (this.#authenticate === undefined) this.#admit(exchange, route);
    else this.#identify(exchange, route, this.#authenticate);
  }

  #identify(exchange: HttpExchange, route: HttpRoute, authenticate: Authenticate): void {
    try {
      const who = authenticate(exchange);
      if (!isThenable(who)) return this.#enter(exchange, route, { who });
      const entering = this.#options.passes.enter();
      Promise.resolve(who)
        .then((known) => this.#enter(exchange, route, { who: known, entering }))
        .catch((error: unknown) => this.#failed(exchange, error))
        .finally(() => this.#options.passes.leave(entering));
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
    exchange.pass = this.#options.passes.give(exchange.principal, entering);
    if (!turnedAway(exchange)) this.#count(exchange, route);
  }

  #count(exchange: HttpExchange, route: HttpRoute): void {
    if (this.#rate === undefined) this.#begin(exchange, route);
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
    if (exchange.method === "POST") this.#turns.enter(exchange, serve);
    else serve(exchange);
  }

  /** Goes on with a request, or turns it away where its sender sends too many. */
  #unlessHeldBack(exchange: HttpExchange, goOn: () => void): void {
    const held = (seconds: number): void => {
      if (exchange.over) return;
      if (seconds <= 0) return goOn();
      turnAway(exchange, 429, "Too many requests: try again later", ["retry-after", String(seconds)]);
    };
    const counted = this.#rate?.take(exchange) ?? 0;
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

// What a reply of somebody's own may be.

/** Between the line that a final reply may have: what is below says that another one follows. */
const STATUS_FROM = 200;
const STATUS_TO = 599;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/** What would end the header, or is no character of one. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const NO_HEADER_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** What is wrong with a reply that a program of somebody's own gave, as the end of a sentence; undefined where it can be sent. */
export function replyFault(given: {
  readonly status?: unknown;
  readonly headers?: unknown;
  readonly text?: unknown;
}): string | undefined {
  const { status, headers, text } = given;
  if (!Number.isInteger(status) || Number(status) < STATUS_FROM || Number(status) > STATUS_TO)
    return `"status" is ${shownValue(status)}: write a number from ${STATUS_FROM} to ${STATUS_TO}`;
  if (text !== undefined && text !== null && typeof text !== "string")
    return `"text" is ${shownValue(text)}: write a plain object with a text`;
  if (typeof text === "string" && text !== "" && TEXTLESS.has(status as number))
    return `"text" has nowhere to go in a reply with status ${Number(status)}: leave it out`;
  return headersFault(headers);
}

/** The same of its headers. */
export function headersFault(headers: unknown): string | undefined {
  if (headers === undefined) return undefined;
  const plain = typeof headers === "object" && headers !== null && !(Symbol.iterator in headers);
  if (!plain) return `"headers" is ${shownValue(headers)}: write a plain object`;
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) {
    if (!HEADER_NAME.test(name)) return `"headers" has the name ${JSON.stringify(name)}, which is none of a header`;
    const odd = [value]
      .flat()
      .some((each) => !["string", "number"].includes(typeof each) || NO_HEADER_VALUE.test(String(each)));
    if (odd) return `the header "${name}" is not one line of Latin letters`;
  }
  return undefined;
}

// Joins authorization to the endpoint: tokens at the door, scopes once a message is read, and word of each refusal.

/** Nobody of whom scopes are known. */
const NOBODY: Identity = { principal: "", scopes: [] };

/** Whether rules refuse. Throws a TypeError where those of somebody's own say neither yes nor no. */
function isRefusal(said: unknown): said is Refusal {
  if (said === undefined) return false;
  const { status } = Object(said) as { readonly status?: unknown };
  if (typeof status === "number") return true;
  throw new TypeError(`"scopes" of "authorization" returned ${shownValue(said)}: check gives undefined or a refusal`);
}

/** Throws a TypeError for what nobody could send. */
function sendable(refusal: Refusal): HttpRefusal {
  const told = gateRefusal(refusal);
  const fault = headersFault(refusal.headers) ?? replyFault(told);
  if (fault === undefined) return told;
  throw new TypeError(`"authorization" refused with what cannot be sent: ${fault}`);
}

/** Says whether a parsed body may be served; undefined: it may. */
export type Judge = (exchange: HttpExchange, value: unknown) => HttpRefusal | undefined;

/** Makes what judges by scopes: those of a table, and those that things themselves ask for. */
export function judgeOf(authorization: HttpAuthorization | undefined, core: ServerCore): Judge {
  const { scopes: rules = scopeRules({}), onRefused } = authorization ?? {};
  const judge = (exchange: HttpExchange, message: unknown): HttpRefusal | undefined => {
    // What is no request or notification needs no scope: it is refused or matched to a question, and does nothing else.
    if (!isJsonObject(message)) return undefined;
    const { method, params } = message;
    if (typeof method !== "string") return undefined;
    const { identity, path } = exchange;
    const more = isJsonObject(params) ? core.scopesFor(method, params) : undefined;
    if (more === undefined && identity === undefined) return undefined;
    const tool = toolOf(message);
    const refusal = rules.check(identity ?? NOBODY, method, tool, more);
    if (!isRefusal(refusal)) return undefined;
    return refusedBy(core, onRefused)(refusal, { path, principal: exchange.principal, method, tool });
  };
  return (exchange, value) => {
    if (!Array.isArray(value)) return judge(exchange, value);
    for (const message of value) {
      const refusal = judge(exchange, message);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
}

/** Tells of a refusal, and makes of it what is sent. */
function refusedBy(core: ServerCore, onRefused: HttpAuthorization["onRefused"]) {
  return (refusal: Refusal, request: RefusedRequest): HttpRefusal => {
    if (onRefused !== undefined) core.guarded("onRefused", () => onRefused(refusal, request));
    return sendable(refusal);
  };
}

/** Says who is asking, by the tokens of an authenticator. */
function admitting({ authenticator, onRefused }: HttpAuthorization, core: ServerCore): Authenticate {
  const refused = refusedBy(core, onRefused);
  const entrance = (head: RequestHead, outcome: AuthOutcome): HttpAdmission | HttpRefusal => {
    checkVerdict("authenticate", outcome);
    return outcome.ok
      ? outcome
      : refused(outcome, { path: head.path, principal: undefined, method: undefined, tool: undefined });
  };
  return (head) => {
    const outcome = authenticator.authenticate(authRequest(head));
    return isThenable(outcome)
      ? Promise.resolve(outcome).then((later) => entrance(head, later))
      : entrance(head, outcome);
  };
}

function toolOf({ method, params }: JsonObject): string | undefined {
  const name = method === CALL_TOOL.name && isJsonObject(params) ? textIn(params, "name") : undefined;
  return name === "" ? undefined : name;
}

// Documents beside the endpoint.

const NOT_ALLOWED: HttpPageReply = { status: 405, headers: { allow: "GET, HEAD" } };

/** Answers a request for a page. `failed` answers one whose page throws or rejects. */
export function servePage(exchange: HttpExchange, page: HttpPage, failed: HttpSiteOptions["failed"]): void {
  const { method } = exchange;
  const reply = method === "GET" || method === "HEAD" ? page.respond(exchange) : NOT_ALLOWED;
  if (!isThenable(reply)) return send(exchange, reply);
  Promise.resolve(reply)
    .then((late) => send(exchange, late))
    .catch((error: unknown) => failed(exchange, error));
}

function send(exchange: HttpExchange, { status, headers, body }: HttpPageReply): void {
  const fault = replyFault({ status, headers, text: body });
  if (fault !== undefined)
    throw new TypeError(`A page of "pages" gave a reply that cannot be sent: ${fault.replace('"text"', '"body"')}`);
  exchange.reply(status, headerList(headers), exchange.method === "HEAD" ? "" : body);
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

interface Bucket {
  tokens: number;
  at: number;
}

/** Known senders are counted by principal wherever they are, unknown and refused ones by address. */
export class RateGate {
  readonly #limits: RateLimits;
  readonly #address: Rate["address"];
  /** The ones heard last come last. */
  readonly #buckets = new Map<string, Bucket>();
  /** Whoever was heard last: its bucket is the last one already, and most requests come from the one before. */
  #last: string | undefined;
  readonly #cluster: HttpCluster | undefined;

  /** `cluster`: counts for all processes. */
  constructor({ address, ...limits }: Rate, cluster?: HttpCluster) {
    this.#cluster = cluster;
    this.#limits = limits;
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
