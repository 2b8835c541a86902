// Keeps the calls in service in seats that are taken again, so that nothing holds on to a call that has ended.
import type { RequestId } from "../jsonrpc/message.js";
import type { Call } from "./call.js";

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
