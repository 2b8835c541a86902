// Whose turn it is where an endpoint knows who is asking, and how many requests it serves of each. Loaded with the guard.
import { withLimits } from "../../jsonrpc/limits.js";
import type { GoneListener, HttpCluster, HttpExchange } from "./exchange.js";
import { DEFAULT_RATE, type RateLimits } from "./http-limits.js";
import type { RateOptions } from "./http-site.js";

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
