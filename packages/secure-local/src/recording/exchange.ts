// Reads a recording as exchanges: each request of the client with all that the server did about it.
import { type Entry, type Message, messagesOf } from "./recording.js";

export interface Exchange {
  readonly request: Message;
  /** What the server sent until and with its answer, in order; the answer is the last, where there was one. */
  readonly steps: Message[];
}

/** In the order of the requests. What the server said outside of any request is with the latest one. */
export function exchangesOf(entries: readonly Entry[]): Exchange[] {
  const exchanges: Exchange[] = [];
  const open = new Map<unknown, Exchange>();
  for (const entry of entries) {
    for (const message of messagesOf(entry)) {
      if (entry.from === "client") {
        if (!isRequest(message)) continue;
        const exchange = { request: message, steps: [] };
        exchanges.push(exchange);
        open.set(message["id"], exchange);
      } else placeOf(message, open, exchanges)?.steps.push(message);
    }
  }
  return exchanges;
}

export function isRequest({ id, method }: Message): boolean {
  return typeof method === "string" && id !== undefined;
}

export function isResponse({ id, method }: Message): boolean {
  return method === undefined && id !== undefined;
}

/** What makes two requests the same: method and params, whatever their `_meta` and the order of members. */
export function keyOf({ method, params }: Message): string {
  // Whoever says hello is answered: the recorded client need not be the one that replays.
  if (method === "initialize") return "initialize";
  const { _meta, ...rest } = (params ?? {}) as Message;
  return `${String(method)} ${canonical(rest)}`;
}

/** JSON with the members of each object in order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function placeOf(message: Message, open: Map<unknown, Exchange>, all: readonly Exchange[]): Exchange | undefined {
  if (isResponse(message)) {
    const exchange = open.get(message["id"]);
    open.delete(message["id"]);
    return exchange;
  }
  const token = (message["params"] as Message | undefined)?.["progressToken"];
  const reported = [...open.values()].find(({ request }) => token !== undefined && tokenOf(request) === token);
  return reported ?? [...open.values()].at(-1) ?? all.at(-1);
}

/** The token a request asks for progress under. */
export function tokenOf({ params }: Message): unknown {
  return ((params as Message | undefined)?.["_meta"] as Message | undefined)?.["progressToken"];
}
