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
