// What a person can point at, a command to start or a URL, the way there, who authorizes it, and a client opened on it.
import { existsSync } from "node:fs";
import type { CredentialStore, UserAuthorizationOptions } from "@secure-local/mcp/auth/client/node";
import type { HttpAuthorizer, HttpRequester, Transport } from "@secure-local/mcp/client";
import {
  type ChildCommand,
  childTransport,
  type Client,
  connect,
  LocalError,
  type NodeConnectOptions,
  nodeRequester,
  sseTransport,
  streamableHttpTransport,
} from "@secure-local/mcp/client/node";

export interface CommandTarget {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  /** Variables beside the few a child gets from us. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** VS Code starts it in a sandbox. */
  readonly sandboxed?: VscodeServer | undefined;
}

/**
 * Variable that names the variables of the process which are the server's: set where this program starts itself to put a server
 * into its sandbox.
 */
export const PASSED_ON = "MCP_SECURE_LOCAL_SANDBOX_ENV";

/** A server of VS Code's that has `sandboxEnabled`. */
export interface VscodeServer {
  readonly name: string;
  /** The configuration it is in. */
  readonly file: string;
  readonly workspace: string;
  /** Its member `sandbox`, as it is. */
  readonly sandbox: unknown;
}

export interface UrlTarget {
  readonly kind: "url";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Target = CommandTarget | UrlTarget;

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

export function looksLikeUrl(word: string): boolean {
  return SCHEME.test(word) || word.startsWith("unix:");
}

/** A target on one line, without the values of its variables and headers, and without what a URL's query may hide. */
export function targetText(target: Target): string {
  if (target.kind === "command") return [target.command, ...target.args].map(quoted).join(" ");
  if (!URL.canParse(target.url)) return target.url;
  const url = new URL(target.url);
  const names = [...url.searchParams.keys()].map((name) => `${name}=…`);
  const base = url.host === "" ? `${url.protocol}${url.pathname}${url.hash}` : `${url.origin}${url.pathname}`;
  return names.length === 0 ? base : `${base}?${names.join("&")}`;
}

/** Reads `NAME=value` words, of variables. Throws a LocalError USAGE for another word. */
export function readVariables(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => pair(word, /^([^=]+)=([\s\S]*)$/, "--env KEY=value")));
}

/** Reads `Name: value` words, of headers. Throws a LocalError USAGE for another word. */
export function readHeaders(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => pair(word, /^([^:=\s]+):\s*((?:\S[^\r\n]*)?)$/, "--header 'Name: value'")),
  );
}

function pair(word: string, form: RegExp, like: string): [string, string] {
  const [, name, value] = form.exec(word) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  // The word may be a secret that lost its name.
  throw new LocalError("USAGE", `what stands after ${like.split(" ", 1)[0]} has no name and value: write ${like}`);
}

function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export interface OpenOptions extends NodeConnectOptions {
  /** Sent as `Authorization: Bearer` in place of tokens of our own. */
  readonly token?: string | undefined;
  readonly person: Person;
}

