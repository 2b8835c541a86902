// Cleans what a request ends with before it leaves, and what is told while it runs: results, errors, messages.
import { type Answer, ReadyResult, RpcError } from "@secure-local/mcp/server";
import { inTurns, MOST_AT_ONCE, MOST_LOOKED_AT, TooMuchWorkError } from "../../audit/long-work.js";
import { cleaningResult, cleanValue, MARK_BYTES, markUntrusted } from "./clean-result.js";
import type { CleanLimits } from "./clean-text.js";

/** No key of the policy: a longer search would serve nobody but who wants the server busy. */
export const WORK_RULE = "the work of looking for secrets";

/** What is told instead of something that nobody has looked through. */
export function workRefused(what: string, { most }: TooMuchWorkError): string {
  return `The ${what} is withheld: to look for secrets in all that is written in it in other ways, such as Base64, escapes and dumps, takes more than ${most} characters read, the most that is done for one. Ask for less of it.`;
}

/**
 * A long answer is cleaned in turns with whatever else there is to do.
 *
 * @param outside Whether strangers wrote its texts, and it has to say so.
 * @throws HiddenTextError, LongResultError, TooMuchWorkError
 */
export function cleanAnswer(answer: Answer, limits: CleanLimits, outside = false): Answer | Promise<Answer> {
  if (answer instanceof ReadyResult) return answer;
  // A question is for a person, who has to see all of it. The state is sealed by this server: nothing in it can act on
  // anyone, and cutting it would break it.
  if (answer["resultType"] === "input_required")
    return { ...answer, inputRequests: cleanValue(answer["inputRequests"], undefined, MOST_AT_ONCE) };
  if (!outside) return inTurns(cleaningResult(answer, limits), MOST_LOOKED_AT);
  const marked = inTurns(
    cleaningResult(answer, { ...limits, textBytes: limits.textBytes - MARK_BYTES }),
    MOST_LOOKED_AT,
  );
  return marked instanceof Promise ? marked.then(markUntrusted) : markUntrusted(marked);
}

/** Never refused: what went wrong has to be told. */
export function cleanError(error: RpcError, { hidden, ...limits }: CleanLimits): RpcError {
  const rules: CleanLimits = hidden === "show" ? { ...limits, hidden } : limits;
  try {
    const { message, data } = cleanValue({ message: error.message, data: error.data }, rules, MOST_AT_ONCE);
    return message === error.message && data === error.data ? error : new RpcError(error.code, message, data);
  } catch (thrown) {
    if (!(thrown instanceof TooMuchWorkError)) throw thrown;
    return new RpcError(error.code, workRefused("text of the error", thrown));
  }
}

/** What is told while a call runs, cleaned. Of what would keep everybody waiting only what is short is left. */
export function cleanNotice(params: object, rules: CleanLimits): object {
  try {
    return cleanValue(params, rules, MOST_AT_ONCE);
  } catch (error) {
    if (!(error instanceof TooMuchWorkError)) throw error;
    const { _meta, ...told } = params as Readonly<Record<string, unknown>>;
    return Object.fromEntries(Object.entries(told).map(([key, value]) => [key, shortOr(value, rules, error)]));
  }
}

/** Longer than a number, a level or the name of a logger, and no message that anybody has to read. */
const SHORT = 256;

function shortOr(value: unknown, rules: CleanLimits, error: TooMuchWorkError): unknown {
  if (typeof value === "string" ? value.length <= SHORT : typeof value !== "object" || value === null)
    return cleanValue(value, rules);
  return workRefused("message", error);
}
