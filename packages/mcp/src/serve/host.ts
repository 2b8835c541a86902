// A host that runs everywhere: its servers are reached by URL, stand in this program, or have transports of their own.
import { checkOptions } from "../protocol/capabilities.js";
import type { MembersOf } from "../schema/schema.js";
import type { Dialer } from "../client/options.js";
import { HostCore } from "../host/host.js";
import { type AddOptions, HOST_MEMBERS, type HostOptions } from "../host/options.js";
import { type CommandTarget, type HostTarget, isCommand, type UrlTarget } from "../host/launch.js";
import type { ServerStatus } from "../host/managed-server.js";
import { DEFAULT_HTTP_CLIENT_LIMITS } from "../http/client/http-caller.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Transport } from "../jsonrpc/transport.js";
import type { LeanServer } from "../server/lean-server.js";
import { type HttpConnectOptions, httpDialer, isServer, linked } from "./connect.js";
import { memoryTransports } from "../transport/memory.js";

/** Options of a host that starts no programs. */
export interface WebHostOptions extends HostOptions {
  /** How requests over HTTP are made. */
  readonly http?: Omit<HttpConnectOptions, "headers" | "authorizer" | "fallback" | "requester">;
}

const WEB_HOST_MEMBERS: MembersOf<WebHostOptions> = {
  ...HOST_MEMBERS,
  http: { fetch: "function", limits: DEFAULT_HTTP_CLIENT_LIMITS },
};

/**
 * Holds many servers. Nothing is started or connected to that `authorize` does not allow, no tool is called that
 * `onCall` does not approve, and no server sees another or the conversation. Close it, or declare it `await using`.
 */
export class Host extends HostCore {
  constructor(options: WebHostOptions = {}) {
    checkOptions("new Host(options)", options, WEB_HOST_MEMBERS);
    super(options, (target) => webDialer(target, options.http ?? {}));
  }

  /** Adds a server; one of this program too. See `HostCore.add`. */
  override add(name: string, target: HostTarget | LeanServer, options?: AddOptions): Promise<ServerStatus> {
    return super.add(name, reachable(target), options);
  }
}

export function reachable(target: HostTarget | LeanServer): HostTarget {
  return isServer(target) ? () => memoryTransport(target) : target;
}

/** A transport to a server in this program. */
export function memoryTransport(server: LeanServer): Transport {
  return linked(server, memoryTransports());
}

export function webDialer(target: CommandTarget | UrlTarget, http: HttpConnectOptions): Dialer {
  if (isCommand(target)) {
    const text = `${target.command} cannot be started here: take Host from @secure-local/mcp/host/node, which starts commands`;
    throw new LocalError("INVALID_TARGET", text);
  }
  const { url, headers, authorizer, transport } = target;
  if (!URL.canParse(url) || !["http:", "https:"].includes(new URL(url).protocol))
    throw new LocalError("INVALID_TARGET", `${String(url)} is no URL of http or https`);
  const dialer = httpDialer(url, {
    ...http,
    ...(headers === undefined ? {} : { headers }),
    ...(authorizer === undefined ? {} : { authorizer }),
    fallback: transport !== "http",
  });
  const { fallback, ...rest } = dialer;
  return transport === "sse" && fallback !== undefined ? { ...rest, link: fallback } : dialer;
}
