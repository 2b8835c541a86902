// Judges who is asking, as a program of somebody's own says it. What serves without asking reads none of this.
import type { Identity } from "./transport.js";

/**
 * What is wrong with what a program of somebody's own gave as an identity, as the end of a sentence; undefined when nothing is. A user
 * without a text for a name would be nobody, and so the same one as every other.
 */
export function identityFault(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) {
    if (typeof given === "string") return given === "" ? "an empty text: give the user's name" : undefined;
    return `${given === null ? "null" : `a ${typeof given}`}: give the user's name as text, as in String(user.id)`;
  }
  const { principal, scopes, expiresAt } = given as { readonly [K in keyof Identity]?: unknown };
  if (typeof principal !== "string" || principal === "") {
    const has = Object.keys(given).filter((name) => name !== "scopes");
    return `an object whose "principal" is no text (it has ${has.join(", ") || "nothing"}): give the user's name, or { principal: String(user.id), scopes: [] }`;
  }
  if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== "string")) {
    return 'an object whose "scopes" is no list of texts: give { principal, scopes: ["read", "write"] }';
  }
  if (expiresAt === undefined || Number.isFinite(expiresAt)) return undefined;
  return 'an object whose "expiresAt" is no number of milliseconds: give date.getTime()';
}
