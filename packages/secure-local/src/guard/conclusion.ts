// Turns how a request ended into its answer and what the audit record says of it.
import { type Answer, type Call, RpcError } from "@secure-local/mcp/server";
import { HiddenTextError } from "./cleaning/clean-text.js";
import { TooMuchWorkError } from "../audit/secret-shapes.js";
import type { UpstreamHop } from "../audit/audit-event.js";
import { type Ending, latenessOf } from "./compiled-policy.js";
import {
  giveUp,
  type GuardedRequest,
  hideException,
  type PendingExceptions,
  type RequestEnd,
  timedOut,
} from "./audit-recorder.js";
import { cleanAnswer, cleanError, LongResultError, WORK_RULE, workRefused } from "./cleaning/clean-result.js";

/** Where a failed result of a tool names the rule that refused what it tried. */
export const RULE_META = "mcp-secure-local/rule";

/** An answer or an error, cleaned, and its record. */
export interface Conclusion {
  readonly told: Answer | RpcError;
  readonly result: RequestEnd;
}

/** What became of a call on its way to a server of the policy. */
export interface ServerWay {
  /** Absent where it reached none. */
  readonly upstream?: UpstreamHop | undefined;
  /** Why the server did not answer, for the record alone. */
  readonly failure?: string | undefined;
  /** Why nothing was sent to it, though the call was let in. */
  readonly held?: { readonly rule: string; readonly reason: string } | undefined;
}

interface Circumstances {
  readonly durationMs: number;
  readonly timeoutMs: number;
  readonly faults: PendingExceptions;
  readonly outside: boolean;
  readonly held: ServerWay["held"];
}

export async function conclude(request: GuardedRequest, ending: Ending, at: Circumstances): Promise<Conclusion> {
  const { told, result } = await concluded(request, ending, at);
  if (at.held === undefined || result.outcome !== "error") return { told, result };
  const { rule, reason: withheld } = at.held;
  return { told, result: { ...result, outcome: "denied", detail: { ...result.detail, rule, withheld } } };
}

async function concluded(
  { call, subject, terms }: GuardedRequest,
  ending: Ending,
  at: Circumstances,
): Promise<Conclusion> {
  const { durationMs, timeoutMs, faults } = at;
  const isBegun = ending.timedOut === true || ending.answer !== undefined || "error" in ending;
  if (call.ended || !isBegun) return cancelled(call, durationMs);
  if (ending.timedOut === true) {
    const why = latenessOf(call);
    const detail = why === undefined ? undefined : { reason: why };
    const result: RequestEnd = { outcome: "timeout", durationMs, fault: undefined, detail };
    const limited = terms.policy.tools.timeoutsMs.byName.keyOf(subject.name);
    const late = timedOut(subject, timeoutMs, { task: call.task !== undefined, why, limited });
    return { told: giveUp(subject, late), result };
  }
  if (ending.answer === undefined) return failed(ending.error, durationMs, terms.cleaning);
  const answer = ending.answer as Readonly<Record<string, unknown>>;
  const isError = answer["isError"] === true;
  const fault = isError ? faults.claim(answer) : undefined;
  const rule = isError ? ruleBehind(answer) : undefined;
  const failure = rule === undefined ? "error" : "denied";
  const outcome = isError ? failure : answer["resultType"] === "input_required" ? "input_required" : "ok";
  const told = await cleaned(wordedAnswer(call, ending.answer), {
    terms,
    outside: at.outside && rule === undefined && !fault,
  });
  if ("refused" in told) {
    const detail = { rule: told.rule };
    return { told: giveUp(subject, told.refused), result: { outcome: "denied", durationMs, fault, detail } };
  }
  return {
    told: told.answer,
    result: { outcome, durationMs, fault, detail: rule === undefined ? undefined : { rule } },
  };
}

const HIDDEN_RULE = "output.hidden_unicode: refuse";
const HIDDEN_REFUSED = `The result is withheld: it holds characters that nobody sees. Rule: ${HIDDEN_RULE}.`;

/** An answer that may leave, or what is said instead of it and by which rule. */
type Cleaned = { readonly answer: Answer } | { readonly refused: string; readonly rule: string };

async function cleaned(
  answer: Answer,
  { terms: { cleaning, policy }, outside }: Pick<GuardedRequest, "terms"> & { readonly outside: boolean },
): Promise<Cleaned> {
  try {
    return { answer: await cleanAnswer(answer, cleaning, outside && policy.output.markUntrusted) };
  } catch (error) {
    if (error instanceof HiddenTextError) return { refused: HIDDEN_REFUSED, rule: HIDDEN_RULE };
    if (error instanceof TooMuchWorkError) return { refused: workRefused("result", error), rule: WORK_RULE };
    if (!(error instanceof LongResultError)) throw error;
    const rule = `output.max_bytes: ${policy.output.maxBytes}`;
    const refused = `The result is withheld: with all its members it is longer than the policy allows. Ask for less of it. Rule: ${rule}.`;
    return { refused, rule };
  }
}

/** The rule that refused what an allowed tool tried, such as a file or a host. */
function ruleBehind(answer: Readonly<Record<string, unknown>>): string | undefined {
  const rule = (answer["_meta"] as Readonly<Record<string, unknown>> | undefined)?.[RULE_META];
  return typeof rule === "string" ? rule : undefined;
}

/** Nobody waits for the answer any more: what it says does not matter, that there is a record does. */
function cancelled(call: Call, durationMs: number): Conclusion {
  const detail = call.cancellation && { reason: call.cancellation.reason };
  return { told: {}, result: { outcome: "cancelled", durationMs, fault: undefined, detail } };
}

/** Errors meant for the wire pass; of any other the caller gets an id, and the record its text. */
function failed(thrown: unknown, durationMs: number, cleaning: GuardedRequest["terms"]["cleaning"]): Conclusion {
  if (thrown instanceof RpcError) {
    const result: RequestEnd = { outcome: "error", durationMs, fault: undefined, detail: { code: thrown.code } };
    return { told: cleanError(thrown, cleaning), result };
  }
  const { error, fault } = hideException(thrown);
  return { told: error, result: { outcome: "error", durationMs, fault, detail: undefined } };
}

// Spares clients of older revisions what they would get twice: data they have no place for, behind the text that says it.

/** Without a text of its own, an answer keeps its data: the library then writes them as text. */
function wordedAnswer({ method, caller }: Call, answer: Answer): Answer {
  if (method !== "tools/call" || caller.codec.revision.rules.structuredContent !== "none") return answer;
  const { structuredContent: data, content } = answer as Readonly<Record<string, unknown>>;
  if (data === undefined || !Array.isArray(content) || content.length === 0) return answer;
  const { structuredContent: _, ...rest } = answer as Readonly<Record<string, unknown>>;
  return rest;
}
