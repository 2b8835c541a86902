// Verifies DPoP proofs: that whoever sends a token holds the key it is bound to (RFC 9449 §4.3, §7, §9).
import {
  type CompactJws,
  fits,
  importPublicKey,
  isSignedBy,
  pinAlgorithms,
  publicPart,
  readCompactJws,
  thumbprint,
  toBase64url,
} from "./jws.js";
import type { MembersOf } from "../schema/schema.js";
import { type AuthRequest, checkMembers, type RefusalReason } from "./authenticator.js";
import { isPlainObject, normalizeHttpUri, requestUri } from "./fetch-json.js";

/** How proofs of possession are checked (RFC 9449): algorithms, nonces, age, and where used ones are remembered. */
export interface DpopOptions {
  /** Refuses tokens bound to no key. Default: false. */
  readonly required?: boolean;
  /** Asymmetric JWS algorithms of proofs. Default: ES256, EdDSA, Ed25519, PS256, RS256. */
  readonly algorithms?: readonly string[];
  /** Scheme, host and port that clients address, "https://mcp.example.com". Default: those of the request's URL, which must then be absolute. */
  readonly origin?: string;
  /** Demands that proofs repeat a nonce of ours. True: random ones of this process. Default: false. */
  readonly nonce?: boolean | NonceSource;
  /** How old a proof may be, in seconds. Default: 60. */
  readonly maxAgeSeconds?: number;
  /** How far ahead the client's clock may be, in seconds. Default: 10. */
  readonly clockSkewSeconds?: number;
  /** Default: `memoryReplayStore()`. */
  readonly replays?: ReplayStore;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

const DPOP_MEMBERS: MembersOf<DpopOptions> = {
  required: "flag",
  algorithms: "texts",
  origin: "text",
  nonce: ["flag", "current() accepts()"],
  maxAgeSeconds: 0,
  clockSkewSeconds: 0,
  replays: "use()",
  now: "function",
};

/** Whether a proof of possession holds, and headers for the reply, such as the next nonce. */
export type ProofOutcome =
  | { readonly ok: true; readonly headers?: Readonly<Record<string, string>> }
  | ({ readonly ok: false } & RefusalReason);

/** Checks that whoever sent a token has its key (RFC 9449). */
export interface DpopVerifier {
  readonly required: boolean;
  readonly algorithms: readonly string[];
  /** Whether the request carries a proof for `token`, made now, for this request and by the key with the thumbprint `boundTo`. */
  verify(request: AuthRequest, token: string, boundTo: string): Promise<ProofOutcome>;
}

const DEFAULT_ALGORITHMS: readonly string[] = ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"];
/** Longest proof: one with a 4096-bit RSA key has 2,000 characters. */
const PROOF_LENGTH = 4_096;
/** Longest proof id: UUIDs have 36 characters, and each is remembered for a while. */
const ID_LENGTH = 128;
/** Longest a proof may be good for: each must be remembered as long. */
const MAX_AGE_SECONDS = 300;
/** Time a used proof is remembered beyond its own, so that a slow check of its age cannot outlive the memory of it. */
const REMEMBER_LONGER_MS = 10_000;
/** Members of a JSON Web Key that must not leave its owner. */
const PRIVATE_MEMBERS: readonly string[] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

interface Proof extends CompactJws {
  readonly jwk: Record<string, string>;
  readonly jti: string;
}

/** Throws RangeError for options that would accept too much. */
export function dpopVerifier(options: DpopOptions = {}): DpopVerifier {
  checkMembers("dpopVerifier(options)", options, DPOP_MEMBERS);
  return new Dpop(options);
}

class Dpop implements DpopVerifier {
  readonly required: boolean;
  readonly algorithms: readonly string[];
  readonly #pinned: ReadonlySet<string>;
  readonly #origin: string | undefined;
  readonly #nonces: NonceSource | undefined;
  readonly #maxAgeMs: number;
  readonly #skewMs: number;
  readonly #replays: ReplayStore;
  readonly #now: () => number;

