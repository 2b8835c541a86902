// Cleans what a request ends with before it leaves: results, and the texts of errors.
import { type Answer, ReadyResult, RpcError } from "@secure-local/mcp/server";
import { cleanResult, cleanValue } from "./cleaning/clean-result.js";
import { type CleanLimits, cleanText } from "./cleaning/clean-text.js";
import { MARK_BYTES, markUntrusted } from "./cleaning/mark-untrusted.js";

/** `outside`: whether strangers wrote its texts, and it has to say so. @throws HiddenTextError */
export function cleanAnswer(answer: Answer, limits: CleanLimits, outside = false): Answer {
  if (answer instanceof ReadyResult) return answer;
  if (answer["resultType"] !== "input_required") {
    if (!outside) return cleanResult(answer, limits);
    return markUntrusted(cleanResult(answer, { ...limits, textBytes: limits.textBytes - MARK_BYTES }));
  }
  // A question is for a person, who has to see all of it. The state is sealed by this server: nothing in it can act on
  // anyone, and cutting it would break it.
  return { ...answer, inputRequests: cleanValue(answer["inputRequests"]) };
}

/** Never refused: what went wrong has to be told. */
export function cleanError(error: RpcError, { hidden, ...limits }: CleanLimits): RpcError {
  const rules: CleanLimits = hidden === "show" ? { ...limits, hidden } : limits;
  const message = cleanText(error.message, rules);
  const data = cleanValue(error.data, rules);
  return message === error.message && data === error.data ? error : new RpcError(error.code, message, data);
}
