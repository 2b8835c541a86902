// The mock without connections: fetches of its origins are answered in this process, all others go their way.
import { onTestFinished } from "vitest";
import { type Listen, type Mock, mockAuthorization, type MockOptions, seenOf } from "./mock-authorization.js";

type Respond = (url: URL, init: RequestInit) => Response;

const origins = new Map<string, Respond>();
let ports = 0;

/** For what is said and decided. That the same goes over the wire is shown by the tests of the code flow. */
export function directAuthorization(options: MockOptions = {}): Promise<Mock> {
  return mockAuthorization(options, direct);
}

const direct: Listen = (answer, name) => {
  const origin = `http://127.0.0.1:${10_000 + (ports++ % 50_000)}`;
  replaceFetch();
  origins.set(origin, (url, init) => {
    const { method = "GET", redirect, body } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    const seen = seenOf(name, { method, url: url.href, headers, text: typeof body === "string" ? body : "" });
    if (body !== undefined && body !== null && typeof body !== "string") throw new TypeError("The body is no text");
    const { status, headers: given, text } = answer(seen);
    if (status >= 300 && status < 400 && redirect !== "manual") throw new TypeError("Redirects are not followed here");
    return new Response(text, { status, headers: given });
  });
  onTestFinished(() => void origins.delete(origin));
  return Promise.resolve(origin);
};

function replaceFetch(): void {
  if (origins.size > 0) return;
  const { fetch } = globalThis;
  globalThis.fetch = async (target, init = {}) => {
    const url = new URL(target instanceof Request ? target.url : target);
    const respond = origins.get(url.origin);
    return respond === undefined ? fetch(target, init) : respond(url, init);
  };
  onTestFinished(() => void (globalThis.fetch = fetch));
}
