// Asking the client in the handshake era: a request on the wire, bounded in time, cancelled with its call.
import type { Call } from "../endpoint/call.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Peer } from "../jsonrpc/peer.js";
import { notificationText } from "../jsonrpc/respond.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { AskError } from "./ask-error.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** Options of one question. */
export interface AskOptions {
  /** Milliseconds to wait for the answer. Default: the server's limit `askTimeoutMs`. Handshake era only. */
  readonly timeoutMs?: number;
  /** Gives the question up. */
  readonly signal?: AbortSignal;
  /** Told of the client's progress on the question. Handshake era only. */
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

/** The one way handlers ask, whatever the era. */
export interface Asker {
  ask(method: string, params: object, options?: AskOptions): Promise<JsonObject>;
}

/** Progress listeners of the questions on the wire, found by their token. */
export class WireAsks {
  readonly #listeners = new WeakMap<Peer, Map<string, NonNullable<AskOptions["onProgress"]>>>();
  #tokens = 0;

  listen(peer: Peer, listener: NonNullable<AskOptions["onProgress"]>): string {
    const listeners = this.#listeners.get(peer) ?? new Map<string, NonNullable<AskOptions["onProgress"]>>();
    this.#listeners.set(peer, listeners);
    const token = `ask-${++this.#tokens}`;
    listeners.set(token, listener);
    return token;
  }

  forget(peer: Peer, token: string): void {
    this.#listeners.get(peer)?.delete(token);
  }

  /** Passes a `notifications/progress` of the client on to who asked. */
  progressed(peer: Peer, params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const listener = this.#listeners.get(peer)?.get(progressToken as string);
    if (listener === undefined || typeof progress !== "number") return;
    listener({
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    });
  }
}

/** Asks over the wire, on the carrier of the call that needs the answer. */
export class WireAsker implements Asker {
  readonly #call: Call;
  readonly #asks: WireAsks;
  readonly #timeoutMs: number;

  constructor(call: Call, asks: WireAsks, timeoutMs: number) {
    this.#call = call;
    this.#asks = asks;
    this.#timeoutMs = timeoutMs;
  }

  async ask(method: string, params: object, options: AskOptions = {}): Promise<JsonObject> {
    const { carrier, peer, caller, questionMeta, signal: cancelled } = this.#call;
    if (carrier.unheard === true) {
      const what = `The client cannot be asked ${method}: it takes only JSON for an answer and has no stream open`;
      throw new AskError("UNREACHABLE", what);
    }
    const token = options.onProgress === undefined ? undefined : this.#asks.listen(peer, options.onProgress);
    const meta = token === undefined ? questionMeta : { ...questionMeta, progressToken: token };
    const named = meta === undefined ? params : { ...params, _meta: meta };
    try {
      return await peer.request(
        carrier,
        { method, params: caller.codec.serverRequest(method, named) },
        {
          timeoutMs: options.timeoutMs ?? this.#timeoutMs,
          signal: options.signal === undefined ? cancelled : AbortSignal.any([cancelled, options.signal]),
          onAbandon: (requestId, reason) => {
            void carrier.write(notificationText("notifications/cancelled", { requestId, reason }), "notification");
          },
        },
      );
    } catch (error) {
      throw asAskError(error, method);
    } finally {
      if (token !== undefined) this.#asks.forget(peer, token);
    }
  }
}

/** A refusal of the client is not ours to pass on as our own error. */
function asAskError(error: unknown, method: string): unknown {
  if (error instanceof RpcError) {
    return new AskError("REFUSED", `The client refused ${method}: ${peerWords(error.message)}`, { cause: error });
  }
  if (error instanceof LocalError && error.code === "TIMEOUT") {
    return new AskError("TIMEOUT", `The client did not answer ${method} in time`, { cause: error });
  }
  return error;
}
