// What an authorization server says about itself, as far as a client needs it (RFC 8414, RFC 9207, RFC 9449).
import { LocalError } from "../../jsonrpc/local-error.js";
import { type Reach, shown } from "./reach.js";

export interface ServerMetadata {
  /** Exactly as the server spells it. */
  readonly issuer: string;
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Undefined where the server says nothing. */
  readonly codeChallengeMethods: readonly string[] | undefined;
  readonly tokenAuthMethods: readonly string[] | undefined;
  readonly dpopAlgorithms: readonly string[] | undefined;
  /** Whether every answer of its authorization endpoint names the issuer. */
  readonly namesItself: boolean;
  /** Whether it takes the URL of a document as a client id. */
  readonly takesClientUrls: boolean;
}

/** Longest list taken from a document, and longest entry. */
const LIST_LENGTH = 500;
const ENTRY_LENGTH = 500;

/** Throws `AUTH_DISCOVERY` for endpoints that must not be used: see `Reach`. `issuer` has been compared before. */
export function readServerMetadata(
  document: Readonly<Record<string, unknown>>,
  issuer: string,
  reach: Reach,
): ServerMetadata {
  const endpoint = (name: string): string | undefined =>
    document[name] === undefined
      ? undefined
      : reach.checkAt(issuer, document[name], `${name} of the authorization server ${shown(issuer)}`) &&
        (document[name] as string);
  const tokenEndpoint = endpoint("token_endpoint");
  if (tokenEndpoint === undefined) {
    throw new LocalError(
      "AUTH_DISCOVERY",
      `Authorization stopped: the metadata of ${shown(issuer)} has no token_endpoint`,
    );
  }
  return {
    issuer,
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint,
    registrationEndpoint: endpoint("registration_endpoint"),
    scopes: readList(document["scopes_supported"]),
    codeChallengeMethods: readList(document["code_challenge_methods_supported"]),
    tokenAuthMethods: readList(document["token_endpoint_auth_methods_supported"]),
    dpopAlgorithms: readList(document["dpop_signing_alg_values_supported"]),
    namesItself: document["authorization_response_iss_parameter_supported"] === true,
    takesClientUrls: document["client_id_metadata_document_supported"] === true,
  };
}

/** The endpoints a server of 2025-03 has that publishes nothing about itself. */
export function assumedMetadata(origin: string): ServerMetadata {
  return {
    issuer: origin,
    authorizationEndpoint: `${origin}/authorize`,
    tokenEndpoint: `${origin}/token`,
    registrationEndpoint: `${origin}/register`,
    scopes: undefined,
    // PKCE was demanded of every such server, with no place to say so.
    codeChallengeMethods: ["S256"],
    tokenAuthMethods: undefined,
    dpopAlgorithms: undefined,
    namesItself: false,
    takesClientUrls: false,
  };
}

/** The strings of a list; undefined for anything else. */
export function readList(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > LIST_LENGTH) return undefined;
  const texts = value.filter((one) => typeof one === "string");
  return texts.length === value.length && texts.every((one) => one.length <= ENTRY_LENGTH) ? texts : undefined;
}
