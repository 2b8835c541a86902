// Seals with AES, and for all processes of a server once there are others; and what a state that is sealed says. Loaded with the
// first state that is sealed or opened.
import type { Call } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { InputResponse, InputResponses } from "../protocol/features/elicitation.js";
import { fromBase64, toBase64 } from "./content.js";
import type { ServerCluster } from "./subscription.js";

/** Encrypts and authenticates text. A state sealed elsewhere opens only where the key is the same. */
export interface Seal {
  seal(text: string): Promise<string>;
  /** The text, or undefined when the seal is not intact. */
  open(sealed: string): Promise<string | undefined>;
}

/** Bytes of an AES-256 key. */
const KEY_BYTES = 32;
/** Bytes of a nonce, as GCM wants it. Random nonces are safe for 2^32 seals under one key (NIST SP 800-38D §8.3). */
const NONCE_BYTES = 12;
/** Marks the format. */
const PREFIX = "s1.";

/** AES-256-GCM by WebCrypto. The first key seals, every key opens. Without keys a random one is made. */
export function aes(keys: readonly Uint8Array<ArrayBuffer>[]): Seal {
  let imported: Promise<readonly CryptoKey[]> | undefined;
  const ready = (): Promise<readonly CryptoKey[]> => (imported ??= importKeys(keys));
  return {
    async seal(text) {
      const [key] = await ready();
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const bytes = new TextEncoder().encode(text);
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, key as CryptoKey, bytes);
      const whole = new Uint8Array(NONCE_BYTES + sealed.byteLength);
      whole.set(nonce);
      whole.set(new Uint8Array(sealed), NONCE_BYTES);
      return PREFIX + toBase64(whole);
    },
    async open(sealed) {
      const bytes = unpack(sealed);
      if (bytes === undefined) return undefined;
      for (const key of await ready()) {
        const text = await tryOpen(key, bytes);
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };
}

/** Seals for all processes of a server once there are others: what a process sealed then begins with its name. */
export class ClusterSeal implements Seal {
  readonly #own: Seal;
  readonly #given: boolean;
  cluster: ServerCluster | undefined;

  /** `given`: the seal an author chose, which seals on whoever shares. */
  constructor(given: Seal | undefined) {
    this.#given = given !== undefined;
    this.#own = given ?? aes([]);
  }

  seal(text: string): Promise<string> {
    const { cluster } = this;
    if (cluster === undefined) return this.#own.seal(text);
    return this.#inner(cluster)
      .seal(text)
      .then((sealed) => `${cluster.node}.${sealed}`);
  }

  async open(sealed: string): Promise<string | undefined> {
    const { cluster } = this;
    if (cluster === undefined) return this.#own.open(sealed);
    const inner = this.#inner(cluster);
    return (await inner.open(sealed.slice(sealed.indexOf(".") + 1))) ?? inner.open(sealed);
  }

  #inner(cluster: ServerCluster): Seal {
    return this.#given ? this.#own : cluster.seal;
  }
}

