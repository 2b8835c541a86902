// Everything an endpoint's connections have in common: the front door, who is asking, which path leads where.
import type { Identity } from "../../jsonrpc/identity.js";
import { answerPreflight, corsHeaders } from "./cors.js";
import type { HeaderList, HttpExchange, HttpRequestHead } from "./exchange.js";
import type { FrontDoor } from "./front-door.js";
import type { RateGate } from "./rate-gate.js";
import type { Turns } from "./turns.js";
import { headerList, type HttpRefusal, refuse, turnAway } from "./replies.js";

/** Lets a request in as somebody of whom more is known than a name. */
export interface HttpAdmission {
  readonly identity: Identity;
  /** Headers of whatever reply the request gets, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Who is asking: any text that names one user, more than that, or undefined for nobody in particular. Or a refusal. */
export type Entrance = string | undefined | HttpAdmission | HttpRefusal;

/** Says who is asking before the body of a request is read. */
export type Authenticate = (request: HttpRequestHead) => Entrance | Promise<Entrance>;

/** Says whether a parsed body may be served; undefined: it may. */
export type Permits = (exchange: HttpExchange, value: unknown) => HttpRefusal | undefined;

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
}

/** Seconds after which a client may try again while the server is going down. */
const RETRY_AFTER: HeaderList = ["retry-after", "5"];

export class HttpSite {
  readonly #options: HttpSiteOptions;
  /** Set when the site is going down: nothing new is served, and sessions hear only what they wait for. */
  closing = false;

  constructor(options: HttpSiteOptions) {
    this.#options = options;
  }

  handle(exchange: HttpExchange): void {
    const { door, routes, cors, authenticate } = this.#options;
    const refusal = door.refusal(exchange);
    if (refusal !== undefined) return turnAway(exchange, refusal.status, refusal.text);
    if (this.closing && !mayFinish(exchange))
      return turnAway(exchange, 503, "The server is shutting down", RETRY_AFTER);
    if (cors) {
      const origin = exchange.header("origin");
      if (origin !== undefined) exchange.extra = corsHeaders(origin);
      if (exchange.method === "OPTIONS") return answerPreflight(exchange);
    }
    const route = routes.get(exchange.path);
    if (route === undefined) return turnAway(exchange, 404, "Nothing is served at this path");
    if (route.open === true) route.serve(exchange);
    else if (authenticate === undefined) this.#serve(exchange, route);
    else this.#identify(exchange, route, authenticate);
  }

  #identify(exchange: HttpExchange, route: HttpRoute, authenticate: Authenticate): void {
    try {
      const who = authenticate(exchange);
      if (!(who instanceof Promise)) return this.#enter(exchange, route, who);
      who.then((known) => this.#enter(exchange, route, known)).catch((error: unknown) => this.#failed(exchange, error));
    } catch (error) {
      this.#failed(exchange, error);
    }
  }

  #enter(exchange: HttpExchange, route: HttpRoute, who: Entrance): void {
    if (exchange.over) return;
    if (typeof who !== "object") {
      exchange.principal = who;
    } else if ("identity" in who) {
      exchange.principal = who.identity.principal;
      exchange.identity = who.identity;
      if (who.headers !== undefined) exchange.extra = [...(exchange.extra ?? []), ...headerList(who.headers)];
    } else {
      if (this.#heldBack(exchange)) return;
      return turnAway(exchange, who.status, who.text ?? "", headerList(who.headers));
    }
    this.#serve(exchange, route);
  }

  #serve(exchange: HttpExchange, route: HttpRoute): void {
    if (this.#heldBack(exchange)) return;
    // Only what is posted is work: the rest is streams without end, and what ends something.
    if (exchange.method === "POST") this.#options.turns.enter(exchange, (each) => route.serve(each));
    else route.serve(exchange);
  }

  /** Turns a request away whose sender sends too many; says whether it did. */
  #heldBack(exchange: HttpExchange): boolean {
    const seconds = this.#options.rate?.take(exchange) ?? 0;
    if (seconds > 0) turnAway(exchange, 429, "Too many requests: try again later", ["retry-after", String(seconds)]);
    return seconds > 0;
  }

  #failed(exchange: HttpExchange, error: unknown): void {
    this.#options.onError(error);
    refuse(exchange, 500, "Authentication failed for a reason the server's log knows", ["connection", "close"]);
  }
}

/** A session that is ending may still be told the answers to its questions; requests it refuses by itself. */
function mayFinish(exchange: HttpExchange): boolean {
  return exchange.method === "POST" && exchange.header("mcp-session-id") !== undefined;
}
