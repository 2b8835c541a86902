// Params and results of the methods that answer in pages.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { Meta } from "../meta.js";
import type { ParamsFault } from "../method.js";
import { optionalString } from "../params-check.js";

export interface PaginatedResult {
  /** Absent on the last page. */
  nextCursor?: string;
  _meta?: Meta;
}

/** How long, and for whom, a result may be kept (2026-07-28). */
export interface CacheableResult {
  /** Milliseconds, an integer of at least 0. */
  ttlMs?: number;
  cacheScope?: "public" | "private";
}

export function checkCursor(params: JsonObject): ParamsFault | undefined {
  return optionalString(params, "cursor");
}
