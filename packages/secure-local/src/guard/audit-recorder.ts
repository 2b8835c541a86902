// What the guard says of a request: the audit records of it (what was meant, how it ended, what was refused), the answers of refused
// ones, and the log messages for who asked. Also keeps the texts of exceptions until they are recorded.
import { ErrorCode, exactly } from "@secure-local/mcp/jsonrpc";
import {
  type Answer,
  type Call,
  errorIdOf,
  type LoggingLevel,
  McpErrorCode,
  type Next,
  ReadyResult,
  RpcError,
} from "@secure-local/mcp/server";
import {
  AuditError,
  type AuditErrorCode,
  type AuditEvent,
  type AuditSink,
  type UpstreamHop,
} from "../audit/audit-event.js";
import { redactValue } from "../audit/event-text.js";
import type { Decision } from "../policy/decide.js";
import { inOneLine, type Rule } from "../policy/faults.js";
import type { RememberedConsent } from "./approvals/remembered.js";
import { callerMeta } from "./caller-meta.js";
import { cleanValue } from "./cleaning/clean-result.js";
import { type CompiledPolicy, passedOn, seconds, SET_LEVEL, type Subject } from "./compiled-policy.js";
import { SlidingWindow } from "./rate-limits.js";

/** A request and the terms it is judged by. */
export interface GuardedRequest {
  readonly call: Call;
  readonly subject: Subject;
  readonly terms: CompiledPolicy;
  /** The number of its session, or its own where it belongs to none. */
  readonly connection: number;
  /** The server of the policy whose thing it is about; undefined for our own. */
  readonly server: string | undefined;
}

interface Along {
  readonly terms: CompiledPolicy;
  readonly next: Next;
  readonly serverOf: (subject: Subject) => string | undefined;
}

const PASSED_ON: Rule = { text: "what ends a subscription or sets a level is anybody's" };

/** How a request ended, as the log names it. */
export interface RequestEnd {
  readonly outcome: "ok" | "error" | "denied" | "timeout" | "cancelled" | "input_required";
  readonly durationMs: number;
  readonly fault: Fault | undefined;
  /** What else there is to say: why it was cancelled, which error code it got. */
  readonly detail: Readonly<Record<string, unknown>> | undefined;
}

/** The way of a request to a server of the policy, if it took one. */
interface WayTaken {
  readonly upstream?: UpstreamHop | undefined;
  /** Why that server did not answer. */
  readonly failure?: string | undefined;
}

const NO_WAY: WayTaken = {};

/** The call that something was done for, as the log names it. */
export type ActedFor = Pick<AuditEvent, "id" | "connection" | "principal" | "policy">;

export function actedFor({ call, terms, connection }: GuardedRequest): ActedFor {
  const { id } = terms.records;
  const { principal } = call.carrier;
  return { id: id ? call.id : undefined, connection: id ? connection : undefined, principal, policy: terms.label };
}

