// Writes for the revisions that begin with `initialize`: no result types, no cache hints, their own error numbers.
import { ErrorCode, type RpcError } from "../../jsonrpc/errors.js";
import { asOneText, jsonPieces, type ErrorObject, isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { McpErrorCode, META } from "../../protocol/meta.js";
import type { ElicitRequestURLParams } from "../../protocol/features/elicitation.js";
import type { MethodRecord } from "../../protocol/method.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import type { Codec } from "../codec.js";
import { plainToolPieces, projectNotification, projectQuestion, projectResult } from "../project-result.js";

/** Members of results that only the stateless era has. Old clients read empty results strictly and choke on them. */
const STATELESS_MEMBERS = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];

/** Codes only the stateless era has, and what stands for them. */
const RENUMBERED: ReadonlyMap<number, number> = new Map([
  [McpErrorCode.HeaderMismatch, ErrorCode.InternalError],
  [McpErrorCode.MissingRequiredClientCapability, ErrorCode.InvalidParams],
  [McpErrorCode.UnsupportedProtocolVersion, ErrorCode.InvalidParams],
]);

/** The codec of one revision of the handshake era. */
export class HandshakeCodec implements Codec {
  readonly revision: Revision;

  constructor(revision: Revision) {
    this.revision = revision;
  }

  resultText(record: MethodRecord, result: object): string {
    return asOneText(this.resultPieces(record, result));
  }

  resultPieces(record: MethodRecord, result: object): string | readonly string[] {
    if (record.result === "empty") return "{}";
    const plain = record.result === "callTool" ? plainToolPieces(result) : undefined;
    if (plain !== undefined) return plain;
    if ((result as JsonObject)["resultType"] === "input_required") {
      throw new TypeError(
        `${record.name} answered input_required to a ${this.revision.date} client, which cannot read it`,
      );
    }
    return jsonPieces(withoutStateless(projectResult(this.revision, record.result, result)));
  }

  error(error: RpcError): ErrorObject {
    const { code, message, data } = error;
    if (code === ErrorCode.InvalidParams && namesResource(data)) {
      return { code: this.revision.rules.resourceNotFound, message, data };
    }
    if (code === McpErrorCode.UrlElicitationRequired) return this.#urlsRequired(error);
    const other = RENUMBERED.get(code);
    return other === undefined ? error.toObject() : { ...error.toObject(), code: other };
  }

  notification(method: string, params: object): object | undefined {
    const projected = projectNotification(this.revision, method, params);
    return projected && withoutSubscription(projected);
  }

  serverRequest(method: string, params: object): object {
    return projectQuestion(this.revision, method, params);
  }

  /** Where the code does not exist, the pages to open are at least named in the message. */
  #urlsRequired(error: RpcError): ErrorObject {
    const elicitations = elicitationsOf(error.data);
    if (this.revision.rules.urlElicitationRequired) {
      const projected = elicitations.map((each) => this.serverRequest("elicitation/create", each));
      return { ...error.toObject(), data: { ...(error.data as object), elicitations: projected } };
    }
    const urls = elicitations.map((each) => each.url).join(", ");
    return { code: ErrorCode.InternalError, message: urls === "" ? error.message : `${error.message}: ${urls}` };
  }
}

function withoutStateless(result: object): object {
  if (!STATELESS_MEMBERS.some((member) => member in result)) return result;
  const copy: JsonObject = { ...result };
  for (const member of STATELESS_MEMBERS) delete copy[member];
  return copy;
}

function withoutSubscription(params: object): object {
  const meta = (params as JsonObject)["_meta"];
  if (!isJsonObject(meta) || !(META.subscriptionId in meta)) return params;
  const { _meta, ...rest } = params as JsonObject;
  const { [META.subscriptionId]: _, ...kept } = meta;
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}

/** Only "no such resource" carries `data.uri`; everything else that is wrong with params carries a path. */
function namesResource(data: unknown): boolean {
  return isJsonObject(data) && typeof data["uri"] === "string";
}

function elicitationsOf(data: unknown): readonly ElicitRequestURLParams[] {
  const list = isJsonObject(data) ? data["elicitations"] : undefined;
  return Array.isArray(list) ? list : [];
}
