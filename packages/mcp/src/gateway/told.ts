// What comes back from a mounted server: an answer, checked and passed on whole; or a failure, of which callers are told
// nothing about the machine, and after some of which the server is left alone for a while.
import { restartDelay } from "../jsonrpc/outgoing.js";
import type { Client } from "../client/client.js";
import type { KnownTool } from "../client/caches.js";
import type { Stop } from "../jsonrpc/outgoing.js";
import type { Call } from "../endpoint/call.js";
import type { Sent } from "./long-answers.js";
import { FILLED_IN } from "../protocol/content.js";
import { ErrorCode, LocalError, RpcError, statusOf } from "../jsonrpc/errors.js";
import { exactly } from "../jsonrpc/exact-numbers.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { isReservedMetaKey, McpErrorCode, type Meta } from "../protocol/meta.js";
import type { InputRequests } from "../protocol/features/elicitation.js";
import { NEWEST } from "../protocol/revisions/newest.js";
import { revision as revisionOf } from "../protocol/revisions/all.js";
import { AskError } from "../server/content.js";
import { type InputRequired, inputRequired } from "../server/interactive.js";

/** A request that a server did not answer. */
export interface RelayFailure {
  readonly call: Call;
  readonly server: string;
  /** All there is to say: command lines, addresses and last words of the server are its owner's to read. */
  readonly error: LocalError;
  /** What the caller is told. */
  readonly told: string;
}

/** Codes that are about the gateway's own hop: nobody else can act on them. */
const OWN_HOP: ReadonlySet<number> = new Set([McpErrorCode.HeaderMismatch, McpErrorCode.UnsupportedProtocolVersion]);

/** Refusals of HTTP by which a server says that it does not understand, as one does that was deployed anew in another era. */
const NOT_UNDERSTOOD: ReadonlySet<unknown> = new Set([400, 404, 405]);

export function mayBeAnother(error: unknown): boolean {
  return error instanceof Error && "status" in error && NOT_UNDERSTOOD.has(error.status);
}

/** Whether a server says that this is not how it is spoken to any more: in another session, revision, or with other headers. */
export function isAnother(error: unknown): boolean {
  if (error instanceof LocalError) return error.code === "SESSION_EXPIRED";
  return error instanceof RpcError && OWN_HOP.has(error.code);
}

/** Trace context is for every hop; what else the specification reserves belongs to one. */
const TRACE: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage"]);

/** What of a `_meta` goes over both hops: trace context and the keys of vendors. Undefined where that is nothing. */
export function passedOn(meta: Readonly<Record<string, unknown>>): Meta | undefined {
  let passed: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(meta)) {
    if (TRACE.has(key) || !isReservedMetaKey(key, NEWEST)) (passed ??= {})[key] = exactly(value);
  }
  return passed;
}

/** An answer without what belongs to the upstream's hop alone. */
export function cleaned(answer: JsonObject): JsonObject {
  if (answer["resultType"] === undefined && answer["_meta"] === undefined) return answer;
  const { resultType: _, _meta: meta, ...rest } = answer;
  const passed = isJsonObject(meta) ? passedOn(meta) : undefined;
  return passed === undefined ? rest : { ...rest, _meta: passed };
}

/** What a server asks in an answer, with its state, where nothing is kept between the rounds. */
export function askedBy({ inputRequests = {}, requestState }: JsonObject): InputRequired {
  return inputRequired({
    requests: exactly(inputRequests) as InputRequests,
    state: requestState === undefined ? {} : { upstream: requestState },
  });
}