/** Every method but `begin` resolves when its record is safe, and rejects when it is not. */
export class AuditRecorder {
  readonly #audit: AuditSink;
  readonly #connections = new Connections();

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  /** To be called once for each request. */
  begin(call: Call, subject: Subject, { terms, server }: Pick<GuardedRequest, "terms" | "server">): GuardedRequest {
    return { call, subject, terms, connection: this.#connections.numberOf(call), server };
  }

  intent({ call, subject, terms, connection, server }: GuardedRequest, { text, line }: Rule): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.intent",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      client: records.id ? clientOf(call) : undefined,
      revision: server === undefined ? undefined : call.caller.codec.revision.date,
      method: call.method,
      tool: records.tool && subject.name !== "" ? subject.name : undefined,
      server: records.tool ? server : undefined,
      arguments: records.arguments ? argumentsOf(call, server) : undefined,
      decision: records.decision ? { allowed: true, rule: text, line } : undefined,
      policy: terms.label,
      detail: records.arguments && server !== undefined ? recordedMeta(call.meta) : undefined,
    });
  }

  result(
    { call, subject, terms, connection, server }: GuardedRequest,
    { outcome, durationMs, fault, detail }: RequestEnd,
    told?: Answer | RpcError,
    { upstream, failure }: WayTaken = NO_WAY,
  ): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "call.result",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      // What came before may be archived by the time that somebody reads it.
      client: records.id ? clientOf(call) : undefined,
      revision: server === undefined ? undefined : call.caller.codec.revision.date,
      method: call.method,
      tool: records.tool && subject.name !== "" ? subject.name : undefined,
      server: records.tool ? server : undefined,
      duration_ms: records.duration ? thousandths(durationMs) : undefined,
      upstream: upstream && hopText(upstream, records),
      outcome: records.outcome ? outcome : undefined,
      result: records.result ? resultOf(told) : undefined,
      error_id: fault?.id,
      error: fault?.text ?? failure,
      policy: terms.label,
      detail,
    });
  }

  /** How a request that no rule is about is served: with its records, where it is told to a mounted server. */
  along(call: Call, { terms, next, serverOf }: Along): Next {
    const subject = terms.policy.servers.size === 0 ? undefined : passedOn(call);
    if (subject === undefined) return next;
    const server = call.method === SET_LEVEL ? undefined : serverOf(subject);
    if (server === undefined && call.method !== SET_LEVEL) return next;
    return () => this.#passed(this.begin(call, subject, { terms, server }), next);
  }

  async #passed(guarded: GuardedRequest, next: Next): Promise<Answer> {
    const began = performance.now();
    const notKept = (text: string, error: unknown): RpcError =>
      new RpcError(ErrorCode.InternalError, `${text} ${logAdvice(error)}`);
    const ended = async (outcome: "ok" | "error", told: Answer | RpcError): Promise<void> => {
      const end = { outcome, durationMs: performance.now() - began, fault: undefined, detail: undefined };
      await this.result(guarded, end, told).catch((error: unknown) => {
        throw notKept(WITHHELD, error);
      });
    };
    await this.intent(guarded, PASSED_ON).catch((error: unknown) => {
      throw notKept(NOT_RECORDED, error);
    });
    let answer: Answer;
    try {
      answer = await next();
    } catch (error) {
      await ended("error", error instanceof RpcError ? error : hideException(error).error);
      throw error;
    }
    await ended("ok", answer);
    return answer;
  }

  /** What became of a question to a person. */
  approval(
    { call, subject, terms, connection, server }: GuardedRequest,
    kind: "approval.asked" | "approval.given" | "approval.denied",
    { rule: { text, line }, detail }: { readonly rule: Rule; readonly detail: Readonly<Record<string, unknown>> },
  ): Promise<void> {
    const { records } = terms;
    const allowed = kind === "approval.given";
    return this.#audit.record({
      kind,
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      client: records.id ? clientOf(call) : undefined,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      server: records.tool ? server : undefined,
      arguments: records.arguments && kind === "approval.asked" ? argumentsOf(call, server) : undefined,
      decision: records.decision && kind !== "approval.asked" ? { allowed, rule: text, line } : undefined,
      policy: terms.label,
      detail,
    });
  }

  /** A person has taken back an answer that was remembered. It is of no call. */
  takenBack(
    { id, call, tool, client, principal, actor, at }: RememberedConsent,
    { by, records, label }: { readonly by: string } & Pick<CompiledPolicy, "records" | "label">,
  ): Promise<void> {
    const does = actor === "" ? {} : { actor };
    return this.#audit.record({
      kind: "approval.taken_back",
      principal: principal === "" ? undefined : principal,
      client: client === "" || !records.id ? undefined : client,
      tool: records.tool ? tool : undefined,
      policy: label,
      detail: { by, answer: id, answered: new Date(at).toISOString(), call, ...does },
    });
  }

  refused(
    { call, subject, terms, connection, server }: GuardedRequest,
    { outcome, rule, line, withheld }: Refusal,
  ): Promise<void> {
    const { records } = terms;
    return this.#audit.record({
      kind: "denied",
      id: records.id ? call.id : undefined,
      connection: records.id ? connection : undefined,
      principal: call.carrier.principal,
      client: records.id ? clientOf(call) : undefined,
      revision: server === undefined ? undefined : call.caller.codec.revision.date,
      method: call.method,
      tool: records.tool ? subject.name : undefined,
      server: records.tool ? server : undefined,
      arguments: records.arguments ? argumentsOf(call, server) : undefined,
      decision: records.decision ? { allowed: false, rule, line } : undefined,
      outcome: records.outcome ? outcome : undefined,
      detail: withheld === undefined ? undefined : { withheld },
      policy: terms.label,
    });
  }
}

