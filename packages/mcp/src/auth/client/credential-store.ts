// Where a client keeps what it was given by authorization servers, and the one place at a time that changes it.
import type { TokenAuthMethod } from "./client-identity.js";
import { isPlainObject } from "../fetch-json.js";
import { stringList } from "./discovery.js";

/** A client as one authorization server knows it. */
export interface StoredClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly method: TokenAuthMethod;
  /** Where its authorizations may come back to. */
  readonly redirectUri?: string | undefined;
  /** Milliseconds since the epoch; undefined: the secret does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Tokens as a store keeps them. They are secrets: whoever has them is the user. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly type: "Bearer" | "DPoP";
  /** Milliseconds since the epoch; undefined: not known. */
  readonly expiresAt?: number | undefined;
  readonly refreshToken?: string | undefined;
  /** Scopes granted, where the server said so. */
  readonly scopes?: readonly string[] | undefined;
}

/** All that is kept for one MCP server. It belongs to `issuer` and `resource`, and is dropped when either changes. */
export interface Credentials {
  readonly issuer: string;
  readonly resource: string;
  readonly tokenEndpoint: string;
  readonly client?: StoredClient | undefined;
  readonly tokens?: StoredTokens | undefined;
  /** Scopes asked for so far, granted or not. */
  readonly requestedScopes: readonly string[];
  /** Private key (JWK, ES256) that the tokens are bound to. */
  readonly dpopKey?: Readonly<Record<string, string>> | undefined;
}

/** What is kept for one server, while nobody else may change it. */
export interface HeldCredentials {
  read(): Promise<Credentials | undefined>;
  /** Undefined deletes. Durable when it resolves. */
  write(credentials: Credentials | undefined): Promise<void>;
}

/** Keys are URLs of MCP servers. Methods reject with a LocalError of code `AUTH_STORE`. */
export interface CredentialStore {
  read(key: string): Promise<Credentials | undefined>;
  /**
   * Runs `work` while no other user of the store, in any process that shares it, runs theirs for the same key. Other keys
   * do not wait: one server's user may be thinking for minutes.
   */
  exclusively<T>(key: string, work: (held: HeldCredentials) => Promise<T>): Promise<T>;
}

/** Keeps credentials until the process ends. */
export function memoryStore(): CredentialStore {
  const kept = new Map<string, Credentials>();
  const last = new Map<string, Promise<unknown>>();
  const hold = (key: string): HeldCredentials => ({
    read: () => Promise.resolve(kept.get(key)),
    write(credentials) {
      if (credentials === undefined) kept.delete(key);
      else kept.set(key, credentials);
      return Promise.resolve();
    },
  });
  return {
    read: (key) => Promise.resolve(kept.get(key)),
    exclusively(key, work) {
      const turn = (last.get(key) ?? Promise.resolve()).then(() => work(hold(key)));
      const settled = turn
        .catch(() => undefined)
        .then(() => {
          if (last.get(key) === settled) last.delete(key);
        });
      last.set(key, settled);
      return turn;
    },
  };
}

// Reads kept credentials back, believing nothing of their form: what is not as we write it counts as not there.

const METHODS: readonly TokenAuthMethod[] = ["none", "client_secret_basic", "client_secret_post"];

/** Undefined for anything that is no record. */
export function readCredentials(value: unknown): Credentials | undefined {
  if (!isPlainObject(value)) return undefined;
  const { issuer, resource, tokenEndpoint } = value;
  const requestedScopes = stringList(value["requestedScopes"]);
  if (typeof issuer !== "string" || typeof resource !== "string" || typeof tokenEndpoint !== "string") return undefined;
  return {
    issuer,
    resource,
    tokenEndpoint,
    client: readClient(value["client"]),
    tokens: readTokens(value["tokens"]),
    requestedScopes: requestedScopes ?? [],
    dpopKey: readKey(value["dpopKey"]),
  };
}

function readClient(value: unknown): StoredClient | undefined {
  if (!isPlainObject(value)) return undefined;
  const method = METHODS.find((one) => one === value["method"]);
  const clientId = value["clientId"];
  if (method === undefined || typeof clientId !== "string") return undefined;
  return {
    clientId,
    method,
    clientSecret: textOf(value["clientSecret"]),
    redirectUri: textOf(value["redirectUri"]),
    expiresAt: numberOf(value["expiresAt"]),
  };
}

function readTokens(value: unknown): StoredTokens | undefined {
  if (!isPlainObject(value)) return undefined;
  const { accessToken, type } = value;
  if (typeof accessToken !== "string" || (type !== "Bearer" && type !== "DPoP")) return undefined;
  return {
    accessToken,
    type,
    expiresAt: numberOf(value["expiresAt"]),
    refreshToken: textOf(value["refreshToken"]),
    scopes: stringList(value["scopes"]),
  };
}

function readKey(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isPlainObject(value)) return undefined;
  return Object.values(value).every((part) => typeof part === "string") ? (value as Record<string, string>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