/** What happened, by the code of the error: its message may hold what is the owner's alone. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  // Nobody but its owner cancels it here: the connection was given up, with all that was under way.
  ["CANCELLED", "the connection to it ended"],
  ["BROKEN", "it failed several times in a row, and is left alone for a while"],
  ["CLOSED", "the connection to it ended"],
  ["EXITED", "its process ended"],
  ["FORBIDDEN", "it refused the login that its owner gave"],
  ["FORGOTTEN", "it did not take the answer to its question, which may have come too late, twice, or after a restart"],
  ["HTTP_STATUS", "it answered with an error of HTTP"],
  ["INCOMPATIBLE", "it speaks no protocol version that the gateway does"],
  ["LIMIT", "a limit was reached"],
  ["NOT_SUPPORTED", "it cannot do what was asked"],
  ["NO_SECRET", "a secret that it needs cannot be read"],
  ["OUTCOME_UNKNOWN", "the connection to it failed within the call"],
  ["REFUSED", "it refused the connection"],
  ["SESSION_EXPIRED", "it forgot the session"],
  ["SPAWN_FAILED", "it could not be started"],
  ["TIMEOUT", "it did not answer in time"],
  ["UNAUTHORIZED", "it needs a login, which its owner has to give"],
  ["UNREACHABLE", "it could not be reached"],
]);
/** Errors may wrap each other; deeper ones say nothing new. */
const DEEPEST = 8;

/** What an owner's function said of a request: a sentence that refuses it, or undefined. Throws BAD_OPTIONS for anything else. */
export function saidNo(server: string, asked: string, given: unknown): string | undefined {
  if (given === undefined || typeof given === "string") return given;
  const isPromise = typeof (Object(given) as { readonly then?: unknown }).then === "function";
  const gave = isPromise ? "a promise, which is not waited for" : JSON.stringify(given);
  throw wronglyAsked(server, `${asked} returns a sentence that refuses, or undefined, and gave ${gave}`);
}

/** The error of a mount whose owner's function gave what nothing can be made of: nothing goes on by it. */
export function wronglyAsked(server: string, what: string): LocalError {
  const text = `The mount of ${server} is set up wrongly: ${what}`;
  return new LocalError("BAD_OPTIONS", text, { brief: "its gateway is set up wrongly, and passes nothing on" });
}

/** Why a server failed, as whoever calls through us may know it: a sentence's end without command lines, addresses or its own words. */
export function briefCause(error: unknown): string {
  let each: unknown = error;
  for (let depth = 0; depth < DEEPEST && each instanceof Error; depth++, each = each.cause)
    if (each instanceof LocalError && each.brief !== undefined) return each.brief;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== "string") return "it failed";
  return CAUSES.get(code.startsWith("AUTH_") ? "UNAUTHORIZED" : code) ?? "it failed";
}

/** An upstream that could not be asked, or did not answer: the words are for whoever called. */
export class UpstreamError extends RpcError {
  override readonly name: string = "UpstreamError";
}

/** A server that asks what its caller never declared breaks the protocol: the caller is not asked. */
export function violated(name: string, error: unknown): unknown {
  if (!(error instanceof RpcError) || error.code !== McpErrorCode.MissingRequiredClientCapability) return error;
  return new RpcError(ErrorCode.InvalidParams, `${name} asked what this client did not declare`);
}

interface Told {
  readonly name: string;
  readonly call: Call;
  /** Whether it is the call of a tool, or something that only reads. */
  readonly isCall: boolean;
  readonly came: Readonly<Pick<Sent, "sent" | "begun">>;
  /** Questions put to a person within the call so far. */
  readonly asked: number;
  readonly words: {
    error?(error: RpcError, call: Call, asked: number): RpcError | Promise<RpcError>;
    failed?(failure: RelayFailure): string | undefined;
  };
}

/**
 * A server that ended before it had answered, and said so, is told of like one whose connection ended: in no words of its own. A
 * gateway that says the same of a server behind it, which it names, has not ended. Nor does a server know a call any more that asked
 * something and whose state it refuses: its caller has sent that state as it came.
 */
function asEnded(error: unknown, begun: boolean): unknown {
  if (!(error instanceof RpcError) || error instanceof UpstreamError) return error;
  if (begun && refusesState(error)) return new LocalError("FORGOTTEN", error.message, { cause: error });
  if (error.code !== ErrorCode.InternalError) return error;
  const saysSo = isJsonObject(error.data) && error.data["outcome"] === "unknown" && !("server" in error.data);
  return saysSo ? new LocalError("CLOSED", error.message) : error;
}