/** Rejects with a ConnectError. */
export function openClient(target: Target, { token, person, ...options }: OpenOptions): Promise<Client> {
  if (target.kind === "command") {
    const { command, args, env, cwd } = target;
    return connect({ command, args, env, cwd }, options);
  }
  const { url } = target;
  if (!URL.canParse(url))
    throw new LocalError("USAGE", `${targetText(target)} is not a URL: write it like https://host/mcp`);
  const headers = { ...target.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorizer = given ? undefined : personAuthorizer(url, person);
  return connect(url, { ...options, http: { headers, ...(authorizer === undefined ? {} : { authorizer }) } });
}

/** A way that is worked out already: a command as it is started, or a URL with all that goes along with each request. */
export type Way =
  | { readonly kind: "command"; readonly command: ChildCommand }
  | {
      readonly kind: "url";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly authorizer?: HttpAuthorizer | undefined;
      /** Makes the requests of one link. */
      readonly requester: () => HttpRequester;
    };

/** How a target is reached. */
export interface TargetRoute {
  readonly kind: "stdio" | "http" | "sse";
  /** A new link for each call. */
  readonly link: () => Transport;
  /** Where it is a URL: the same for requests that belong to no link. */
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly authorizer?: HttpAuthorizer | undefined;
  readonly requester?: (() => HttpRequester) | undefined;
}

export interface RouteLimits {
  /** What a message of the server may be. Default: the library's. */
  readonly limits?: { readonly messageBytes?: number } | undefined;
  /** Milliseconds a server behind a URL may take to show which transport it speaks. */
  readonly timeoutMs?: number | undefined;
}

export interface RouteOptions extends RouteLimits {
  /** Sent as `Authorization: Bearer` in place of tokens of our own. */
  readonly token?: string | undefined;
  readonly person: Person;
}

/** A client that connects and leaves finds out whether a URL is one of HTTP+SSE; what it cannot reach counts as Streamable HTTP. */
export function routeTo(target: Target, { token, person, ...limits }: RouteOptions): Promise<TargetRoute> {
  if (target.kind === "command") {
    const { command, args, env, cwd } = target;
    return routeBy({ kind: "command", command: { command, args, env, cwd } }, limits);
  }
  const { url } = target;
  const headers = { ...target.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const given = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const authorizer = given || !URL.canParse(url) ? undefined : personAuthorizer(url, person);
  return routeBy({ kind: "url", url, headers, authorizer, requester: nodeRequester }, limits);
}

/** The same for a way that its caller knows. */
export async function routeBy(way: Way, { limits, timeoutMs }: RouteLimits): Promise<TargetRoute> {
  // A link knows of lengths alone: what is in a message is up to who reads it.
  const { messageBytes } = limits ?? {};
  const bytes = messageBytes === undefined ? undefined : { messageBytes };
  if (way.kind === "command")
    return { kind: "stdio", link: () => childTransport({ ...way.command, limits: bytes ?? way.command.limits }) };
  const { url, headers, authorizer, requester } = way;
  const kind = await transportOf(way, timeoutMs);
  const make = kind === "sse" ? sseTransport : streamableHttpTransport;
  const link = (): Transport =>
    make({ url, headers, authorizer, requester: requester(), ownsRequester: true, limits: bytes });
  return { kind, link, url, headers, authorizer, requester };
}

async function transportOf(
  { url, headers, authorizer, requester }: Extract<Way, { kind: "url" }>,
  timeoutMs: number | undefined,
): Promise<"http" | "sse"> {
  try {
    const client = await connect(url, {
      ...(timeoutMs === undefined ? {} : { connectTimeoutMs: timeoutMs }),
      http: { headers, requester: requester(), ...(authorizer === undefined ? {} : { authorizer }) },
    });
    const { transport } = client;
    await client.close();
    return transport === "sse" ? "sse" : "http";
  } catch {
    return "http";
  }
}

// Authorizes requests in a person's name; what that takes is loaded when a server asks for it, or tokens are kept.

export interface Person {
  /** Where tokens are kept between runs. */
  readonly tokensFile: string;
  /** Tells of the page the person has to visit; undefined when nobody is there. */
  readonly show: ((url: string) => void) | undefined;
  /** Opens a page. Default: the person's browser. */
  readonly browse?: (url: string) => Promise<void>;
  /** By which every request of the authorization goes. Default: one that keeps off addresses which are not on the internet. */
  readonly fetch?: UserFetch | undefined;
  /** Told of each token, secret and key of the client, before it is used. */
  readonly secret?: ((kind: string, value: string) => void) | undefined;
}

type UserFetch = NonNullable<UserAuthorizationOptions["fetch"]>;

/** Undefined for URLs that tokens must not go to: cleartext to another machine, sockets. */
export function personAuthorizer(url: string, person: Person): HttpAuthorizer | undefined {
  if (!takesTokens(new URL(url))) return undefined;
  let loading: Promise<HttpAuthorizer> | undefined;
  const load = (): Promise<HttpAuthorizer> => (loading ??= authorizerOf(url, person));
  return {
    headers: async (request) =>
      loading === undefined && !existsSync(person.tokensFile) ? {} : (await load()).headers(request),
    challenged: async (response) => (await load()).challenged(response),
    answered: (response) => void loading?.then((authorizer) => authorizer.answered?.(response)).catch(() => undefined),
  };
}

function takesTokens({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  return protocol === "http:" && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

async function authorizerOf(serverUrl: string, person: Person): Promise<HttpAuthorizer> {
  const { tokensFile, show, browse, fetch, secret } = person;
  const { browserRedirect, tokenFile, userAuthorization } = await import("@secure-local/mcp/auth/client/node");
  const open = (): Promise<never> => {
    const text = `${new URL(serverUrl).origin} needs a person to authorize it: run this in a terminal, or give --token`;
    return Promise.reject(new LocalError("UNAUTHORIZED", text));
  };
  return userAuthorization({
    serverUrl,
    clientName: "mcp-secure-local",
    store: secret === undefined ? tokenFile(tokensFile) : telling(tokenFile(tokensFile), secret),
    redirect:
      show === undefined
        ? { open }
        : browserRedirect({ show: () => undefined, ...(browse === undefined ? {} : { open: browse }) }),
    ...(show === undefined ? {} : { onAuthorize: show }),
    ...(fetch === undefined ? {} : { fetch }),
  });
}

type Credentials = Awaited<ReturnType<CredentialStore["read"]>>;

/** A store that tells of what is secret in it, whoever reads or writes it. */
function telling(store: CredentialStore, secret: NonNullable<Person["secret"]>): CredentialStore {
  const told = (credentials: Credentials): Credentials => {
    const { client, tokens, dpopKey } = credentials ?? {};
    const secrets = {
      token: tokens?.accessToken,
      refresh: tokens?.refreshToken,
      client: client?.clientSecret,
      key: dpopKey?.["d"],
    };
    for (const [kind, value] of Object.entries(secrets)) if (value !== undefined) secret(kind, value);
    return credentials;
  };
  return {
    read: async (key) => told(await store.read(key)),
    exclusively: (key, work) =>
      store.exclusively(key, (held) =>
        work({
          read: async () => told(await held.read()),
          write: (credentials) => held.write(told(credentials)),
        }),
      ),
  };
}
