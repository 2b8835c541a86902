// How a client speaks in a session: params as they are, one header, results without a type.
import { jsonText, type JsonObject } from "../../jsonrpc/message.js";
import type { ClientCapabilities } from "../../protocol/capabilities.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import type { ClientCodec, ClientDescription, RequestExtras } from "../codec.js";
import { projectClientCapabilities, readKind, writeAnswer } from "../read-result.js";
import { projectImplementation } from "../project-result.js";

export class HandshakeClientCodec implements ClientCodec {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: object;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(revision: Revision, { clientInfo, capabilities }: ClientDescription) {
    this.revision = revision;
    this.capabilities = projectClientCapabilities(revision, capabilities);
    this.clientInfo = projectImplementation(revision, clientInfo);
    this.#headers = { "mcp-protocol-version": revision.date };
  }

  paramsText(params: object | undefined, extras: RequestExtras | undefined): string | undefined {
    const token = extras?.progressToken;
    if (token === undefined) return params === undefined ? undefined : jsonText(params);
    const meta = (params as JsonObject | undefined)?.["_meta"];
    return jsonText({ ...params, _meta: { ...(meta as object | undefined), progressToken: token } });
  }

  headers(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  readResult(method: string, result: JsonObject): JsonObject {
    const record = this.revision.methods.get(method);
    return record === undefined ? result : readKind(record.result, method, ofSession(result), this.revision);
  }

  answer(method: string, result: object): object {
    return writeAnswer(this.revision, method, result);
  }
}

/**
 * What these members mean is defined by a later era. In a session's results, which may have any further members, they are the
 * server's own, or were left there by one that speaks both eras: nobody may act on them.
 */
const LATER_MEMBERS = ["resultType", "inputRequests", "requestState", "ttlMs", "cacheScope"];

function ofSession(result: JsonObject): JsonObject {
  if (!LATER_MEMBERS.some((name) => result[name] !== undefined)) return result;
  return Object.fromEntries(Object.entries(result).filter(([name]) => !LATER_MEMBERS.includes(name)));
}