/** The hop without what the policy leaves out of its records. */
function hopText({ revision, transport, sent, ids, ms }: UpstreamHop, records: CompiledPolicy["records"]): UpstreamHop {
  return {
    revision,
    transport,
    sent,
    ids: records.id ? ids : undefined,
    ms: records.duration && ms !== undefined ? thousandths(ms) : undefined,
  };
}

/** What left, whose texts are cut with all others of the record. A question is on record where it is asked. */
function resultOf(told: Answer | RpcError | undefined): unknown {
  if (told instanceof RpcError) return { error: told.message };
  if (told instanceof ReadyResult) return undefined;
  const {
    _meta: _,
    inputRequests: __,
    requestState: ___,
    ...result
  } = (told ?? {}) as Readonly<Record<string, unknown>>;
  return Object.keys(result).length === 0 ? undefined : result;
}

function thousandths(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** Characters of a client's name, and of its version, that are kept: it chooses them itself. */
const MAX_CLIENT = 60;

/** What the client calls itself, for people: `claude-ai 0.1.0`. */
export function clientOf({ caller: { client } }: Call): string | undefined {
  // Only its type was looked at: the members are whatever the client sent.
  const { name, version }: { readonly name?: unknown; readonly version?: unknown } = client ?? {};
  if (typeof name !== "string" || name === "") return undefined;
  const words = typeof version === "string" && version !== "" ? ` ${version.slice(0, MAX_CLIENT)}` : "";
  return name.slice(0, MAX_CLIENT) + words;
}

/** What was asked with: arguments of tools and prompts, the one being completed with those before it; a server gets the very digits. */
function argumentsOf({ method, params }: Call, server: string | undefined): unknown {
  const { arguments: whole, argument, context, level } = params;
  if (level !== undefined && method === SET_LEVEL) return { level };
  const given = whole ?? (context === undefined ? argument : { ...(argument as object), context });
  return server === undefined ? given : exactly(given);
}

/** Names that a record has of what was dropped, and characters of one: the caller chooses both. */
const MAX_NAMES = 16;
const MAX_NAME = 100;

/** What a record says of a caller's `_meta`; undefined where there is nothing to say. */
function recordedMeta(
  meta: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const { passed, dropped } = callerMeta(meta);
  const names = dropped.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME));
  const more = dropped.length - names.length;
  if (dropped.length === 0 && Object.keys(passed).length === 0) return undefined;
  return {
    ...(Object.keys(passed).length === 0 ? {} : { meta: passed }),
    ...(dropped.length === 0 ? {} : { meta_dropped: names }),
    ...(more === 0 ? {} : { meta_dropped_more: more }),
  };
}

// Numbers those who ask, so that equal request ids of two clients can be told apart in the record.

/**
 * A session has one number for as long as it lasts; a request of the stateless era, which belongs to no session, has one
 * of its own. Counted from 1 since the start of the server.
 */
class Connections {
  readonly #numbers = new WeakMap<Call["caller"], number>();
  #count = 0;
  /** Most calls come from the one who made the call before. */
  #last: Call["caller"] | undefined;
  #lastNumber = 0;

  /** To be asked once for each request. */
  numberOf({ caller }: Call): number {
    // Nobody asks about this caller again: it needs no entry, which would cost the collector more than the call.
    if (caller.codec.revision.era === "stateless") return ++this.#count;
    if (this.#last === caller) return this.#lastNumber;
    let number = this.#numbers.get(caller);
    if (number === undefined) this.#numbers.set(caller, (number = ++this.#count));
    this.#last = caller;
    this.#lastNumber = number;
    return number;
  }
}

// Keeps the text of exceptions until the audit record of their call is written: the client only ever gets an id.

/** Exceptions whose call has not ended yet; those of calls that were given up are never asked for. */
const MAX_KEPT = 1_000;

/** An exception and the id a client was given in its place. */
interface Fault {
  readonly id: string;
  readonly text: string;
}

export class PendingExceptions {
  readonly #texts = new Map<string, string>();

