// Finds the access token of a request: in the Authorization header, once, and nowhere else.
import type { AuthRequest } from "./authenticator.js";
import type { Scheme } from "./refusal.js";

export interface Credentials {
  readonly scheme: Scheme;
  readonly token: string;
}

/** Longest Authorization header: twice the largest tokens seen, far under what HTTP servers take. */
const HEADER_LENGTH = 16 * 1024;

/** One scheme, one space or more, one token (RFC 9110 §11.4, RFC 6750 §2.1). */
const CREDENTIALS = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The token, "none" when the request has no credentials of a scheme known here, or a sentence saying what is malformed. */
export function readCredentials(request: AuthRequest): Credentials | "none" | { readonly malformed: string } {
  if (queryHasToken(request.url)) {
    return { malformed: "An access token in the URL is not accepted: send it in the Authorization header" };
  }
  const header = request.header("authorization");
  if (header === undefined || header === "") return "none";
  if (header.length > HEADER_LENGTH) {
    return { malformed: `The Authorization header is longer than ${HEADER_LENGTH} characters` };
  }
  const match = CREDENTIALS.exec(header);
  if (match !== null) {
    return { scheme: match[1]?.toLowerCase() === "dpop" ? "DPoP" : "Bearer", token: match[2] as string };
  }
  if (header.includes(",")) return { malformed: "Send exactly one Authorization header with one token" };
  if (/^(?:bearer|dpop)(?: |$)/i.test(header)) {
    return { malformed: "The Authorization header has a scheme but not exactly one token after it" };
  }
  return "none";
}

function queryHasToken(url: string): boolean {
  const start = url.indexOf("?");
  if (start === -1) return false;
  const end = url.indexOf("#", start);
  const query = new URLSearchParams(url.slice(start + 1, end === -1 ? undefined : end));
  for (const name of query.keys()) if (name.toLowerCase() === "access_token") return true;
  return false;
}