/** Whether an error is about the state of a round. The specification has no code for it: those of other makes have its name in their words. */
function refusesState({ code, data, message }: RpcError): boolean {
  if (code !== ErrorCode.InvalidParams) return false;
  const path = isJsonObject(data) ? data["path"] : undefined;
  return path === undefined ? /request.?state/i.test(message) : path === "/requestState";
}

/** The error as the caller is told of it. */
export async function toldOf(
  { name, call, isCall, came, asked, words }: Told,
  thrown: unknown,
  stop: Stop,
): Promise<unknown> {
  const error = asEnded(thrown, came.begun);
  if (error instanceof AskError) return error;
  if (error instanceof RpcError) {
    if (error instanceof UpstreamError) return error;
    // Every error goes the same way first: no code of a server's choice leads its words around what judges them.
    const said = (await words.error?.(withoutOrigin(error), call, asked)) ?? withoutOrigin(error);
    if (!OWN_HOP.has(error.code)) return said;
    return new UpstreamError(ErrorCode.InternalError, `${name} could not be spoken to: ${said.message}`);
  }
  if (!(error instanceof LocalError)) return error;
  if (stop.isStopped && error.code === "CANCELLED") return endedBy(stop);
  const { text: what, reason } = sentenceOf(name, error);
  const outcome = reason === "VIOLATION" ? undefined : outcomeOf(error, came);
  const text = outcome === undefined ? what : `${what}. ${OUTCOMES[outcome][isCall ? "call" : "request"]}`;
  const said = words.failed?.({ call, server: name, error, told: text }) ?? text;
  const data = { server: name, reason, ...(outcome === "unknown" ? { outcome } : {}) };
  return new UpstreamError(ErrorCode.InternalError, said, data);
}

/** Why a call is ended whose client was asked and has not come back: its server is told. */
export const NOT_BACK = "the client did not come back with an answer";

function endedBy({ reason }: Stop): Error {
  if (reason === NOT_BACK) return new AskError("EXPIRED", "The client did not come back with an answer in time");
  return new DOMException("The call was cancelled", "AbortError");
}

/** What the caller is told of whether it ran. */
const OUTCOMES = {
  unknown: {
    call: "Whether the call did its work is not known: look, before you make it again",
    request: "Whether it was served is not known",
  },
  none: { call: "The call did not run", request: "It was not served" },
} as const;

/**
 * Errors by which a request that was sent is known to be refused: nothing of it reached the server, or nothing of it was taken. That a
 * session is forgotten servers have said of calls that they had served.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  "FORBIDDEN",
  "NOT_SUPPORTED",
  "NO_SECRET",
  "REFUSED",
  "SPAWN_FAILED",
  "UNAUTHORIZED",
  "UNREACHABLE",
]);

/** From here on an HTTP status says that something broke, which may have been after the work was done. */
const BROKE = 500;

function outcomeOf(error: LocalError, { sent, begun }: Told["came"]): "unknown" | "none" {
  if (begun) return "unknown";
  if (!sent) return "none";
  const { code } = error;
  if (code === "HTTP_STATUS") return (statusOf(error) ?? BROKE) >= BROKE ? "unknown" : "none";
  return REFUSALS.has(code) || code.startsWith("AUTH_") ? "none" : "unknown";
}

function sentenceOf(name: string, error: LocalError): { readonly text: string; readonly reason: string } {
  const broken = "Upstream violated the protocol:";
  const refused = error.code === "REFUSED" && error.cause instanceof RpcError ? error.cause : undefined;
  const undeclared = refused?.code === ErrorCode.MethodNotFound || refused?.code === ErrorCode.InvalidParams;
  if (undeclared && error.name !== "ConnectError")
    return {
      text: `${broken} ${name} asked what this client did not declare (${refused?.message})`,
      reason: "VIOLATION",
    };
  if (error.code === "INVALID_RESPONSE") {
    const what = error.brief ?? "its answer is no message of the protocol";
    return { text: `${broken} ${name}: ${what}`, reason: "VIOLATION" };
  }
  return { text: `${name}: ${briefCause(error)}`, reason: error.code };
}