  note(id: string, error: unknown): void {
    if (this.#texts.size >= MAX_KEPT) this.#texts.delete(this.#texts.keys().next().value as string);
    this.#texts.set(id, textOf(error));
  }

  /** The exception a failed tool result stands for. */
  claim(result: Answer): Fault | undefined {
    if (this.#texts.size === 0) return undefined;
    const id = errorIdOf(result);
    const text = id === undefined ? undefined : this.#texts.get(id);
    if (id === undefined || text === undefined) return undefined;
    this.#texts.delete(id);
    return { id, text };
  }
}

/** Gives an exception an id. The error is what the client gets of it. */
export function hideException(error: unknown): { readonly fault: Fault; readonly error: RpcError } {
  const id = crypto.randomUUID().slice(0, 8);
  const text = `Internal error (error id ${id}; the server's log has the details)`;
  return { fault: { id, text: textOf(error) }, error: new RpcError(ErrorCode.InternalError, text, { errorId: id }) };
}

/** Nothing that was thrown can make this throw: it would take the record along. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? (thrown.stack ?? `${thrown.name}: ${thrown.message}`) : String(thrown);
  } catch {
    return "something was thrown that has no text";
  }
}

// The answers the guard gives instead of a handler's: results a model can act on for tools, errors for everything else.

/** Why a request is not served, or not answered, and what its audit record says of it. */
export interface Refusal {
  readonly text: string;
  /** The rule behind it, for the record. */
  readonly rule: string;
  /** Where the rule stands in the policy file; absent where it is not the file's own. */
  readonly line?: number | undefined;
  readonly outcome: "denied" | "rate_limited" | "unknown";
  /** Why the thing itself is withheld, for the record; absent where the policy refuses. */
  readonly withheld?: string | undefined;
  readonly error: RpcError;
}

export function denied(subject: Subject, { rule, reason, withheld }: Decision): Refusal {
  const place = rule.line === undefined ? "" : ` (line ${rule.line} of the policy)`;
  const text = inOneLine(`Denied. ${reason} Rule: ${rule.text}${place}.`);
  const data = { path: subject.path, constraint: `a ${subject.kind} the policy allows`, rule: rule.text };
  const error = new RpcError(ErrorCode.InvalidParams, text, data);
  return { text, rule: rule.text, line: rule.line, outcome: "denied", error, withheld };
}

/** Nothing has this name; the codes are those the library itself gives. */
export function unknown({ kind, name, path }: Subject): Refusal {
  const rule = `there is no such ${kind}`;
  if (kind === "resource") {
    const text = inOneLine(`Resource not found: ${name}`);
    return { text, rule, outcome: "unknown", error: new RpcError(McpErrorCode.ResourceNotFound, text, { uri: name }) };
  }
  const text = inOneLine(`Unknown ${kind}: ${name}`);
  const data = { path, constraint: `the name of a ${kind} in ${kind}s/list` };
  return { text, rule, outcome: "unknown", error: new RpcError(ErrorCode.InvalidParams, text, data) };
}

/** A limit that was reached. */
interface Reached {
  /** Milliseconds until there is a place again. */
  readonly waitMs: number;
  /** Where the policy raises it; undefined where nothing does. */
  readonly key?: string;
  /** Where the policy says it; undefined where it does not. */
  readonly line?: number | undefined;
}

/** `what` is over its limit of `limit` a minute. */
export function limited(what: string, limit: number, { waitMs, key, line }: Reached): Refusal {
  const wait = Math.ceil(waitMs / 1_000);
  // A place is held a moment longer than the minute that it counts for.
  const until = wait > 60 ? "just over a minute" : `${wait} second${wait === 1 ? "" : "s"}`;
  const raise = key === undefined ? "" : ` To allow more, raise ${key} in the policy.`;
  const text = `Too many ${what}: at most ${limit} a minute are allowed. Try again in ${until}.${raise}`;
  const error = new RpcError(ErrorCode.InternalError, text, { retryAfterMs: Math.ceil(waitMs) });
  return { text, rule: `rate limit: ${limit} a minute`, line, outcome: "rate_limited", error };
}

export const NOT_RECORDED = "Not run: the audit log is unavailable, and calls that cannot be recorded are not made.";
export const WITHHELD = "The call ended, but the audit log became unavailable, so its result is withheld.";

/** What to do about a log that takes no records. Callers need not know where it lies; the server's stderr says that. */
export function logAdvice(error: unknown): string {
  const code = error instanceof AuditError ? error.code : "io";
  return LOG_ADVICE[code] ?? "Free space or repair the disk, or restart the server with another audit log.";
}

const LOG_ADVICE: Readonly<Partial<Record<AuditErrorCode, string>>> = {
  taken_away: "Its file was moved, removed or exchanged while the server ran: put it back, or restart the server.",
  foreign_writer:
    "Somebody else changed its file: check it with `mcp-secure-local audit verify`, then restart the server.",
  queue_full: "Too many records wait for the disk: try again when it answers.",
};

/**
 * `task`: whether it had become one, which has a time limit of its own; `why`: what is known of the cause; `limited`: the name that the
 * policy limits it by. Default: its own.
 */
export function timedOut(
  { kind, name }: Subject,
  ms: number,
  {
    task,
    why,
    limited: by = name,
  }: { readonly task: boolean; readonly why?: string | undefined; readonly limited?: string | undefined },
): string {
  const key = task ? "task_timeout" : `timeouts.${kind === "tool" ? by : "default"}`;
  if (why !== undefined)
    return `The ${kind} ${name} timed out after ${seconds(ms)}: ${why}. The server's standard error shows what it wrote. If it only needs longer, raise tools.${key} in the policy.`;
  return `The ${kind} ${name} timed out after ${seconds(ms)}. To give it longer, raise tools.${key} in the policy.`;
}

/** Tools are answered with a result the model can read; everything else, and what does not exist, with an error. */
export function refuse(subject: Subject, refusal: Refusal): Answer | RpcError {
  return subject.kind === "tool" && refusal.outcome !== "unknown" ? toolFailure(refusal.text) : refusal.error;
}

/** For a request the guard could not bring to an end. */
export function giveUp(subject: Subject, text: string): Answer | RpcError {
  return subject.kind === "tool" ? toolFailure(text) : new RpcError(ErrorCode.InternalError, text);
}

function toolFailure(text: string): Answer {
  return { content: [{ type: "text", text }], isError: true };
}

type Told = Readonly<Record<"text" | "rule", string>>;

/** What is told of a call that nobody lets go on, and by which rule. */
export const UNKNOWN_CALL: Told = Object.freeze({
  text: "Denied. The policy was changed while this call began. Make it again.",
  rule: "approvals",
});

export const UNTOLD =
  "The call ended, but what the processes of this server share cannot be reached (UNREACHABLE), so its result is withheld: the others have to know what was read.";

export const UNTOLD_QUESTION =
  "What the processes of this server share cannot be reached (UNREACHABLE), so the question is not passed on: the others have to know what was read.";

export const NO_CALL: Told = Object.freeze({
  text: "Denied. Nothing is done outside of a call that is under way.",
  rule: "plugins act within a call",
});

// Tells callers what the guard did, as log messages of theirs and nobody else's.

/** Ranks of the levels used here, as the protocol counts them from 0 for debug. */
const RANKS: Readonly<Record<Extract<LoggingLevel, "notice" | "warning">, number>> = { notice: 2, warning: 3 };
/** Messages a minute for everybody together: a client that is refused all the time need not be told all the time. */
const MESSAGES = 120;

export class ClientLog {
  readonly #window = new SlidingWindow();
  readonly #own = new WeakSet();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a message that belongs to the request, if its caller wants that level. Secrets are taken out. */
  send(call: Call, level: keyof typeof RANKS, data: Readonly<Record<string, unknown>>): void {
    if (RANKS[level] < call.caller.logLevel || this.#window.take(MESSAGES, this.#now()) > 0) return;
    const params = { level, logger: "guard", data: cleanValue(redactValue(data)) };
    this.#own.add(params);
    void call.notify("notifications/message", params);
  }

  /** Whether a message is ours, and tells of nothing that was read. */
  isOwn(params: object): boolean {
    return this.#own.has(params);
  }
}

/** @throws RpcError when that is what there is to tell. */
export function answerOf(told: Answer | RpcError): Answer {
  if (told instanceof RpcError) throw told;
  return told;
}
