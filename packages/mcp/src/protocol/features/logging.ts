// Log messages a server sends to its client, and the level that lets them through.
import type { JsonObject } from "../../jsonrpc/message.js";
import { fault, type MethodRecord, type ParamsFault } from "../method.js";

/** All levels, from the least to the most severe. */
export const LOGGING_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** Severity of a log message, from `debug` to `emergency` as in RFC 5424 (server/utilities/logging). */
export type LoggingLevel = (typeof LOGGING_LEVELS)[number];

/** Rank of a level: 0 for debug, 7 for emergency, -1 for anything that is not a level. */
export function levelIndex(level: unknown): number {
  return (LOGGING_LEVELS as readonly unknown[]).indexOf(level);
}

/** Params of `logging/setLevel`. */
export interface SetLevelRequestParams {
  level: LoggingLevel;
}

export const SET_LEVEL: MethodRecord<SetLevelRequestParams> = {
  name: "logging/setLevel",
  check: checkSetLevel,
  capability: "logging",
  cacheable: false,
  interactive: false,
  result: "empty",
};

function checkSetLevel(params: JsonObject): ParamsFault | undefined {
  const level = params["level"];
  return levelIndex(level) >= 0
    ? undefined
    : fault(["level"], `one of ${LOGGING_LEVELS.join(", ")}`, level === undefined);
}
