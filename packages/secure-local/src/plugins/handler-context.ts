// Makes what a handler of a module plugin is handed; its text is part of the program that runs inside the sandbox.
import type { PluginContext, PluginRequest, PluginResponse, PluginRunResult } from "./define-plugin.js";

/** How the host outside is asked. */
export interface Asking {
  readonly send: (message: object) => void;
  /** What wakes who asked, by the number of the ask. */
  readonly asks: Map<unknown, (answer: Record<string, unknown>) => void>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Uses nothing from around it. @param call The number of the call it is for; when that is cancelled, so is what it asked for. */
export function handlerContext(call: unknown, signal: AbortSignal, { send, asks, secrets }: Asking): PluginContext {
  const ask = async (what: object): Promise<unknown> => {
    signal.throwIfAborted();
    const { randomUUID } = process.getBuiltinModule("node:crypto");
    const id = randomUUID();
    const answer = new Promise<Record<string, unknown>>((resolve) => asks.set(id, resolve));
    send({ ask: id, for: call, ...what });
    const { error, value } = await answer;
    asks.delete(id);
    if (typeof error === "string") throw new Error(error);
    return value;
  };
  const fetch = async (url: string | URL, request: PluginRequest = {}): Promise<PluginResponse> => {
    type Told = Pick<PluginResponse, "status" | "url" | "headers"> & {
      readonly text?: string;
      readonly base64?: string;
    };
    const told = (await ask({ fetch: { ...request, url: String(url) } })) as Told;
    const { status, headers } = told;
    const bytes = (): Uint8Array =>
      Buffer.from(told.text ?? told.base64 ?? "", told.text === undefined ? "base64" : "utf8");
    const text = (): string => told.text ?? Buffer.from(bytes()).toString("utf8");
    const ok = status >= 200 && status < 300;
    return { status, ok, url: told.url, headers, bytes, text, json: () => JSON.parse(text()) as unknown };
  };
  return {
    signal,
    secrets,
    progress: (done, total, message) => send({ id: call, progress: { done, total, message } }),
    fetch,
    run: async (command, args = []) => (await ask({ run: { command, args } })) as PluginRunResult,
    storage: {
      get: (key) => ask({ storage: { get: key } }),
      set: async (key, value) => void (await ask({ storage: { set: key, value } })),
      delete: async (key) => (await ask({ storage: { delete: key } })) === true,
      keys: async () => (await ask({ storage: { keys: true } })) as readonly string[],
    },
  };
}
