// Streamable HTTP (basic/transports): which era a message belongs to, and which process has what it names.
import type { Later } from "../../endpoint/call.js";
import type { ServerCore } from "../../server/core.js";
import type { BodyFault, BodyReceiver, HttpExchange } from "./exchange.js";
import {
  begunTooLate,
  type FrontDoor,
  type HttpRoute,
  isPermitted,
  ofStatelessEra,
  type Permits,
  readMessage,
  serveLater,
  turnedAway,
} from "./http-site.js";
import { failRequest, refuseBody, turnAway } from "./reply.js";
import type { SessionlessRequests } from "./sessionless-requests.js";

interface StreamableHttpOptions {
  readonly core: ServerCore;
  readonly door: FrontDoor;
  readonly permits: Permits | undefined;
  /** Serves the stateless era. */
  readonly sessionless: SessionlessRequests;
  /** Serves the handshake era. */
  readonly handshake: Later<Sessions>;
  /** Whether there are sessions. */
  readonly sessions: boolean;
  /** Has a message served by whichever process of the server that is for; undefined where there is one. */
  readonly elsewhere?: ((read: Read) => void) | undefined;
}

/** A message that was read. */
export interface Read {
  readonly exchange: HttpExchange;
  readonly value: unknown;
  readonly text: string;
  readonly sessions: Sessions;
  /** Serves it in this process. */
  readonly here: () => void;
}

/** What serves the handshake era, and knows in which process its sessions are. */
interface Sessions {
  readonly guests: { said(exchange: HttpExchange, session: string, value: unknown): void } | undefined;
  serve(exchange: HttpExchange): void;
  take(exchange: HttpExchange, value: unknown): void;
  handedOn(read: Read): void;
  handsOn(exchange: HttpExchange, value: unknown): boolean;
  holdsBack(exchange: HttpExchange, value: unknown, goOn: () => void): boolean;
  elsewhere(exchange: HttpExchange): string | undefined;
  serveGuest(read: Read, id: string, there: () => void): void;
}

const ALL_METHODS = ["allow", "GET, POST, DELETE"];
const POST_ONLY = ["allow", "POST"];

export class StreamableHttp implements HttpRoute, BodyReceiver {
  readonly #options: StreamableHttpOptions;
  readonly #permission: Parameters<typeof isPermitted>[0];

  constructor(options: StreamableHttpOptions) {
    this.#options = options;
    this.#permission = { permits: options.permits, again: this.#take };
  }

  serve(exchange: HttpExchange): void {
    switch (exchange.method) {
      case "POST":
        return this.#post(exchange);
      case "GET":
      case "DELETE":
        return serveLater(this.#options.handshake, exchange, (handshake) => handshake.serve(exchange));
      default:
        return turnAway(exchange, 405, "Use POST", this.#options.sessions ? ALL_METHODS : POST_ONLY);
    }
  }

  body(exchange: HttpExchange, text: string): void {
    try {
      this.#read(exchange, text);
    } catch (error) {
      failRequest(exchange, error, this.#options.core.report);
    }
  }

  #read(exchange: HttpExchange, text: string): void {
    const { core, elsewhere, handshake } = this.#options;
    const value = readMessage(exchange, text, core);
    if (value === undefined) return;
    if (elsewhere === undefined) return this.#take(exchange, value);
    const here = (): void => this.#take(exchange, value);
    serveLater(handshake, exchange, (sessions) => elsewhere({ exchange, value, text, sessions, here }));
  }

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    refuseBody(exchange, fault, this.#options.core);
  }

  readonly #take = (exchange: HttpExchange, value: unknown): void => {
    if (turnedAway(exchange) || begunTooLate(exchange, value)) return;
    const { sessionless, handshake } = this.#options;
    if (!isPermitted(this.#permission, exchange, value)) return;
    if (ofStatelessEra(exchange, value)) return sessionless.serve(value, exchange);
    // No function for each request where there need be none: V8 keeps what it holds until the next full collection.
    if (handshake.there === undefined) serveLater(handshake, exchange, (sessions) => sessions.take(exchange, value));
    else handshake.there.take(exchange, value);
  };

  #post(exchange: HttpExchange): void {
    const { limits } = this.#options.core;
    const refusal = this.#options.door.bodyRefusal(exchange, limits);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limits.messageBytes, this);
  }
}
