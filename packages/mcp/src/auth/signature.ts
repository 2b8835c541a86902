// Verifies signatures by jose, which is loaded at first use: programs without OAuth never pay for it.
import type { CryptoKey } from "jose";

/** A public key, imported for one algorithm. */
export type VerifyKey = CryptoKey;

interface Jose {
  readonly compactVerify: (typeof import("jose"))["compactVerify"];
  readonly importJWK: (typeof import("jose"))["importJWK"];
  readonly calculateJwkThumbprint: (typeof import("jose"))["calculateJwkThumbprint"];
}

let loading: Promise<Jose> | undefined;

function jose(): Promise<Jose> {
  return (loading ??= import("jose"));
}

/** The key, or undefined when it cannot be used: a point off the curve, an RSA key under 2048 bits, an unknown kind. */
export async function importPublicKey(jwk: Record<string, string>, alg: string): Promise<VerifyKey | undefined> {
  const { importJWK } = await jose();
  try {
    const key = await importJWK({ ...jwk, kty: jwk["kty"] as string }, alg);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}

/** Whether the compact JWS was signed by the owner of `key` with `alg`. */
export async function isSignedBy(jws: string, key: VerifyKey, alg: string): Promise<boolean> {
  const { compactVerify } = await jose();
  try {
    await compactVerify(jws, key, { algorithms: [alg] });
    return true;
  } catch {
    return false;
  }
}

/** SHA-256 thumbprint of a public key (RFC 7638). */
export async function thumbprint(jwk: Record<string, string>): Promise<string> {
  const { calculateJwkThumbprint } = await jose();
  return calculateJwkThumbprint({ ...jwk, kty: jwk["kty"] as string });
}
