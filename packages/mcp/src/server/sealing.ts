// Seals with AES, and for all processes of a server once there are others; and what a state that is sealed says. Loaded with the
// first state that is sealed or opened.
import type { Answer, Call } from "../endpoint/call.js";
import { projectQuestions } from "../era/project-question.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { InputRequest, InputRequests, InputResponse, InputResponses } from "../protocol/features/elicitation.js";
import { requireCapability } from "./ask.js";
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
      const how = { name: "AES-GCM", iv: nonce };
      const sealed = await crypto.subtle.encrypt(how, key as CryptoKey, new TextEncoder().encode(text));
      return PREFIX + toBase64(new Uint8Array([...nonce, ...new Uint8Array(sealed)]));
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

/** Makes the states of calls that ask, and opens what is still good of them; for all processes of a server once there are others. */
export class States {
  cluster: ServerCluster | undefined;
  readonly #own: Seal;
  readonly #isGiven: boolean;
  readonly #lifeMs: number;
  /** When the work of a principal was ended: no state that was sealed for them until then is taken, while it would be good. */
  readonly #over = new Map<string, number>();

  /** `given`: the seal an author chose, which seals on whoever shares. */
  constructor(given: Seal | undefined, lifeMs: number) {
    this.#isGiven = given !== undefined;
    this.#own = given ?? aes([]);
    this.#lifeMs = lifeMs;
  }

  /** Seals a state for the very call it was made for: principal, method and parameters. */
  async seal(call: Call, state: RequestState): Promise<string> {
    const bound: Bound = {
      ...state,
      principal: call.carrier.principal ?? null,
      digest: await digestOf(call),
      expires: Date.now() + this.#lifeMs,
    };
    const sealed = await this.#seal.seal(JSON.stringify(bound));
    return this.cluster === undefined ? sealed : `${this.cluster.node}.${sealed}`;
  }

  /** Opens the state a retry brought. Throws -32602 for one that is broken, foreign, for other params, too old, or of ended work. */
  async open(call: Call, sealed: string): Promise<RequestState> {
    const { principal } = call.carrier;
    // What a process sealed once there were others begins with its name.
    const inner = this.cluster && (await this.#seal.open(sealed.slice(sealed.indexOf(".") + 1)));
    const text = inner ?? (await this.#seal.open(sealed));
    if (text === undefined)
      throw badState("is not one this server made: send back the requestState of the last answer, unchanged");
    const state = JSON.parse(text) as Bound;
    if (state.principal !== (principal ?? null)) throw badState("belongs to another caller");
    if (state.expires < Date.now()) throw lostState("has expired");
    if (state.digest !== (await digestOf(call)))
      throw badState("belongs to another request: retry with the same method and params");
    const over = this.#over.get(principal ?? "");
    if (over !== undefined && state.expires - this.#lifeMs <= over)
      throw lostState("is of a call that was ended with all others of its caller");
    return state;
  }

  get #seal(): Seal {
    return this.#isGiven ? this.#own : (this.cluster?.seal ?? this.#own);
  }

  /** Refuses from now on what was sealed for a principal. */
  endOf(principal: string): void {
    const now = Date.now();
    for (const [name, at] of this.#over) if (at + this.#lifeMs < now) this.#over.delete(name);
    this.#over.set(principal, now);
  }

  /** The stateless answer to a caller whose handler asks by hand: what is asked, and the state it must bring back. */
  async askedByHand(
    call: Call,
    { requests, state: carried }: { readonly requests: InputRequests; readonly state: unknown },
    round: number,
  ): Promise<Answer> {
    for (const { method, params } of Object.values<InputRequest>(requests)) requireCapability(call, method, params);
    const state = { round: round + 1, ...(carried === undefined ? {} : { carried }) };
    const requestState = await this.seal(call, state);
    const asks = Object.keys(requests).length > 0;
    return {
      resultType: "input_required",
      ...(asks ? { inputRequests: projectQuestions(call.caller.codec, Object.entries(requests)) } : {}),
      requestState,
    };
  }
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

export function tooManyRounds(limit: number): RpcError {
  return new RpcError(ErrorCode.InternalError, `This call asked more than ${limit} rounds of questions`, { limit });
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
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(value))));
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
