// Reads kept credentials back, believing nothing of their form: what is not as we write it counts as not there.
import { isPlainObject } from "../strict-object.js";
import type { TokenAuthMethod } from "./client-identity.js";
import type { Credentials, StoredClient, StoredTokens } from "./credential-store.js";
import { readList } from "./server-metadata.js";

const METHODS: readonly TokenAuthMethod[] = ["none", "client_secret_basic", "client_secret_post"];

/** Undefined for anything that is no record. */
export function readCredentials(value: unknown): Credentials | undefined {
  if (!isPlainObject(value)) return undefined;
  const { issuer, resource, tokenEndpoint } = value;
  const requestedScopes = readList(value["requestedScopes"]);
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
    scopes: readList(value["scopes"]),
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