  constructor(options: DpopOptions) {
    const { nonce = false, maxAgeSeconds = 60, clockSkewSeconds = 10 } = options;
    this.required = options.required ?? false;
    this.algorithms = options.algorithms ?? DEFAULT_ALGORITHMS;
    this.#pinned = pinAlgorithms(this.algorithms);
    this.#origin = readOrigin(options.origin);
    this.#nonces = nonce === true ? randomNonces() : nonce === false ? undefined : nonce;
    this.#maxAgeMs = readSeconds("maxAgeSeconds", maxAgeSeconds);
    this.#skewMs = readSeconds("clockSkewSeconds", clockSkewSeconds);
    this.#replays = options.replays ?? memoryReplayStore();
    this.#now = options.now ?? Date.now;
  }

  async verify(request: AuthRequest, token: string, boundTo: string): Promise<ProofOutcome> {
    const header = request.header("dpop");
    if (header === undefined || header === "") return refused("Send a DPoP proof in the header DPoP");
    const proof = readProof(header, this.#pinned);
    if (proof === undefined) return refused("The DPoP proof is malformed: send exactly one, signed as `algs` says");
    const fault = this.#requestFault(proof, request) ?? (await keyFault(proof, { header, token, boundTo }));
    if (fault !== undefined) return refused(fault);
    // Only now: a nonce is told, and a proof used up, for nobody but the owner of the key.
    return this.#useOnce(proof, boundTo);
  }

  #requestFault({ payload }: Proof, request: AuthRequest): string | undefined {
    if (payload["htm"] !== request.method) return "The DPoP proof is for another method";
    const htu = typeof payload["htu"] === "string" ? normalizeHttpUri(payload["htu"]) : undefined;
    if (htu === undefined || htu !== requestUri(request.url, this.#origin)) return "The DPoP proof is for another URL";
    const iat = payload["iat"];
    if (typeof iat !== "number" || !Number.isFinite(iat)) return "The DPoP proof does not say when it was made";
    const age = this.#now() - iat * 1000;
    if (age > this.#maxAgeMs || age < -this.#skewMs) return "The DPoP proof was not made just now: check the clock";
    return undefined;
  }

  async #useOnce({ payload, jti }: Proof, boundTo: string): Promise<ProofOutcome> {
    const now = this.#now();
    const headers = this.#nonces === undefined ? undefined : { "dpop-nonce": this.#nonces.current(now) };
    if (headers !== undefined && !this.#isOurNonce(payload["nonce"], now)) {
      return {
        ok: false,
        status: 401,
        error: "use_dpop_nonce",
        message: "Make a new DPoP proof with the nonce of the header DPoP-Nonce",
        headers,
      };
    }
    const end = now + this.#maxAgeMs + this.#skewMs + REMEMBER_LONGER_MS;
    const use = await this.#replays.use(`${boundTo} ${jti}`, end, now);
    if (use === "used") return refused("The DPoP proof was used before: make a new one for each request");
    if (use === "full") {
      return {
        ok: false,
        status: 503,
        error: "temporarily_unavailable",
        message: "Too many DPoP proofs: try again later",
      };
    }
    return headers === undefined ? { ok: true } : { ok: true, headers };
  }

  #isOurNonce(nonce: unknown, now: number): boolean {
    return typeof nonce === "string" && this.#nonces?.accepts(nonce, now) === true;
  }
}

function readProof(text: string, algorithms: ReadonlySet<string>): Proof | undefined {
  const jws = readCompactJws(text, algorithms, PROOF_LENGTH);
  if (jws === undefined || jws.typ !== "dpop+jwt") return undefined;
  const key = jws.header["jwk"];
  if (!isPlainObject(key) || !fits(key, jws.alg) || PRIVATE_MEMBERS.some((name) => Object.hasOwn(key, name))) {
    return undefined;
  }
  const jwk = publicPart(key);
  const jti = jws.payload["jti"];
  if (jwk === undefined || typeof jti !== "string" || jti === "" || jti.length > ID_LENGTH) return undefined;
  return { ...jws, jwk, jti };
}

/** Checks last what costs most: the key, the token's digest, then the signature. */
async function keyFault(
  { alg, jwk, payload }: Proof,
  sent: { readonly header: string; readonly token: string; readonly boundTo: string },
): Promise<string | undefined> {
  if ((await thumbprint(jwk)) !== sent.boundTo) return "The DPoP proof is by another key than the token is bound to";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(sent.token));
  if (payload["ath"] !== toBase64url(new Uint8Array(digest))) return "The DPoP proof is for another access token";
  const key = await importPublicKey(jwk, alg);
  if (key === undefined || !(await isSignedBy(sent.header, key, alg))) return "The DPoP proof is not signed by its key";
  return undefined;
}

function refused(message: string): ProofOutcome {
  return { ok: false, status: 401, error: "invalid_dpop_proof", message };
}

function readOrigin(origin: string | undefined): string | undefined {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).origin === origin)) return origin;
  throw new RangeError(
    `${JSON.stringify(origin)} is no origin: give scheme, host and port only, "https://mcp.example.com"`,
  );
}

