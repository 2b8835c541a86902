// Connects a client to a server: over HTTP by URL, in memory, or over a transport of one's own. Runs everywhere.
import { Client } from "../client/client.js";
import { type CallCheck, CLIENT_MEMBERS, type ClientOptions, type Dialer } from "../client/options.js";
import type { KnownMembers, MembersOf } from "../schema/schema.js";
import type { HttpAuthorizer, Identity, Transport } from "../jsonrpc/transport.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { LocalError, SERVE } from "../jsonrpc/errors.js";
import type { LeanServer } from "../server/lean-server.js";
import type { Served } from "../server/conversation.js";
import { type FetchLike, fetchRequester } from "../http/client/fetch-requester.js";
import {
  DEFAULT_HTTP_CLIENT_LIMITS,
  type HttpClientLimits,
  type HttpRequester,
  shownUrl,
} from "../http/client/http-caller.js";
import { sseTransport } from "../http/client/sse-transport.js";
import { type HttpTransportOptions, streamableHttpTransport } from "../http/client/streamable-http-transport.js";

/** How requests over HTTP are made. */
export interface HttpConnectOptions {
  /** Makes the requests. Default: the runtime's own. */
  readonly fetch?: FetchLike;
  /** Makes the requests instead of `fetch`; closed with the client. */
  readonly requester?: HttpRequester;
  /** Sent with every request, by name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Gets tokens: see `/auth/client`. */
  readonly authorizer?: HttpAuthorizer;
  /** False: the older transport (HTTP+SSE) is not tried. Default true. */
  readonly fallback?: boolean;
  /** `messageBytes` is that of the client's own `limits`, unless it is given here. */
  readonly limits?: Partial<HttpClientLimits>;
}

/** Options of `connect`: those of a client, and how its HTTP requests are made. */
export interface ConnectOptions extends ClientOptions {
  readonly http?: HttpConnectOptions;
  /**
   * Who is asking, for a server in this program: a name, or an identity with scopes and claims, as `authorization` would find it.
   * Throws BAD_OPTIONS with any other target, where the server finds that out by itself.
   */
  readonly identity?: string | (Partial<Identity> & Pick<Identity, "principal">);
}

const HTTP_CONNECT_MEMBERS: MembersOf<HttpConnectOptions> = {
  fetch: "function",
  requester: "request()",
  headers: "texts by name",
  authorizer: "headers()",
  fallback: "flag",
  limits: DEFAULT_HTTP_CLIENT_LIMITS,
};

/** The members of `ConnectOptions`, where those of `http` are these. */
export function connectMembers(http: KnownMembers): MembersOf<ConnectOptions> {
  return { ...CLIENT_MEMBERS, http: { ...HTTP_CONNECT_MEMBERS, ...http }, identity: ["text", "object"] };
}

/** A URL, a server in this program, a factory of transports (a new one for each call), or a dialer with a fallback. */
export type ConnectTarget = string | URL | LeanServer | Dialer | (() => Transport);

/**
 * Connects to whatever server there is, in the newest revision both sides speak. Rejects with a `ConnectError` whose text says
 * what was tried and what came of it; then nothing is left open. Close the client, or declare it `await using`.
 */
