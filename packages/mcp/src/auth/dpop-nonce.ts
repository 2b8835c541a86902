// Hands out the nonces that DPoP proofs must repeat where the server wants to limit how long they are prepared ahead (RFC 9449 §9).
import { toBase64url } from "./base64url.js";

/** Where nonces come from. Several processes behind one address need one they share. */
export interface NonceSource {
  /** The nonce clients should use now: characters a quoted string may have. */
  current(now: number): string;
  accepts(nonce: string, now: number): boolean;
}

/** How long a nonce is handed out; it is accepted for as long again. */
const TURN_MS = 60_000;

/** Random nonces of this process. */
export function randomNonces(): NonceSource {
  let current = "";
  let previous = "";
  let since = -Infinity;
  const turn = (now: number): void => {
    const turns = Math.floor((now - since) / TURN_MS);
    if (turns < 1) return;
    previous = turns === 1 ? current : "";
    current = toBase64url(crypto.getRandomValues(new Uint8Array(16)));
    since = turns === 1 ? since + TURN_MS : now;
  };
  return {
    current(now) {
      turn(now);
      return current;
    },
    accepts(nonce, now) {
      turn(now);
      return nonce !== "" && (nonce === current || nonce === previous);
    },
  };
}
