// Cleans what a handler sends while it runs: progress and log messages.
import { cleanValue } from "./cleaning/clean-result.js";
import type { CleanLimits } from "./cleaning/clean-text.js";

/** What cleans the params of all that a call sends. Nothing is refused: a hidden character is removed instead. */
export function noticeCleaner({ hidden, ...limits }: CleanLimits): (params: object) => object {
  const rules: CleanLimits = hidden === "show" ? { ...limits, hidden } : limits;
  return (params) => cleanValue(params, rules);
}
