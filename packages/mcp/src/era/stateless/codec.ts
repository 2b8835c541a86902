// Writes for the stateless era: every result says its type, its server and, where it may be kept, for how long.
import { ErrorCode, type RpcError } from "../../jsonrpc/errors.js";
import { asOneText, jsonPieces, jsonText, type ErrorObject, type JsonObject } from "../../jsonrpc/message.js";
import { McpErrorCode, META } from "../../protocol/meta.js";
import type { InputRequests, InputRequiredResult } from "../../protocol/features/elicitation.js";
import type { Implementation } from "../../protocol/capabilities.js";
import type { MethodRecord } from "../../protocol/method.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import type { Codec } from "../codec.js";
import { plainToolPieces, projectNotification, projectQuestion, projectResult } from "../project-result.js";
import { projectImplementation } from "../project-items.js";

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
    if (resultType === "input_required") return jsonText(this.#signed(this.#questions(result), identity));
    let head = resultType === undefined ? COMPLETE : "";
    if (record.cacheable && ttlMs === undefined) head += NO_TTL;
    if (record.cacheable && cacheScope === undefined) head += PRIVATE;
    const projected = projectResult(this.revision, record.result, result);
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
    return projectNotification(this.revision, method, params);
  }

  serverRequest(method: string, params: object): object {
    return projectQuestion(this.revision, method, params);
  }

  #questions(result: object): object {
    const { inputRequests } = result as InputRequiredResult;
    if (inputRequests === undefined) return result;
    const projected = Object.entries(inputRequests).map(([key, { method, params }]) => [
      key,
      { method, params: this.serverRequest(method, params ?? {}) },
    ]);
    return { ...result, inputRequests: Object.fromEntries(projected) as InputRequests };
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
