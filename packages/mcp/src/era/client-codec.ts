// How a client speaks. In a session: params as they are, one header, results without a type. Without one: an envelope in every request,
// headers that repeat the body, typed results.
import { invalidResponse } from "../jsonrpc/errors.js";
import { ExactNumber } from "../jsonrpc/exact-numbers.js";
import { jsonText, isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import { META } from "../protocol/meta.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { ClientCodec, ClientDescription, HeaderArgument, RequestExtras } from "./codec.js";
import { projectClientCapabilities, readCall, readKind, writeAnswer } from "./read-result.js";
import { projectImplementation } from "./project-result.js";
import { encodeHeader, NAMED, valueAt } from "./stateless/headers.js";

/** In a session. */
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

/** Without one. */
export class StatelessClientCodec implements ClientCodec {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly clientInfo: object;
  /** The envelope's members as JSON, without the braces: it is the same in every request. */
  readonly #envelope: string;
  readonly #envelopeWithTasks: string;

  constructor(revision: Revision, { clientInfo, capabilities }: ClientDescription) {
    this.revision = revision;
    this.capabilities = projectClientCapabilities(revision, capabilities);
    this.clientInfo = projectImplementation(revision, clientInfo);
    const { extensions } = this.capabilities;
    const withTasks = { ...this.capabilities, extensions: { [TASKS_EXTENSION]: {}, ...extensions } };
    const envelope = { [META.protocolVersion]: revision.date, [META.clientInfo]: this.clientInfo };
    this.#envelope = members({ ...envelope, [META.clientCapabilities]: this.capabilities });
    this.#envelopeWithTasks = members({ ...envelope, [META.clientCapabilities]: withTasks });
  }

  paramsText(params: object | undefined, extras: RequestExtras | undefined): string {
    const given = params as JsonObject | undefined;
    const own = given?.["_meta"];
    let meta = extras?.tasks === true ? this.#envelopeWithTasks : this.#envelope;
    if (extras?.progressToken !== undefined) meta += `,"progressToken":${JSON.stringify(extras.progressToken)}`;
    if (extras?.logLevel !== undefined) meta += `,${JSON.stringify(META.logLevel)}:"${extras.logLevel}"`;
    if (given === undefined) return `{"_meta":{${meta}}}`;
    if (own === undefined) {
      const text = jsonText(given);
      return text === "{}" ? `{"_meta":{${meta}}}` : `${text.slice(0, -1)},"_meta":{${meta}}}`;
    }
    // What the caller put into the envelope's own keys would be there twice.
    return jsonText({ ...given, _meta: { ...(own as object), ...(JSON.parse(`{${meta}}`) as object) } });
  }

  headers(
    method: string,
    params: JsonObject | undefined,
    mirrored?: readonly HeaderArgument[],
  ): Readonly<Record<string, string>> {
    return requestHeaders({ version: this.revision.date, method, params, mirrored });
  }

  readResult(method: string, result: JsonObject): JsonObject {
    const record = this.revision.methods.get(method);
    const type = result["resultType"];
    if (type === "input_required") return this.#question(method, result, record?.interactive === true);
    // Some servers write the type of a task also where it is only shown.
    const known = type === undefined || type === "complete" || (type === "task" && isTaskMethod(method));
    if (!known) throw invalidResponse(method, `resultType ${JSON.stringify(type)} means nothing to this client`);
    if (record === undefined) return result;
    const read = readKind(record.result, method, result, this.revision);
    if (record.result !== "task" || !isJsonObject(read["result"])) return read;
    return { ...read, result: readCall(method, read["result"]) };
  }

  answer(method: string, result: object): object {
    return writeAnswer(this.revision, method, result);
  }

  #question(method: string, result: JsonObject, allowed: boolean): JsonObject {
    if (!allowed) throw invalidResponse(method, "this method may not ask for input");
    const { inputRequests, requestState } = result;
    if (inputRequests === undefined && requestState === undefined) {
      throw invalidResponse(method, "input_required has neither inputRequests nor requestState");
    }
    if (inputRequests !== undefined && !isJsonObject(inputRequests)) {
      throw invalidResponse(method, "inputRequests is no object");
    }
    if (requestState !== undefined && typeof requestState !== "string") {
      throw invalidResponse(method, "requestState is no string");
    }
    return result;
  }
}

function isTaskMethod(method: string): boolean {
  return method === "tools/call" || method.startsWith("tasks/");
}

function members(envelope: object): string {
  return JSON.stringify(envelope).slice(1, -1);
}

// Writes the headers of 2026-07-28 that repeat the body.

interface HeaderSource {
  readonly version: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Arguments of the tool that is called which want a header of their own. */
  readonly mirrored?: readonly HeaderArgument[] | undefined;
}

/** By lower-case name. */
function requestHeaders({ version, method, params, mirrored }: HeaderSource): Record<string, string> {
  const headers: Record<string, string> = { "mcp-protocol-version": version, "mcp-method": method };
  const member = NAMED[method];
  const name = member === undefined ? undefined : params?.[member];
  if (typeof name === "string") headers["mcp-name"] = encodeHeader(name);
  if (mirrored === undefined) return headers;
  for (const { header, path } of mirrored) {
    const value = valueAt(params?.["arguments"], path);
    if (typeof value === "string") headers[header] = encodeHeader(value);
    else if (typeof value === "number" || typeof value === "boolean" || value instanceof ExactNumber)
      headers[header] = String(value);
  }
  return headers;
}
