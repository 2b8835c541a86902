// Cleans what a request ends with before it leaves: results, and the texts of errors.
import { type Answer, ReadyResult, RpcError } from "@secure-local/mcp/server";
import { cleanResult, cleanValue } from "./cleaning/clean-result.js";
import { type CleanLimits, cleanText } from "./cleaning/clean-text.js";

export function cleanAnswer(answer: Answer, limits: CleanLimits): Answer {
  if (answer instanceof ReadyResult) return answer;
  if (answer["resultType"] !== "input_required") return cleanResult(answer, limits);
  // The state is sealed by this server: nothing in it can act on anyone, and cutting it would break it.
  return { ...answer, inputRequests: cleanValue(answer["inputRequests"], limits) };
}

export function cleanError(error: RpcError, limits: CleanLimits): RpcError {
  const message = cleanText(error.message, limits);
  const data = cleanValue(error.data, limits);
  return message === error.message && data === error.data ? error : new RpcError(error.code, message, data);
}
