// Reads a compact JWS strictly before any cryptography: spelling, size, header parameters that would change its meaning.
import { fromBase64url, isCanonicalBase64url } from "./base64url.js";
import { parseStrictObject } from "./strict-object.js";

export interface JwsHead {
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
