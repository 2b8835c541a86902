// Reads the options every token check shares, and refuses those that would accept too much.

/** Largest difference of clocks that is a difference and not a fault. */
const MAX_SKEW_SECONDS = 300;

/** The issuer as given. Throws RangeError when it cannot be one: principals are built from it. */
export function readIssuer(issuer: string): string {
  if (typeof issuer === "string" && issuer !== "" && !issuer.includes("#")) return issuer;
  throw new RangeError("issuer must be the exact URL of the authorization server, without fragment");
}

/** The audiences tokens may be for. Throws TypeError when there is none: a token for anybody is not one for us. */
export function readAudiences(options: {
  readonly audience?: string | readonly string[];
  readonly resource?: { readonly resource: string };
}): readonly string[] {
  const given = options.audience ?? options.resource?.resource;
  const audiences = typeof given === "string" ? [given] : (given ?? []);
  if (audiences.length === 0 || audiences.includes("")) throw new TypeError("Give the audience tokens must be for");
  return audiences;
}

/** Milliseconds of a clock skew. Throws RangeError outside 0 to 300 seconds. */
export function readSkew(seconds = 30): number {
  if (seconds >= 0 && seconds <= MAX_SKEW_SECONDS) return seconds * 1000;
  throw new RangeError(`clockSkewSeconds must be between 0 and ${MAX_SKEW_SECONDS}, not ${seconds}`);
}
