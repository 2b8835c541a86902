// Accepts what any of several authenticators accepts, and otherwise refuses for all of them at once.
import type { Authenticator, Refusal } from "./authenticator.js";

/** Which refusal speaks for all: the one that came closest to accepting, or could not tell. */
const PRECEDENCE: readonly Refusal["status"][] = [403, 503, 400, 401];

/**
 * Asks in order and takes the first that admits. When none does, the refusal is the most telling one, with the challenges
 * of all that have the same status. Throws RangeError for an empty list.
 */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  if (authenticators.length === 0) throw new RangeError("Give at least one authenticator");
  return {
    async authenticate(request) {
      const refusals: Refusal[] = [];
      for (const one of authenticators) {
        const outcome = await one.authenticate(request);
        if (outcome.ok) return outcome;
        refusals.push(outcome);
      }
      return merge(refusals);
    },
  };
}

function merge(refusals: readonly Refusal[]): Refusal {
  const status = PRECEDENCE.find((one) => refusals.some((refusal) => refusal.status === one));
  const same = refusals.filter((refusal) => refusal.status === status);
  const headers: Record<string, string> = {};
  for (const refusal of same) Object.assign(headers, refusal.headers);
  const challenges = new Set(same.map((refusal) => refusal.challenge).filter((text) => text !== ""));
  return { ...(same[0] as Refusal), challenge: [...challenges].join(", "), headers };
}
