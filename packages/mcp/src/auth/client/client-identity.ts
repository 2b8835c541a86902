// Shows an authorization server who the client is, by the one method agreed with it (RFC 6749 §2.3, RFC 7523 §2.2).
import type { CryptoKey } from "jose";
import { LocalError } from "../../jsonrpc/errors.js";

/** How a client proves itself at the token endpoint (RFC 8414). */
export type TokenAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

export interface ClientIdentity {
  readonly clientId: string;
  readonly method: TokenAuthMethod;
  readonly clientSecret?: string | undefined;
  /** For `private_key_jwt`. */
  readonly key?: { readonly key: SigningKey; readonly alg: string; readonly kid?: string | undefined } | undefined;
}

interface ClientProof {
  readonly headers: Readonly<Record<string, string>>;
  readonly form: Readonly<Record<string, string>>;
}

/** How long an assertion about the client is good for: the request it is made for follows at once. */
const ASSERTION_SECONDS = 60;

/** What goes into a request to the token endpoint of `issuer` to authenticate the client. `now`: milliseconds since the epoch. */
export async function proveClient(client: ClientIdentity, issuer: string, now: number): Promise<ClientProof> {
  const { clientId, clientSecret = "", method } = client;
  switch (method) {
    case "none":
      return { headers: {}, form: { client_id: clientId } };
    case "client_secret_post":
      return { headers: {}, form: { client_id: clientId, client_secret: clientSecret } };
    case "client_secret_basic": {
      const pair = `${formEncode(clientId)}:${formEncode(clientSecret)}`;
      return { headers: { authorization: `Basic ${btoa(pair)}` }, form: {} };
    }
    case "private_key_jwt":
      return { headers: {}, form: await assertion(client, issuer, now) };
  }
}

/**
 * The method to use at a server that takes `offered`: the first of ours, in our order. RFC 8414 §2: a server that says
 * nothing takes Basic. Throws `AUTH_REGISTRATION` when there is none.
 */
export function chooseMethod(
  offered: readonly string[] | undefined,
  ours: readonly TokenAuthMethod[],
): TokenAuthMethod {
  const taken = offered ?? ["client_secret_basic"];
  const chosen = ours.find((method) => taken.includes(method));
  if (chosen !== undefined) return chosen;
  throw new LocalError(
    "AUTH_REGISTRATION",
    `The authorization server authenticates clients by ${taken.slice(0, 10).join(", ")} only, this client can use ${ours.join(", ")}: configure what it takes`,
  );
}

async function assertion(
  { clientId, key }: ClientIdentity,
  issuer: string,
  now: number,
): Promise<Record<string, string>> {
  if (key === undefined) throw new LocalError("AUTH_KEY", "private_key_jwt needs the client's private key: give one");
  const iat = Math.floor(now / 1000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: issuer,
    jti: crypto.randomUUID(),
    iat,
    exp: iat + ASSERTION_SECONDS,
  };
  const header = { alg: key.alg, typ: "JWT", ...(key.kid === undefined ? {} : { kid: key.kid }) };
  return {
    client_id: clientId,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: await signJwt(header, claims, key.key),
  };
}

/** RFC 6749 §2.3.1: both parts are encoded as in a form before they are joined. */
function formEncode(text: string): string {
  return new URLSearchParams({ _: text }).toString().slice("_=".length);
}

// Signs by jose, which is loaded at first use: programs that sign nothing never pay for it.

/** A private key that signs, as WebCrypto holds it. */
export type SigningKey = CryptoKey;
type PrivateJwk = Readonly<Record<string, string>>;

interface Jose {
  readonly SignJWT: (typeof import("jose"))["SignJWT"];
  readonly importJWK: (typeof import("jose"))["importJWK"];
  readonly importPKCS8: (typeof import("jose"))["importPKCS8"];
  readonly generateKeyPair: (typeof import("jose"))["generateKeyPair"];
  readonly exportJWK: (typeof import("jose"))["exportJWK"];
}

let loading: Promise<Jose> | undefined;

function jose(): Promise<Jose> {
  return (loading ??= import("jose"));
}

/** Rejects with `AUTH_KEY` for what is no private key of `alg`; the key itself is in no error. */
export async function importSigningKey(key: string | PrivateJwk | CryptoKey, alg: string): Promise<SigningKey> {
  const { importJWK, importPKCS8 } = await jose();
  try {
    if (typeof key === "string") return await importPKCS8(key, alg);
    if (!("kty" in key)) return key as CryptoKey;
    const imported = await importJWK({ ...key, kty: key["kty"] }, alg);
    if (!(imported instanceof Uint8Array)) return imported;
  } catch {
    // The library's own words may repeat parts of the key.
  }
  throw new LocalError(
    "AUTH_KEY",
    `The private key could not be read as a key for ${alg}: give a PKCS #8 PEM text or a JWK`,
  );
}

/** A new private key for ES256, as a JWK. */
export async function newEs256Key(): Promise<PrivateJwk> {
  const { generateKeyPair, exportJWK } = await jose();
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const { kty, crv, x, y, d } = await exportJWK(privateKey);
  return { kty, crv, x, y, d } as Record<string, string>;
}

export async function signJwt(
  header: { readonly alg: string } & Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  key: SigningKey,
): Promise<string> {
  const { SignJWT } = await jose();
  return new SignJWT({ ...claims }).setProtectedHeader({ ...header }).sign(key);
}
