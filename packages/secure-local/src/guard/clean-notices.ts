// Cleans what a handler sends while it runs: progress and log messages.
import type { Call } from "@secure-local/mcp/server";
import { cleanValue } from "./cleaning/clean-result.js";
import type { CleanLimits } from "./cleaning/clean-text.js";

/** Whether the caller has asked to be told anything before the answer. */
export function wantsNotices({ progressToken, caller }: Call): boolean {
  return progressToken !== undefined || caller.logLevel !== Number.POSITIVE_INFINITY;
}

/** From now on everything the call sends is cleaned. Nothing is refused: a hidden character is removed instead. */
export function cleanNotices(call: Call, { hidden, ...limits }: CleanLimits): void {
  const notify = call.notify.bind(call);
  const rules: CleanLimits = hidden === "show" ? { ...limits, hidden } : limits;
  call.notify = (method, params) => notify(method, cleanValue(params, rules));
}
