// Serves requests outside of conversations: counted, bounded, cancelled with their connection where the era says so.
import { Call } from "../endpoint/call.js";
import { CallSeats } from "../endpoint/call-seats.js";
import type { Caller } from "../endpoint/caller.js";
import type { RequestMessage } from "../jsonrpc/message.js";
import { Peer, type PeerHandler } from "../jsonrpc/peer.js";
import { failureText } from "../jsonrpc/respond.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import type { ServerRole } from "../server/role.js";
import type { HttpLimits } from "../transport/http/http-limits.js";

/** Nobody can be asked outside a conversation, so nothing ever arrives here. */
const NOBODY: PeerHandler = {
  rules: () => ({ batches: false, unreadableId: "absent" }),
  request: () => undefined,
  notification: () => undefined,
};

const LISTEN = "subscriptions/listen";

export class HttpDesk {
  readonly #role: ServerRole;
  readonly #limits: HttpLimits;
  readonly #peer: Peer;
  readonly #calls = new CallSeats();
  #listens = 0;
  #idle: (() => void) | undefined;
  readonly #done = (call: Call): void => {
    if (!this.#calls.delete(call)) return;
    if (call.method === LISTEN) this.#listens--;
    if (this.#calls.size === 0) this.#idle?.();
  };

  constructor(role: ServerRole, limits: HttpLimits) {
    this.#role = role;
    this.#limits = limits;
    this.#peer = new Peer(NOBODY, role.core.limits);
  }

  /** Requests being served now. */
  get active(): number {
    return this.#calls.size;
  }

  /** Whether there are as many requests as there may be; listens are counted apart. */
  get busy(): boolean {
    return this.#calls.size - this.#listens >= this.#limits.inFlight;
  }

  /** Serves a request. Returns its call while it is still running. */
  serve(message: RequestMessage, caller: Caller, carrier: Carrier): Call | undefined {
    const listens = message.method === LISTEN;
    if (listens ? this.#listens >= this.#limits.listens : this.busy) {
      const error = busy();
      void carrier.write(failureText(message.id, error.toObject()), "response", error.code);
      return undefined;
    }
    // Subscriptions are counted by peer, and each listen request stands for itself here.
    const peer = listens ? new Peer(NOBODY, this.#role.core.limits) : this.#peer;
    const call = new Call(message, caller, carrier, peer);
    this.#role.dispatcher.serve(call, this.#done);
    if (call.ended) return undefined;
    this.#calls.add(call);
    if (listens) this.#listens++;
    return call;
  }

  /** Gives a request up: nobody waits for its answer. */
  cancel(call: Call): void {
    this.#role.dispatcher.cancel(call, { reason: "The client closed the connection", answered: false });
  }

  /** Ends listens with their answer, waits for the rest, and cancels what has not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    for (const call of this.#calls.all()) call.onDrain?.();
    if (this.#calls.size > 0) await this.#untilIdle(graceMs);
    for (const call of this.#calls.all()) this.cancel(call);
  }

  async #untilIdle(graceMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
      timer = setTimeout(resolve, graceMs);
    });
    clearTimeout(timer);
  }
}

/** The error for what has to come again later. */
export function busy(): RpcError {
  return new RpcError(ErrorCode.InternalError, "The server is busy: try again later");
}
