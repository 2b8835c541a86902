// Asks the process behind the page. Every request carries the key of this browser; without it nothing is answered.
import type { ApiFault } from "./api.js";

const KEY = "console-key";

/** A refusal, with what to do about it. */
export class RequestFault extends Error {
  readonly status: number;
  readonly advice: string;

  constructor(status: number, { error, advice }: ApiFault) {
    super(error);
    this.status = status;
    this.advice = advice;
  }
}

const AWAY: ApiFault = {
  error: "The console does not answer.",
  advice: "Start it again with mcp-secure-local console, and open the address it prints.",
};

export async function get<T>(
  path: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): Promise<T> {
  return (await (await ask(addressOf(path, query), { method: "GET" })).json()) as T;
}

export async function post<T>(path: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  return (await (await ask(path, { method: "POST", body: JSON.stringify(body), headers })).json()) as T;
}

/** Resolves to the answer, whose body has not been read. @throws RequestFault */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), "x-console-key": localStorage.getItem(KEY) ?? "" };
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new RequestFault(0, AWAY);
  }
  if (response.ok) return response;
  throw new RequestFault(response.status, (await response.json().catch(() => AWAY)) as ApiFault);
}

/** Uses the code of the address, once, and takes it out of the address and the history. */
export async function signIn(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return;
  history.replaceState(null, "", "/");
  const { key } = await post<{ key: string }>("/api/sign-in", { code });
  localStorage.setItem(KEY, key);
}

export function addressOf(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, `${value}`]],
  );
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}