function readSeconds(name: string, seconds: number): number {
  if (typeof seconds === "number" && seconds >= 0 && seconds <= MAX_AGE_SECONDS) return seconds * 1000;
  throw new RangeError(`${name} must be between 0 and ${MAX_AGE_SECONDS}, not ${String(seconds)}`);
}

// Hands out the nonces that DPoP proofs must repeat where the server wants to limit how long they are prepared ahead (RFC 9449 §9).

/** Where nonces come from. Several processes behind one address need one they share. */
export interface NonceSource {
  /** The nonce clients should use now: characters a quoted string may have. */
  current(now: number): string;
  accepts(nonce: string, now: number): boolean;
}

/** How long a nonce is handed out; it is accepted for as long again. */
const TURN_MS = 60_000;

/** Random nonces of this process. */
function randomNonces(): NonceSource {
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

// Remembers which proofs were used, so that each is good once.

/** Where used proofs are remembered. Several processes behind one address need one they share. */
export interface ReplayStore {
  /**
   * Marks `key` as used until `expiresAt` (milliseconds). "fresh" the first time, "used" from then on, "full" when it
   * cannot be remembered: the proof must then be refused. The key is the thumbprint of whoever made the proof, a blank, and
   * the proof's id.
   */
  use(key: string, expiresAt: number, now: number): ReplayVerdict | Promise<ReplayVerdict>;
}

/** Whether a proof was seen before; `full` where no more can be remembered, which refuses it too. */
export type ReplayVerdict = "fresh" | "used" | "full";

/** Proofs remembered: 500 a second for the whole time a proof is good; about 10 MB when full. */
const BOUND = 50_000;

/** Proofs that one key may always have remembered, however many others do: an ordinary client makes fewer in a minute. */
const SMALLEST_SHARE = 16;

/**
 * In memory. Nothing is dropped before its time, since dropping it would let it be used again. One key may have as many
 * remembered as are still free, so that alone it fills half, two fill a third each, and there is always room for the next.
 */
export function memoryReplayStore(bound: number = BOUND): ReplayStore {
  const used = new Map<string, number>();
  const counts = new Map<string, number>();
  const count = (key: string, change: 1 | -1): void => {
    const owner = ownerOf(key);
    const left = (counts.get(owner) ?? 0) + change;
    if (left > 0) counts.set(owner, left);
    else counts.delete(owner);
  };
  return {
    use(key, expiresAt, now) {
      // All live equally long, so that the oldest come first.
      for (const [old, end] of used) {
        if (end > now) break;
        used.delete(old);
        count(old, -1);
      }
      if (used.has(key)) return "used";
      const free = bound - used.size;
      if (free <= 0 || (counts.get(ownerOf(key)) ?? 0) >= Math.max(SMALLEST_SHARE, free)) return "full";
      used.set(key, expiresAt);
      count(key, 1);
      return "fresh";
    },
  };
}

function ownerOf(key: string): string {
  const blank = key.indexOf(" ");
  return blank < 0 ? key : key.slice(0, blank);
}
