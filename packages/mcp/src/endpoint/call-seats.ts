// Keeps the calls in service in seats that are taken again, so that nothing holds on to a call that has ended.
import type { Call } from "./call.js";

/**
 * The calls of one server or conversation; a call is in one of these at most.
 *
 * A `Set` would do, but for V8: it gives one that is filled and emptied all the time a new table every few calls and links
 * each table to the next. A table that has grown old keeps its calls and all tables after it until the next full
 * collection, so that every call is copied into old memory instead of going at once: a fifth of the cost of a busy server.
 */
export class CallSeats {
  readonly #seats: (Call | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#seats.length - this.#free.length;
  }

  /** Returns the number of its seat, by which it is found until it is deleted. */
  add(call: Call): number {
    const seat = this.#free.pop() ?? this.#seats.length;
    this.#seats[seat] = call;
    call.seat = seat;
    return seat;
  }

  at(seat: number): Call | undefined {
    return this.#seats[seat];
  }

  /** Says whether the call was there. */
  delete(call: Call): boolean {
    const { seat } = call;
    if (seat === undefined) return false;
    this.#seats[seat] = undefined;
    this.#free.push(seat);
    call.seat = undefined;
    return true;
  }

  /** The calls that are there now, in no order. */
  all(): Call[] {
    return this.#seats.filter((call) => call !== undefined);
  }
}
