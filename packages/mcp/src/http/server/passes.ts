// What a request is let in by, as something that can be taken back: whatever goes on for a request asks its pass whether it still may.
import { claimsStateless, namesStateless } from "../../era/select.js";
import { isJsonObject, type NotificationMessage } from "../../jsonrpc/message.js";
import type { HeaderList, HttpExchange } from "./exchange.js";
import type { Whose } from "./http-session.js";
import { type Identity, identityFault } from "../../jsonrpc/transport.js";
import { nearest, shownValue } from "../../schema/schema.js";

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
  text: "The login of this request was taken back or exchanged while it came: log in, and send it again",
  headers: CHALLENGE,
};
const CLOSING: NoPass = {
  status: 503,
  text: "The server is shutting down and has not served this: send it again in a few seconds",
  headers: RETRY_AFTER,
};

/** One for all requests of a principal, until it is taken back. */
export class Pass {
  readonly #passes: Passes;
  revoked = false;

  constructor(passes: Passes) {
    this.#passes = passes;
  }

  /** What is new is to be handed on. */
  get handsOn(): boolean {
    return this.#passes.handsOn;
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
  /** What is new is handed on to other processes. */
  handsOn = false;
  /** Held by what came in by them, so that one nobody holds any more is nobody's to take back. */
  readonly #current = new Map<string | undefined, WeakRef<Pass>>();
  readonly #entering = new Set<Entering>();
  #sweepAt = MOST_REMEMBERED;

  /** Why nothing new is served, while the endpoint is going down. */
  closed(exchange: HttpExchange): NoPass | undefined {
    if (!this.closing || mayFinish(exchange)) return undefined;
    return this.handsOn && exchange.method === "POST" && exchange.stays !== true ? undefined : CLOSING;
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

// Who is asking, as a program of somebody's own says it.

/** The members of an identity: one that is misspelt would take away what somebody may, or give it. */
const IDENTITY_NAMES: readonly (keyof Identity)[] = [
  "principal",
  "scopes",
  "clientId",
  "program",
  "claims",
  "expiresAt",
];

/** What is wrong with an identity that has to be an object, as the end of a sentence. Members of nobody's are the program's business. */
export function entranceFault(identity: unknown): string | undefined {
  if (typeof identity !== "object" || identity === null)
    return `the identity ${shownValue(identity)}: give an object, { principal, scopes: ["read", "write"] }`;
  const fault = identityFault(identity);
  if (fault !== undefined) return fault;
  for (const name in identity) {
    const meant = (IDENTITY_NAMES as readonly string[]).includes(name) ? undefined : nearest(name, IDENTITY_NAMES);
    if (meant !== undefined) return `an identity with the member "${name}": did you mean "${meant}"?`;
  }
  return undefined;
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

// What a message says of how, and where, it is to be served.

/** Whether a parsed message, batch or fault belongs to the stateless era: the header decides, then the body. */
export function isStateless(value: unknown, version: string | undefined): boolean {
  if (version !== undefined && namesStateless(version.trim())) return true;
  return Array.isArray(value) ? value.some(claims) : claims(value);
}

function claims(value: unknown): boolean {
  return (
    isJsonObject(value) && isJsonObject(value["params"]) && claimsStateless(value as unknown as NotificationMessage)
  );
}

/** The process that asked what a message answers, where its id says so. */
export function answeredNode(value: unknown): string | undefined {
  if (!isJsonObject(value) || value["method"] !== undefined) return undefined;
  const { id } = value;
  const dot = typeof id === "string" ? id.indexOf(".") : -1;
  return dot > 0 ? (id as string).slice(0, dot) : undefined;
}
