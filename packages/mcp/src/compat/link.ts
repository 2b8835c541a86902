// What a server written for another SDK says to its client between requests: over the session that is open.
import type { Call } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type JsonObject, notificationText } from "../jsonrpc/message.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { requireCapability } from "../server/ask.js";
import { Context } from "../server/context.js";
import { isOwnMethod } from "../server/live-session.js";
import { Session } from "../server/session.js";

/** Options of a question, as the SDKs name them. */
export interface RequestOptions {
  /** Milliseconds. Default: the limit `askTimeoutMs` of our server, five minutes. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
  readonly [other: string]: unknown;
}

/** Questions our core knows how to ask in every revision. */
const QUESTIONS: ReadonlySet<string> = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/** Asks within a request: the way its revision has it. */
export function askWithin(
  context: Context,
  method: string,
  params: object,
  options: RequestOptions = {},
): Promise<JsonObject> {
  const { timeout, signal, onprogress } = options;
  const asking = {
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(signal === undefined ? {} : { signal }),
    ...(onprogress === undefined ? {} : { onProgress: onprogress }),
  };
  if (QUESTIONS.has(method)) return Context.ask(context, method, params, asking);
  const call = Context.callOf(context);
  return send(call, call.carrier, { method, params }, { ...options, timeout: timeout ?? DEFAULT_TIMEOUT_MS });
}

/** What the SDKs wait for an answer. */
const DEFAULT_TIMEOUT_MS = 60_000;

/** Sends a notification that belongs to a request. */
export async function notifyWithin(context: Context, method: string, params: object = {}): Promise<void> {
  const call = Context.callOf(context);
  if (call.ended || call.cancellation !== undefined) return;
  const { codec } = call.caller;
  const projected = isOwnMethod(method) ? params : codec.notification(method, params);
  if (projected !== undefined) await call.carrier.write(notificationText(method, projected), "notification");
}

/** The sessions of the handshake era that are open; a stateless client has none. */
export class OpenSessions {
  readonly #opened = new Set<Call>();
  #latest: Call | undefined;

  /** Remembers who sent a request. */
  seen(call: Call): void {
    this.#latest = call;
    if (call.method === "initialize") this.#opened.add(call);
  }

  /** Who sent the latest `initialize`, or the latest request where there was none. */
  get latest(): Call | undefined {
    return this.#live().at(-1) ?? this.#latest;
  }

  clear(): void {
    this.#opened.clear();
    this.#latest = undefined;
  }

  /** Asks outside of any request. Rejects with CANNOT_ASK where no session is open. */
  ask(method: string, params: object, options: RequestOptions = {}): Promise<JsonObject> {
    const call = this.#live().at(-1);
    if (call === undefined) {
      const what = `${method}: a client can be asked between requests only in a session, and none is open`;
      return Promise.reject(new LocalError("CANNOT_ASK", what));
    }
    if (QUESTIONS.has(method)) {
      requireCapability(call, method, params);
      return send(call, standing(call), { method, params: call.caller.codec.serverRequest(method, params) }, options);
    }
    return send(call, standing(call), { method, params }, options);
  }

  /** Tells every session. */
  notify(method: string, params: object = {}): void {
    for (const call of this.#live()) {
      const carrier = standing(call);
      const projected = isOwnMethod(method) ? params : call.caller.codec.notification(method, params);
      if (projected !== undefined) void carrier.write(notificationText(method, projected), "notification");
    }
  }

  #live(): Call[] {
    for (const call of this.#opened) if (standing(call).closed) this.#opened.delete(call);
    return [...this.#opened];
  }
}

/** Where what belongs to no request goes. */
function standing({ caller, carrier }: Call): Carrier {
  return (caller instanceof Session ? caller.subscription?.carrier : undefined) ?? carrier;
}

function send(
  { connection }: Call,
  carrier: Carrier,
  { method, params }: { readonly method: string; readonly params: object },
  { timeout: timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RequestOptions,
): Promise<JsonObject> {
  return connection.ask(connection.newId(), params, { method, timeoutMs, signal, carrier });
}
