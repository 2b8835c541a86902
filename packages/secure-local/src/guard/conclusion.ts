// Turns how a request ended into its answer and what the audit record says of it.
import type { Answer, Call } from "@secure-local/mcp/server";
import { RpcError } from "@secure-local/mcp/server";
import { cleanAnswer, cleanError } from "./clean-answer.js";
import { HiddenTextError } from "./cleaning/clean-text.js";
import type { Ending } from "./deadline.js";
import { type FaultBook, hidden } from "./fault-book.js";
import { giveUp, timedOut } from "./refusal.js";
import type { Guarded, Result } from "./trail.js";
import { wordedAnswer } from "./worded-answer.js";

/** Where a failed result of a tool names the rule that refused what it tried. */
export const RULE_META = "mcp-secure-local/rule";

/** An answer or an error, cleaned, and its record. */
export interface Conclusion {
  readonly told: Answer | RpcError;
  readonly result: Result;
}

export interface Times {
  readonly durationMs: number;
  readonly timeoutMs: number;
}

export function conclude(
  { call, subject, terms }: Guarded,
  ending: Ending,
  at: Times & { readonly faults: FaultBook; readonly outside: boolean },
): Conclusion {
  const { durationMs, timeoutMs, faults } = at;
  if (call.ended) return cancelled(call, durationMs);
  if (ending.timedOut === true) {
    const result: Result = { outcome: "timeout", durationMs, fault: undefined, detail: undefined };
    return { told: giveUp(subject, timedOut(subject, timeoutMs)), result };
  }
  if (ending.answer === undefined) return failed(ending.error, durationMs, terms.cleaning);
  const answer = ending.answer as Readonly<Record<string, unknown>>;
  const isError = answer["isError"] === true;
  const fault = isError ? faults.claim(answer) : undefined;
  const rule = isError ? ruleBehind(answer) : undefined;
  const failure = rule === undefined ? "error" : "denied";
  const outcome = isError ? failure : answer["resultType"] === "input_required" ? "input_required" : "ok";
  const told = cleaned(wordedAnswer(call, ending.answer), {
    terms,
    outside: at.outside && rule === undefined && !fault,
  });
  if (told === undefined) {
    const detail = { rule: HIDDEN_RULE };
    return { told: giveUp(subject, HIDDEN_REFUSED), result: { outcome: "denied", durationMs, fault, detail } };
  }
  return {
    told,
    result: { outcome, durationMs, fault, detail: rule === undefined ? undefined : { rule } },
  };
}

const HIDDEN_RULE = "output.hidden_unicode: refuse";
const HIDDEN_REFUSED = `The result is withheld: it holds characters that nobody sees. Rule: ${HIDDEN_RULE}.`;

/** Undefined when the policy refuses what is hidden in it. */
function cleaned(
  answer: Answer,
  { terms: { cleaning, policy }, outside }: Pick<Guarded, "terms"> & { readonly outside: boolean },
): Answer | undefined {
  try {
    return cleanAnswer(answer, cleaning, outside && policy.output.markUntrusted);
  } catch (error) {
    if (error instanceof HiddenTextError) return undefined;
    throw error;
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
function failed(thrown: unknown, durationMs: number, cleaning: Guarded["terms"]["cleaning"]): Conclusion {
  if (thrown instanceof RpcError) {
    const result: Result = { outcome: "error", durationMs, fault: undefined, detail: { code: thrown.code } };
    return { told: cleanError(thrown, cleaning), result };
  }
  const { error, fault } = hidden(thrown);
  return { told: error, result: { outcome: "error", durationMs, fault, detail: undefined } };
}