/** Which number the upstream gave is our client's business: the codecs give each caller its own. */
function withoutOrigin(error: RpcError): RpcError {
  const { code, message } = error;
  const data = exactly(error.data);
  if (!isJsonObject(data) || !("originalCode" in data))
    return data === error.data ? error : new RpcError(code, message, data);
  const { originalCode: _, ...rest } = data;
  return new RpcError(code, message, Object.keys(rest).length === 0 ? undefined : rest);
}

// How a mounted server is, and the pause it is left alone for after it failed several times in a row.

/** How a mounted server is, as far as its connections show it. */
export interface MountState {
  /**
   * `stopped`: nothing is open, the next call connects. `degraded`: it is connected, and failed since it last answered. `broken`: it
   * failed three times in a row and is left alone for a while.
   */
  readonly state: "stopped" | "starting" | "ready" | "degraded" | "broken";
  /** Failures in a row. */
  readonly failures: number;
  /** Milliseconds until it is tried again; 0 where nothing waits. */
  readonly retryMs: number;
  /** What the latest failure said; undefined once it has answered again. */
  readonly cause: string | undefined;
  /** The same as the end of a sentence, without command lines, addresses and words of the server: what its callers are told. */
  readonly brief: string | undefined;
  /** The word of that failure to branch on, where it has one. */
  readonly code: string | undefined;
}

/** Failures in a row after which a server is left alone for a while. */
const FAILURES = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** What no waiting mends: an owner has to give a secret, or log in. */
const OWNERS_FAULT: ReadonlySet<string> = new Set(["NO_SECRET", "USAGE", "UNAUTHORIZED", "FORBIDDEN"]);

/**
 * Leaves a server alone that failed three times in a row: it could not be connected to, or ended before it had answered anything.
 * After a while, twice as long each time, one call at a time is let through to see; until it knows, the others are refused.
 */
export class UpstreamBreaker {
  readonly #now: () => number;
  #failures = 0;
  #restAgainAt = 0;
  #probing = false;
  #latest: unknown;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get failures(): number {
    return this.#failures;
  }

  get broken(): boolean {
    return this.#failures >= FAILURES;
  }

  get retryMs(): number {
    return this.broken ? Math.max(0, this.#restAgainAt - this.#now()) : 0;
  }

  get cause(): string | undefined {
    return this.#latest instanceof Error ? this.#latest.message : undefined;
  }

  get brief(): string | undefined {
    return this.#latest === undefined ? undefined : briefCause(this.#latest);
  }

  get code(): string | undefined {
    return this.#latest instanceof LocalError ? this.#latest.code : undefined;
  }

  /** Why nothing may be opened now; undefined lets one through. */
  refusal(name: string): LocalError | undefined {
    if (!this.broken) return undefined;
    const left = this.retryMs;
    if (left <= 0 && !this.#probing) {
      this.#probing = true;
      return undefined;
    }
    const when = `It is tried again in ${Math.max(1, Math.ceil(left / 1_000))} s`;
    const text = `${name} could not be reached ${this.#failures} times in a row: ${this.cause} ${when}.`;
    const brief = `it failed ${this.#failures} times in a row (${briefCause(this.#latest)}). ${when}`;
    return new LocalError("BROKEN", text, { cause: this.#latest, brief });
  }

  /** It can be connected to; whether it also answers is not known yet. */
  connected(): void {
    this.#probing = false;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#probing = false;
    this.#latest = undefined;
  }

  failed(error: unknown): void {
    this.#probing = false;
    this.#latest = error;
    if (error instanceof LocalError && (OWNERS_FAULT.has(error.code) || error.code.startsWith("AUTH_"))) return;
    this.#failures++;
    if (!this.broken) return;
    const times = { firstMs: FIRST_PAUSE_MS, mostMs: LONGEST_PAUSE_MS };
    this.#restAgainAt = this.#now() + restartDelay(this.#failures - FAILURES + 1, times);
  }
}

/** Whether nothing was sent for it, so that it may be sent over another connection. */
export function isUnsent(error: unknown): boolean {
  return error instanceof LocalError && error.unsent;
}

/** The members that a block of each kind has, all of them texts. */
const BLOCKS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["text", ["text"]],
  ["image", ["data", "mimeType"]],
  ["audio", ["data", "mimeType"]],
  ["resource_link", ["uri", "name"]],
  ["resource", []],
]);

