// What a server of a host is reached by.
import type { Dialer } from "../client/options.js";
import type { HttpAuthorizer, Transport } from "../jsonrpc/transport.js";

/** A program to start, whose standard streams are the server. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables of the child; beside them it has very little of ours. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** More names to take over from our environment, or true for all of it. */
  readonly inheritEnv?: boolean | readonly string[] | undefined;
  readonly cwd?: string | undefined;
}

/** A server elsewhere. */
export interface UrlTarget {
  readonly url: string | URL;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gets tokens: see `/auth/client`. */
  readonly authorizer?: HttpAuthorizer | undefined;
  /** `http` speaks Streamable HTTP only, `sse` HTTP+SSE only. Default: whichever the server has. */
  readonly transport?: "http" | "sse" | undefined;
}

/** A program, a URL, or a link of one's own: a function that makes it, or a dialer. */
export type HostTarget = CommandTarget | UrlTarget | string | URL | Dialer | (() => Transport);

export function isCommand(target: HostTarget): target is CommandTarget {
  return typeof target === "object" && "command" in target;
}

/** The target as a URL with what belongs to it; undefined for the others. */
export function urlTarget(target: HostTarget): UrlTarget | undefined {
  if (typeof target === "string" || target instanceof URL) return { url: target };
  return typeof target === "object" && "url" in target ? target : undefined;
}

/** A copy that nobody else can change; links of one's own stay what they are. */
export function snapshot(target: HostTarget): HostTarget {
  if (isCommand(target)) {
    const { command, args = [], env, inheritEnv, cwd } = target;
    const inherited = typeof inheritEnv === "object" ? [...inheritEnv] : inheritEnv;
    return { command, args: [...args], env: { ...env }, inheritEnv: inherited, cwd };
  }
  const found = urlTarget(target);
  return found === undefined ? target : { ...found, url: String(found.url), headers: { ...found.headers } };
}
