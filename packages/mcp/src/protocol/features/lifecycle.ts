// Getting to know each other: the handshake, ping, and the discovery that replaced them in 2026-07-28.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../capabilities.js";
import type { Meta } from "../meta.js";
import {
  type CacheableResult,
  fault,
  type MethodRecord,
  optionalObject,
  type ParamsFault,
  requireObject,
  requireString,
} from "../method.js";

/** Params of `initialize`. Deployed clients leave out parts of `clientInfo`, or all of it. */
export interface InitializeRequestParams {
  protocolVersion: string;
  capabilities: ClientCapabilities;
  clientInfo?: Implementation;
  _meta?: Meta;
}

export interface InitializeResult {
  protocolVersion: string;
  capabilities: ServerCapabilities;
  serverInfo: Implementation;
  instructions?: string;
  _meta?: Meta;
}

export interface DiscoverResult extends CacheableResult {
  /** Newest first. */
  supportedVersions: string[];
  capabilities: ServerCapabilities;
  instructions?: string;
  _meta?: Meta;
}

export const INITIALIZE: MethodRecord<InitializeRequestParams> = {
  name: "initialize",
  check: checkInitialize,
  capability: undefined,
  cacheable: false,
  interactive: false,
  result: "initialize",
};

export const PING: MethodRecord = {
  name: "ping",
  check: () => undefined,
  capability: undefined,
  cacheable: false,
  interactive: false,
  result: "empty",
};

export const DISCOVER: MethodRecord = {
  name: "server/discover",
  check: () => undefined,
  capability: undefined,
  cacheable: true,
  interactive: false,
  result: "discover",
};

/** `clientInfo` is only looked at for its type. */
function checkInitialize(params: JsonObject): ParamsFault | undefined {
  return (
    requireString(params, "protocolVersion") ??
    requireObject(params, "capabilities") ??
    optionalObject(params, "clientInfo")
  );
}

// Log messages a server sends to its client, and the level that lets them through.

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