function importKeys(keys: readonly Uint8Array<ArrayBuffer>[]): Promise<readonly CryptoKey[]> {
  const raw = keys.length > 0 ? keys : [crypto.getRandomValues(new Uint8Array(KEY_BYTES))];
  return Promise.all(raw.map((key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"])));
}

/** Strict, so that no other spelling of a sealed state opens too. */
function unpack(sealed: string): Uint8Array<ArrayBuffer> | undefined {
  if (!sealed.startsWith(PREFIX)) return undefined;
  const encoded = sealed.slice(PREFIX.length);
  try {
    const bytes = fromBase64(encoded);
    return bytes.length > NONCE_BYTES && toBase64(bytes) === encoded ? bytes : undefined;
  } catch {
    return undefined;
  }
}

async function tryOpen(key: CryptoKey, bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  try {
    const iv = bytes.subarray(0, NONCE_BYTES);
    const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, bytes.subarray(NONCE_BYTES));
    return new TextDecoder().decode(text);
  } catch {
    return undefined;
  }
}

// What a sealed request state says, and the checks it must pass before anything of it is believed.

/** An answer given in an earlier round, kept for a replay. */
export interface GivenAnswer {
  readonly key: string;
  /** Fingerprint of what was asked. */
  readonly question: string;
  readonly answer: InputResponse;
}

/** State of a parked handler, or of a question asked by hand. */
export interface RequestState {
  /** Id of the parked handler; undefined for a question asked by hand. */
  readonly park?: string;
  readonly round: number;
  /** Answers of the rounds before. */
  readonly answers?: readonly GivenAnswer[];
  /** Keys and fingerprints of the questions this state goes with. */
  readonly asked?: readonly { readonly key: string; readonly question: string }[];
  /** What the handler gave to `inputRequired`. */
  readonly carried?: unknown;
}

interface Bound extends RequestState {
  readonly principal: string | null;
  readonly digest: string;
  /** Milliseconds since 1970: the moment in which it was sealed, and its life. */
  readonly expires: number;
}

/** Seals a state for the very call it was made for: principal, method and parameters, for `lifeMs` milliseconds. */
export async function sealState(seal: Seal, call: Call, state: RequestState, lifeMs: number): Promise<string> {
  const bound: Bound = {
    ...state,
    principal: call.carrier.principal ?? null,
    digest: await digestOf(call),
    expires: Date.now() + lifeMs,
  };
  return seal.seal(JSON.stringify(bound));
}

/** Opens the state a retry brought. Throws -32602 for one that is broken, foreign, for other parameters, or too old. */
export async function openState(seal: Seal, call: Call, sealed: string): Promise<Bound> {
  const text = await seal.open(sealed);
  if (text === undefined)
    throw badState("is not one this server made: send back the requestState of the last answer, unchanged");
  const state = JSON.parse(text) as Bound;
  if (state.principal !== (call.carrier.principal ?? null)) throw badState("belongs to another caller");
  if (state.expires < Date.now()) throw lostState("has expired");
  if (state.digest !== (await digestOf(call)))
    throw badState("belongs to another request: retry with the same method and params");
  return state;
}

/** All answers known after this round, for a run from the start. */
export function givenBy(state: RequestState, responses: InputResponses): GivenAnswer[] {
  const given = [...(state.answers ?? [])];
  for (const { key, question } of state.asked ?? []) {
    if (Object.hasOwn(responses, key)) given.push({ key, question, answer: responses[key] as GivenAnswer["answer"] });
  }
  return given;
}

/** The error of a call whose state is longer than the limit. */
export function tooMuchState(limit: number): RpcError {
  return new RpcError(ErrorCode.InternalError, `The state of this call is over ${limit} characters`, { limit });
}

/** The process that ran the call has ended or hangs, and nobody may run it twice. */
export function outcomeUnknown(): RpcError {
  const what =
    "The process that ran this call has ended, or does not answer any more, and whether the call did its work is not known: look, before you make it again";
  return new RpcError(ErrorCode.InternalError, what, { outcome: "unknown" });
}

/** -32602 about the state of a call that had begun, and of which nobody can say any more what became of it. */
export function lostState(what: string): RpcError {
  return badState(`${what}, and whether the call did its work is not known: look, before you make it again without it`);
}

/** -32602 about a request state. */
export function badState(what: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `params.requestState ${what}`, {
    path: "/requestState",
    constraint: "a request state of this call",
  });
}

/** Digest of any JSON, whatever the order of its keys. */
export async function jsonDigest(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonical(value));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The salient parts of a request: everything but what a retry may change. */
function digestOf(call: Call): Promise<string> {
  const { _meta, inputResponses, requestState, ...salient } = call.params;
  return jsonDigest({ method: call.method, params: salient });
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    const sorted: JsonObject = {};
    for (const key of Object.keys(part).sort()) sorted[key] = (part as JsonObject)[key];
    return sorted;
  });
}
