// Signs by jose, which is loaded at first use: programs that sign nothing never pay for it.
import type { CryptoKey } from "jose";
import { LocalError } from "../../jsonrpc/local-error.js";

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
