// Writes for the stateless era: every result says its type, its server and, where it may be kept, for how long. Reads what every
// request of it says of its caller.
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import {
  asOneText,
  jsonPieces,
  jsonText,
  type ErrorObject,
  isJsonObject,
  type JsonObject,
  type NotificationMessage,
  peerWords,
  type RequestMessage,
} from "../../jsonrpc/message.js";
import { McpErrorCode, META } from "../../protocol/meta.js";
import type { ClientCapabilities, Implementation } from "../../protocol/capabilities.js";
import { levelIndex, type LoggingLevel } from "../../protocol/features/lifecycle.js";
import { DATES, NEWEST } from "../../protocol/revisions/newest.js";
import { claimOf, type MethodRecord } from "../../protocol/method.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import type { Codec } from "../codec.js";
import { plainToolPieces, projectImplementation, projectNotification, projectResult } from "../project-result.js";

/** Codes from -32000 to -32099 that the revision defines; the others of that range must not be sent. */
const DEFINED: ReadonlySet<number> = new Set([
  McpErrorCode.HeaderMismatch,
  McpErrorCode.MissingRequiredClientCapability,
  McpErrorCode.UnsupportedProtocolVersion,
]);

const COMPLETE = '"resultType":"complete",';
const NO_TTL = '"ttlMs":0,';
const PRIVATE = '"cacheScope":"private",';

/** The codec of one revision of the stateless era. */
export class StatelessCodec implements Codec {
  readonly revision: Revision;
  readonly fitting: undefined;
  /** `"_meta":{…},` of each server that answers: it is the same in every result. */
  readonly #metaTexts = new WeakMap<Implementation, string>();

  constructor(revision: Revision) {
    this.revision = revision;
  }

  resultText(record: MethodRecord, result: object, identity: Implementation): string {
    return asOneText(this.resultPieces(record, result, identity));
  }

  resultPieces(record: MethodRecord, result: object, identity: Implementation): string | readonly string[] {
    const isCall = record.result === "callTool";
    const plain = isCall ? plainToolPieces(result, COMPLETE + this.#metaText(identity)) : undefined;
    if (plain !== undefined) return plain;
    const { resultType, ttlMs, cacheScope, _meta } = result as JsonObject;
    // Whoever asks has its questions projected.
    if (resultType === "input_required") return jsonText(this.#signed(result, identity));
    let head = resultType === undefined ? COMPLETE : "";
    if (record.cacheable && ttlMs === undefined) head += NO_TTL;
    if (record.cacheable && cacheScope === undefined) head += PRIVATE;
    const projected = projectResult(this, record.result, result);
    if (_meta === undefined) return withHead(head + this.#metaText(identity), jsonPieces(projected));
    return withHead(head, jsonPieces(this.#signed(projected, identity)));
  }

  error(error: RpcError): ErrorObject {
    const { code, message, data } = error;
    if (code === McpErrorCode.ResourceNotFound) return { ...error.toObject(), code: ErrorCode.InvalidParams };
    if (code > -32000 || code < -32099 || DEFINED.has(code)) return error.toObject();
    return { code: ErrorCode.InternalError, message, data: { upstream: { code, message, data } } };
  }

  notification(method: string, params: object): object | undefined {
    return projectNotification(this, method, params);
  }

  /** The result with the server's identity beside what its `_meta` holds already. */
  #signed(result: object, identity: Implementation): object {
    const serverInfo = projectImplementation(this.revision, identity);
    const own = (result as { _meta?: object })._meta;
    return { ...result, _meta: { [META.serverInfo]: serverInfo, ...own } };
  }

  #metaText(identity: Implementation): string {
    let text = this.#metaTexts.get(identity);
    if (text === undefined) {
      text = `"_meta":${JSON.stringify({ [META.serverInfo]: projectImplementation(this.revision, identity) })},`;
      this.#metaTexts.set(identity, text);
    }
    return text;
  }
}

/** Puts members, each followed by a comma, before those of an object's JSON text. */
function withHead(head: string, text: string | readonly string[]): string | readonly string[] {
  if (typeof text === "string") return text === "{}" ? `{${head.slice(0, -1)}}` : `{${head}${text.slice(1)}`;
  const [first = "", ...rest] = text;
  return [`{${head}${first.slice(1)}`, ...rest];
}

const CODECS: ReadonlyMap<string, Codec> = new Map([[NEWEST.date, new StatelessCodec(NEWEST)]]);

/** The codec of a version of this era; undefined for any other. */
export function statelessCodec(version: string): Codec | undefined {
  return CODECS.get(version);
}

// Reads the per-request envelope of the stateless era: version, capabilities, identity and log level in `params._meta`.

/** What a valid envelope says. */
export interface Envelope {
  readonly codec: Codec;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
  readonly logLevel: LoggingLevel | undefined;
}

/** Reads an envelope, or says what is wrong with it: -32602 for a missing or malformed key, -32022 for a version we do not serve this way. */
export function readEnvelope(meta: JsonObject): Envelope | RpcError {
  const version = meta[META.protocolVersion];
  if (version === undefined) return missingEnvelope();
  if (typeof version !== "string") return badKey(META.protocolVersion, "must be a string");
  const codec = statelessCodec(version);
  if (codec === undefined) return unsupported(version);
  const capabilities = meta[META.clientCapabilities];
  if (!isJsonObject(capabilities)) return badKey(META.clientCapabilities, "must be an object ({} when there are none)");
  const client = meta[META.clientInfo];
  if (client !== undefined && !isJsonObject(client)) return badKey(META.clientInfo, "must be an object");
  const logLevel = meta[META.logLevel];
  if (logLevel !== undefined && levelIndex(logLevel) < 0) return badKey(META.logLevel, "must be a log level");
  return {
    codec,
    capabilities,
    client: client as Implementation | undefined,
    logLevel: logLevel as LoggingLevel | undefined,
  };
}

/** -32602 for a request that needs an envelope and has none. */
export function missingEnvelope(): RpcError {
  return badKey(META.protocolVersion, "is missing");
}

function unsupported(requested: string): RpcError {
  const what = `Unsupported protocol version: ${peerWords(requested)}`;
  return new RpcError(McpErrorCode.UnsupportedProtocolVersion, what, { supported: DATES, requested });
}

function badKey(key: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `params._meta["${key}"] ${constraint}`, {
    path: `/_meta/${key.replaceAll("/", "~1")}`,
    constraint,
  });
}

/** Whether a message claims the stateless era, which has no batches. */
export function claimsStateless(message: RequestMessage | NotificationMessage): boolean {
  return claimOf(message.params) !== undefined;
}

/** Whether a parsed message, batch or fault belongs to the stateless era: the header decides, then the body. */
export function isStateless(value: unknown, version: string | undefined): boolean {
  if (version !== undefined && statelessCodec(version.trim()) !== undefined) return true;
  return Array.isArray(value) ? value.some(claims) : claims(value);
}

function claims(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { params } = value;
  return isJsonObject(params) && claimOf(params) !== undefined;
}