export async function connect(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client> {
  glance("connect(target, options)", options, CONNECT_NAMES);
  glance("connect(target, options)", options.http ?? {}, HTTP_NAMES);
  return connectTo(target, options, (_args, given) => glance("call(name, args, options)", given ?? {}, CALL_NAMES));
}

/** Names of options by what `typeof` says of their values; "" for any. */
type NamesByType = Readonly<Record<string, string>>;

const CONNECT_NAMES: NamesByType = {
  function: "elicit sample onLog onNoise onListChanged onNotification onWarning",
  number: "timeoutMs maxTimeoutMs probeTimeoutMs connectTimeoutMs",
  string: "revision era validateOutput",
  object: "clientInfo capabilities require middleware ping limits signal http",
  "": "roots cache verdicts reconnect identity",
};
const HTTP_NAMES: NamesByType = {
  function: "fetch",
  boolean: "fallback",
  object: "requester headers authorizer limits",
};

const CALL_NAMES: NamesByType = {
  function: "onProgress onRequest onLog",
  number: "timeoutMs maxTimeoutMs",
  string: "logLevel",
  object: "signal meta answers round",
  "": "output mirrored tasks stop onSent taker unseenTaker once bounded",
};

/** What a page can afford of `checkOptions`: each option is there, and not of a type that cannot be meant. */
function glance(what: string, options: unknown, names: NamesByType): void {
  const fault = (text: string): LocalError => new LocalError("BAD_OPTIONS", `${what}: ${text}`);
  if (typeof options !== "object" || options === null) throw fault(`takes one object, not ${String(options)}`);
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const [type] = Object.entries(names).find(([, each]) => each.split(" ").includes(name)) ?? [];
    if (type === undefined)
      throw fault(`there is no member "${name}"${name === "elicit" ? ": write answers: { elicit }" : ""}`);
    if (type !== "" && value !== undefined && (value === null || typeof value !== type))
      throw fault(`"${name}" is of the type ${type}, not ${value === null ? "null" : typeof value}`);
  }
}

/** The same with options that were looked at. */
export async function connectTo(target: ConnectTarget, options: ConnectOptions, check?: CallCheck): Promise<Client> {
  const { identity } = options;
  if (isServer(target)) {
    // Most connect to a URL: a page does not load for them what joins two ends in one program.
    const [{ memoryTransports }, { checkSender }] = await Promise.all([
      import("../transport/memory.js"),
      import("../auth/authenticator.js"),
    ]);
    const known = typeof identity === "object" && identity !== null ? { scopes: [], ...identity } : identity;
    checkSender(known);
    return Client.connect({ link: () => linked(target, memoryTransports(known)) }, options, check);
  }
  if (identity !== undefined) {
    throw new LocalError("BAD_OPTIONS", "`identity` is for a server in this program");
  }
  return Client.connect(dialerOf(target, options.http ?? {}), options, check);
}

function given(target: unknown): string {
  if (typeof target !== "object" || target === null) return String(target);
  if ("then" in target) return "a promise: await it first";
  return `an object with ${Object.keys(target).slice(0, 8).join(", ") || "no members"}`;
}

function dialerOf(target: Exclude<ConnectTarget, LeanServer>, http: HttpConnectOptions): Dialer {
  if (typeof target === "function") return { link: target };
  if (typeof target === "string" || target instanceof URL) return httpDialer(target, http);
  if (typeof (target as Partial<Dialer> | undefined)?.link === "function") return target;
  const { url } = (target ?? {}) as { readonly url?: unknown };
  if (url !== undefined) {
    const text = "connect takes the URL itself: write connect(url, { http: { headers } })";
    throw new LocalError("INVALID_TARGET", text);
  }
  const text = `connect takes a URL, a Server, or a function that makes a link, and with \`connect\` of /client/node { command, args }: it was given ${given(target)}`;
  throw new LocalError("INVALID_TARGET", text);
}

/** The links of a URL: Streamable HTTP, then HTTP+SSE. */
export function httpDialer(url: string | URL, options: HttpConnectOptions): Dialer {
  const { headers, authorizer, limits, fallback } = options;
  const requester = options.requester ?? fetchRequester(options.fetch);
  const shared = { url, requester, headers, authorizer, ownsRequester: true };
  const about = ({ messageBytes }: JsonRpcLimits): HttpTransportOptions => ({
    ...shared,
    limits: { messageBytes, ...limits },
  });
  return {
    link: (taken) => streamableHttpTransport(about(taken)),
    ...(fallback === false ? {} : { fallback: (taken) => sseTransport(about(taken)) }),
    key: shownUrl(String(url)),
  };
}

/** Serves a server of this program at one end of two; the other is its client's. */
export function linked(server: LeanServer, [ours, theirs]: readonly [Transport, Transport]): Transport {
  (server as unknown as Served)[SERVE](theirs);
  return ours;
}

/** Whether it is a server of this copy of the package or of another. */
export function isServer(target: unknown): target is LeanServer {
  return typeof target === "object" && target !== null && SERVE in target;
}
