// The calls a conversation is serving now: found by id for cancellation, bounded in number.
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { RequestId } from "../jsonrpc/message.js";
import type { Call, Cancellation } from "./call.js";
import type { Dispatcher } from "./dispatcher.js";

/** Up to so many seats a call is sought in all of them: that is quicker than keeping a table, which V8 makes anew all the time. */
const FEW_SEATS = 64;

/** Calls in service of one conversation. Ids keep their type: `1` and `"1"` are different requests. */
export class InFlight {
  readonly #calls = new CallSeats();
  /** The seat of each call, where there are many: a map of the calls themselves would keep them for too long. */
  #seats: Map<RequestId, number> | undefined;
  readonly #limit: number;
  readonly #release: (call: Call) => void;
  #idle: (() => void)[] | undefined;

  constructor(limit: number) {
    this.#limit = limit;
    this.#release = (call) => {
      this.#seats?.delete(call.id);
      this.#calls.delete(call);
      if (this.#calls.size === 0 && this.#idle !== undefined) this.#settleIdle(this.#idle);
    };
  }

  get size(): number {
    return this.#calls.size;
  }

  has(id: RequestId): boolean {
    return this.#find(id) !== undefined;
  }

  /** Serves a call and remembers it until it ends. Over the limit it answers an error that asks to retry. */
  serve(call: Call, dispatcher: Dispatcher): RpcError | undefined {
    if (this.#calls.size >= this.#limit) {
      const what = `Too many requests in flight (limit ${this.#limit}): wait for an answer and try again`;
      return new RpcError(ErrorCode.InternalError, what, { limit: this.#limit });
    }
    const seat = this.#calls.add(call);
    if (this.#seats !== undefined) this.#seats.set(call.id, seat);
    else if (seat >= FEW_SEATS) this.#seats = new Map(this.#calls.all().map(({ id, seat: at }) => [id, at as number]));
    dispatcher.serve(call, this.#release);
    return undefined;
  }

  /** Cancels a call by its id. Returns false when there is nothing to cancel. */
  cancel(id: unknown, cancellation: Cancellation, dispatcher: Dispatcher): boolean {
    const call = this.#find(id as RequestId);
    if (call === undefined || call.method === "initialize") return false;
    dispatcher.cancel(call, cancellation);
    return true;
  }

  cancelAll(reason: string, dispatcher: Dispatcher): void {
    for (const call of this.#calls.all()) dispatcher.cancel(call, { reason, answered: false });
  }

  /** Resolves when no call is in service. */
  whenIdle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#idle ??= []).push(resolve));
  }

  #find(id: RequestId): Call | undefined {
    if (this.#seats === undefined) return this.#calls.find(id);
    const seat = this.#seats.get(id);
    return seat === undefined ? undefined : this.#calls.at(seat);
  }

  #settleIdle(waiting: readonly (() => void)[]): void {
    this.#idle = undefined;
    for (const resolve of waiting) resolve();
  }
}

// Keeps the calls in service in seats that are taken again, so that nothing holds on to a call that has ended.

/** After the last free seat. */
const NONE = -1;

/**
 * The calls of one server or conversation; a call is in one of these at most.
 *
 * A `Set` would do, but for V8: it gives one that is filled and emptied all the time a new table every few calls and links
 * each table to the next. A table that has grown old keeps its calls and all tables after it until the next full
 * collection, so that every call is copied into old memory instead of going at once: a fifth of the cost of a busy server.
 */
export class CallSeats {
  /** A free seat holds the number of the next free one. One to begin with: most conversations never need a second. */
  readonly #seats: (Call | number)[] = [NONE];
  #free = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the number of its seat, by which it is found until it is deleted. */
  add(call: Call): number {
    const seat = this.#free === NONE ? this.#seats.length : this.#free;
    const next = this.#seats[seat];
    this.#free = typeof next === "number" ? next : NONE;
    this.#seats[seat] = call;
    this.#size += 1;
    call.seat = seat;
    return seat;
  }

  at(seat: number): Call | undefined {
    const call = this.#seats[seat];
    return typeof call === "number" ? undefined : call;
  }

  /** The call of this id, sought from seat to seat. */
  find(id: RequestId): Call | undefined {
    if (this.#size === 0) return undefined;
    for (let seat = 0; seat < this.#seats.length; seat++) {
      const call = this.at(seat);
      if (call?.id === id) return call;
    }
    return undefined;
  }

  /** Says whether the call was there. */
  delete(call: Call): boolean {
    const { seat } = call;
    if (seat === undefined) return false;
    this.#seats[seat] = this.#free;
    this.#free = seat;
    this.#size -= 1;
    call.seat = undefined;
    return true;
  }

  /** The calls that are there now, in no order. */
  all(): Call[] {
    return this.#seats.filter((call) => typeof call !== "number");
  }
}

// The time that running calls get at the end: what a busy machine does not let this process run does not count.

/** In so many steps the time passes. However late a timer is called, it counts as the one step it was meant to be. */
const STEPS = 10;

/**
 * Resolves after about `milliseconds` in which this process could run, or once `done` is resolved, whichever is sooner.
 * One timer would run out while the process waits for a processor, with the answers ready to be given.
 */
export async function withinGrace(done: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    let left = STEPS;
    const step = (): void => {
      if (left === 0) return resolve();
      left--;
      timer = setTimeout(step, milliseconds / STEPS);
    };
    step();
  });
  await Promise.race([done, late]);
  clearTimeout(timer);
}
