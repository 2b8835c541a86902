// Verifies signatures by jose, which is loaded at first use: programs without OAuth never pay for it.
import type { CryptoKey } from "jose";
import { parseStrictObject } from "./fetch-json.js";

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

// Lists the signature algorithms a token or proof may use: asymmetric ones only, each tied to one kind of key.

/** Kind of key an algorithm takes: `kty`, and `crv` where the algorithm fixes the curve. */
const KEY_KINDS: ReadonlyMap<string, { readonly kty: string; readonly crv?: string }> = new Map([
  ["RS256", { kty: "RSA" }],
  ["RS384", { kty: "RSA" }],
  ["RS512", { kty: "RSA" }],
  ["PS256", { kty: "RSA" }],
  ["PS384", { kty: "RSA" }],
  ["PS512", { kty: "RSA" }],
  ["ES256", { kty: "EC", crv: "P-256" }],
  ["ES384", { kty: "EC", crv: "P-384" }],
  ["ES512", { kty: "EC", crv: "P-521" }],
  ["EdDSA", { kty: "OKP", crv: "Ed25519" }],
  ["Ed25519", { kty: "OKP", crv: "Ed25519" }],
]);

/** What authorization servers sign with today. */
export const DEFAULT_ALGORITHMS: readonly string[] = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];

/** Largest RSA modulus in base64url characters: 4096 bits. Verifying a larger one costs time others need. */
const MODULUS_LENGTH = 683;

/** Throws RangeError for an empty list or an algorithm that is not asymmetric: "none" and HMAC cannot be allowed. */
export function pinAlgorithms(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) throw new RangeError("Name at least one signature algorithm");
  for (const name of names) {
    if (KEY_KINDS.has(name)) continue;
    throw new RangeError(`${name} cannot be used to verify tokens: use ${[...KEY_KINDS.keys()].join(", ")}`);
  }
  return new Set(names);
}

/** Whether a JSON Web Key may verify signatures of `alg`, by its kind and by what it says it is for. */
export function fits(jwk: Readonly<Record<string, unknown>>, alg: string): boolean {
  const kind = KEY_KINDS.get(alg);
  if (kind === undefined || jwk["kty"] !== kind.kty) return false;
  if (kind.crv !== undefined && jwk["crv"] !== kind.crv) return false;
  if (jwk["alg"] !== undefined && jwk["alg"] !== alg) return false;
  if (jwk["use"] !== undefined && jwk["use"] !== "sig") return false;
  const operations = jwk["key_ops"];
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"));
}

/** The public members of a JSON Web Key and nothing else; undefined when they are not all there or too large. */
export function publicPart(jwk: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const names = jwk["kty"] === "RSA" ? ["n", "e"] : jwk["kty"] === "EC" ? ["crv", "x", "y"] : ["crv", "x"];
  const part: Record<string, string> = { kty: String(jwk["kty"]) };
  for (const name of names) {
    const value = jwk[name];
    if (typeof value !== "string" || value.length === 0 || value.length > MODULUS_LENGTH) return undefined;
    part[name] = value;
  }
  return part;
}

// Reads and writes base64url, where exactly one spelling of any bytes is accepted (RFC 7515 §2, RFC 4648 §3.5).

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Whether `text` is the one spelling of some bytes: no padding, no spaces, no stray bits in the last character. */
export function isCanonicalBase64url(text: string): boolean {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return false;
  const rest = text.length % 4;
  if (rest === 0) return true;
  if (rest === 1) return false;
  const last = ALPHABET.indexOf(text[text.length - 1] as string);
  return rest === 2 ? (last & 0b1111) === 0 : (last & 0b11) === 0;
}

/** Bytes of text that `isCanonicalBase64url` accepts. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** For a few bytes: digests and nonces. */
export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

// Reads a compact JWS strictly before any cryptography: spelling, size, header parameters that would change its meaning.

interface JwsHead {
  readonly alg: string;
  /** `typ` in lower case without "application/" (RFC 7515 §4.1.9); undefined when absent. */
  readonly typ: string | undefined;
  readonly kid: string | undefined;
  readonly header: Readonly<Record<string, unknown>>;
}

export interface CompactJws extends JwsHead {
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Longest key id: those in use are thumbprints or UUIDs. */
const KEY_ID_LENGTH = 256;

/** The parts, not verified yet, or undefined when the text is no JWS we would ever accept with one of `algorithms`. */
export function readCompactJws(
  text: string,
  algorithms: ReadonlySet<string>,
  maxLength: number,
): CompactJws | undefined {
  const head = readJwsHead(text, algorithms, maxLength);
  const payload = head && parseStrictObject(fromBase64url(text.split(".", 2)[1] as string));
  return payload && { ...head, payload };
}

/** The same, whatever the payload is. */
export function readJwsHead(text: string, algorithms: ReadonlySet<string>, maxLength: number): JwsHead | undefined {
  if (text.length > maxLength) return undefined;
  const parts = text.split(".", 4);
  if (parts.length !== 3 || !parts.every((part) => part !== "" && isCanonicalBase64url(part))) return undefined;
  const header = parseStrictObject(fromBase64url(parts[0] as string));
  if (header === undefined || !isUsableHeader(header, algorithms)) return undefined;
  const typ = own(header, "typ") as string | undefined;
  return {
    alg: header["alg"] as string,
    typ: typ?.toLowerCase().replace(/^application\//, ""),
    kid: own(header, "kid") as string | undefined,
    header,
  };
}

/** Keys named by the token itself (`jku`, `x5u`, `jwk`, `x5c`) are not looked at here, nor by whoever verifies a token. */
function isUsableHeader(header: Record<string, unknown>, algorithms: ReadonlySet<string>): boolean {
  const alg = own(header, "alg");
  const typ = own(header, "typ");
  const kid = own(header, "kid");
  if (typeof alg !== "string" || !algorithms.has(alg)) return false;
  // No extension is understood here; `b64` and `zip` would change what the payload means.
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64") || Object.hasOwn(header, "zip")) return false;
  if (typ !== undefined && typeof typ !== "string") return false;
  return kid === undefined || (typeof kid === "string" && kid.length <= KEY_ID_LENGTH);
}

/** A member of the object itself: never one that a name like "constructor" finds further up. */
function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
