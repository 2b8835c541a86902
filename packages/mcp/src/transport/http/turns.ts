// Gives callers their turn: who has many requests in service waits for those, and everybody else does not.
import type { GoneListener, HttpExchange } from "./exchange.js";

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
