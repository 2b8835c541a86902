// Reads the per-request envelope of the stateless era: version, capabilities, identity and log level in `params._meta`.
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import type { ClientCapabilities } from "../../protocol/capabilities.js";
import { McpErrorCode } from "../../protocol/error-codes.js";
import { type LoggingLevel, levelIndex } from "../../protocol/features/logging.js";
import type { Implementation } from "../../protocol/implementation.js";
import { META } from "../../protocol/meta.js";
import { REVISIONS, revision } from "../../protocol/revisions/all.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import { peerWords } from "../../jsonrpc/visible-text.js";

/** What a valid envelope says. */
export interface Envelope {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
  readonly logLevel: LoggingLevel | undefined;
}

/** The request's `_meta` when it claims the stateless era: by a version, or by capabilities whose version was forgotten. */
export function claimOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  if (typeof meta !== "object" || meta === null) return undefined;
  return META.protocolVersion in meta || META.clientCapabilities in meta ? meta : undefined;
}

/** Reads an envelope, or says what is wrong with it: -32602 for a missing or malformed key, -32022 for a version we do not serve this way. */
export function readEnvelope(meta: JsonObject): Envelope | RpcError {
  const version = meta[META.protocolVersion];
  if (version === undefined) return missingEnvelope();
  if (typeof version !== "string") return badKey(META.protocolVersion, "must be a string");
  const known = revision(version);
  if (known?.era !== "stateless") return unsupported(version);
  const capabilities = meta[META.clientCapabilities];
  if (!isObject(capabilities)) return badKey(META.clientCapabilities, "must be an object ({} when there are none)");
  const client = meta[META.clientInfo];
  if (client !== undefined && !isObject(client)) return badKey(META.clientInfo, "must be an object");
  const logLevel = meta[META.logLevel];
  if (logLevel !== undefined && levelIndex(logLevel) < 0) return badKey(META.logLevel, "must be a log level");
  return {
    revision: known,
    capabilities: capabilities,
    client: client as Implementation | undefined,
    logLevel: logLevel as LoggingLevel | undefined,
  };
}

/** -32602 for a request that needs an envelope and has none. */
export function missingEnvelope(): RpcError {
  return badKey(META.protocolVersion, "is missing");
}

function unsupported(requested: string): RpcError {
  const supported = REVISIONS.map((known) => known.date);
  return new RpcError(
    McpErrorCode.UnsupportedProtocolVersion,
    `Unsupported protocol version: ${peerWords(requested)}`,
    {
      supported,
      requested,
    },
  );
}

function badKey(key: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `params._meta["${key}"] ${constraint}`, {
    path: `/_meta/${key.replaceAll("/", "~1")}`,
    constraint,
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