/** What no revision allows in an answer, so that no client could read it; undefined where there is nothing of the kind. */
export function faultOf(
  kind: "tool" | "prompt" | "resource" | "template",
  result: JsonObject,
  { revision }: { readonly revision: string },
): string | undefined {
  const { resultType, content, contents, messages } = result;
  if (resultType === "input_required" || kind === "template") return undefined;
  if (kind === "resource") {
    if (!Array.isArray(contents)) return "what was read has no contents";
    return contents.every(isContents) ? undefined : "what was read has contents that lack what they have to have";
  }
  if (kind === "prompt") {
    if (messages !== undefined && !Array.isArray(messages)) return "it has no messages";
    return (messages ?? []).every(isMessage) ? undefined : "it has a message of no role, or of an unknown kind";
  }
  if (isJsonObject(result["task"])) return "it made a task of the call, and nobody asked for one";
  const isSaid =
    Array.isArray(content) && (!FILLED_IN.has(content) || isStructured(result, revision) || isOldest(result));
  if (!isSaid) return "the result of the call has no content";
  const { isError } = result;
  if (isError !== undefined && typeof isError !== "boolean") return "isError is neither true nor false";
  const odd = content.some((block) => !isJsonObject(block) || !BLOCKS.has(block["type"]));
  if (odd) return "the result of the call has content of an unknown kind";
  return content.every(isBlock) ? undefined : "the result of the call has content that lacks what its kind has";
}

/** The answer of a call, once it is known to be what the definition of its tool promises. */
export function checkedBy(
  client: Client,
  known: KnownTool | undefined,
  called: Promise<JsonObject>,
): Promise<JsonObject> {
  if (known === undefined) return called;
  return called.then((result) => keepsPromise(client, known, result).then(() => result));
}

/** Rejects with INVALID_RESPONSE where structured content is not what the definition promises. */
async function keepsPromise(client: Client, known: KnownTool, result: JsonObject): Promise<void> {
  const { resultType, isError } = result;
  if (known.outputSchema === undefined || isError === true || resultType === "input_required") return;
  if (revisionOf(client.revision)?.rules.structuredContent === "none") return;
  // Loaded for the first result that has to be checked: by then there is a client, which brings it along.
  const { promiseFault } = await import("../client/caches.js");
  // What is wrong with it would repeat what it says.
  if ((await promiseFault(known, result)) === undefined) return;
  const brief = "the result of the call is not what its tool promises in its outputSchema";
  throw new LocalError("INVALID_RESPONSE", brief, { brief });
}

/** Whether an answer has structured content as its revision knows it: many servers give that alone. */
function isStructured({ structuredContent }: JsonObject, revision: string): boolean {
  const rule = revisionOf(revision)?.rules.structuredContent;
  return rule === "object" ? isJsonObject(structuredContent) : rule !== "none" && structuredContent !== undefined;
}

/** Whether an answer is in the form of before 2024-11-05, which some servers still give: clients find no content in it. */
function isOldest({ toolResult }: JsonObject): boolean {
  return toolResult !== undefined && toolResult !== null;
}

function isBlock(block: JsonObject): boolean {
  const { type, resource, annotations, _meta: meta } = block;
  if (annotations !== undefined && !isJsonObject(annotations)) return false;
  if (meta !== undefined && !isJsonObject(meta)) return false;
  for (const member of BLOCKS.get(type) ?? []) if (typeof block[member] !== "string") return false;
  return type !== "resource" || isContents(resource);
}

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant"]);

/** A message that a client may put before its model: of a person or of the model, never of the system. */
function isMessage(message: unknown): boolean {
  if (!isJsonObject(message) || !ROLES.has(message["role"])) return false;
  const { content } = message;
  return isJsonObject(content) && BLOCKS.has(content["type"]) && isBlock(content);
}

function isContents(resource: unknown): boolean {
  if (!isJsonObject(resource) || typeof resource["uri"] !== "string") return false;
  const { text, blob } = resource;
  if (![text, blob].every((each) => each === undefined || typeof each === "string")) return false;
  return text !== undefined || blob !== undefined;
}
