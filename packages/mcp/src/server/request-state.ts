// What a sealed request state says, and the checks it must pass before anything of it is believed.
import type { Call } from "../endpoint/call.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { InputResponse } from "../protocol/features/input-required.js";
import type { Seal } from "./seal.js";

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
export async function openState(seal: Seal, call: Call, sealed: string): Promise<RequestState> {
  const text = await seal.open(sealed);
  if (text === undefined)
    throw badState("is not one this server made: send back the requestState of the last answer, unchanged");
  const state = JSON.parse(text) as Bound;
  if (state.principal !== (call.carrier.principal ?? null)) throw badState("belongs to another caller");
  if (state.expires < Date.now()) throw badState("has expired: make the call again without it");
  if (state.digest !== (await digestOf(call)))
    throw badState("belongs to another request: retry with the same method and params");
  return state;
}

/** -32602 about a request state. */
export function badState(what: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `params.requestState ${what}`, {
    path: "/requestState",
    constraint: "a request state of this call",
  });
}

/** Digest of any JSON, whatever the order of its keys. */
export async function digest(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonical(value));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The salient parts of a request: everything but what a retry may change. */
function digestOf(call: Call): Promise<string> {
  const { _meta, inputResponses, requestState, ...salient } = call.params;
  return digest({ method: call.method, params: salient });
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    const sorted: JsonObject = {};
    for (const key of Object.keys(part).sort()) sorted[key] = (part as JsonObject)[key];
    return sorted;
  });
}
