// The calls a conversation is serving now: found by id for cancellation, bounded in number.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { RequestId } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { Call, Cancellation } from "./call.js";
import { CallSeats } from "./call-seats.js";
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
