// The small things that SDK v1 and v2 export beside their classes: names, guards, errors, and what asks by returning.

import { type JsonObject, isJsonObject } from "../jsonrpc/message.js";
import { assumedRevision } from "../era/select.js";
import { McpErrorCode, META } from "../protocol/meta.js";
import { NEWEST_HANDSHAKE, REVISIONS } from "../protocol/revisions/all.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import { type JsonSchema, shownValue } from "../schema/schema.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";

/** SDK v1's error for the other side: its message begins with the code, as v1 writes it. */
export class McpError extends RpcError {
  override readonly name: string = "McpError";

  constructor(code: number, message: string, data?: unknown) {
    super(code, `MCP error ${code}: ${message}`, data);
  }
}

/** SDK v2's error for the other side. */
export class ProtocolError extends RpcError {
  override readonly name: string = "ProtocolError";
}

/** Says that pages have to be opened first. */
export class UrlElicitationRequiredError extends RpcError {
  constructor(elicitations: readonly object[], message = "URL elicitation required") {
    super(McpErrorCode.UrlElicitationRequired, message, { elicitations });
  }
}

/** What the SDKs answer for an exception: its message and, where it has one, its code. */
export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const { code, data, message } = (error ?? {}) as { code?: unknown; data?: unknown; message?: unknown };
  const said = typeof message === "string" ? message : String(error);
  return new RpcError(Number.isSafeInteger(code) ? (code as number) : -32603, said, data);
}

/** What SDK v1 calls the newest: the last revision with sessions. */
export const LATEST_PROTOCOL_VERSION: string = NEWEST_HANDSHAKE.date;
/** What SDK v1 assumes of a client that names no revision over HTTP. */
export const DEFAULT_NEGOTIATED_PROTOCOL_VERSION: string = (assumedRevision(undefined) ?? NEWEST_HANDSHAKE).date;
/** Dates of the revisions that are served, newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: readonly string[] = REVISIONS.map(({ date }) => date);
/** The version member of every message. */
export const JSONRPC_VERSION = "2.0";
/** Key of `_meta` under which a request of 2026-07-28 names its revision. */
export const PROTOCOL_VERSION_META_KEY: string = META.protocolVersion;
/** Key of `_meta` under which a request of 2026-07-28 names its client. */
export const CLIENT_INFO_META_KEY: string = META.clientInfo;
/** Key of `_meta` under which a request of 2026-07-28 says what its client can do. */
export const CLIENT_CAPABILITIES_META_KEY: string = META.clientCapabilities;
/** Key of `_meta` under which a request of 2026-07-28 asks for log messages. */
export const LOG_LEVEL_META_KEY: string = META.logLevel;
/** Key of `_meta` that says to which subscription a notification belongs. */
export const SUBSCRIPTION_ID_META_KEY: string = META.subscriptionId;
/** Key of `_meta` that says to which task of 2025-11-25 a message belongs. */
export const RELATED_TASK_META_KEY = "io.modelcontextprotocol/related-task";

/** Codes of JSON-RPC and MCP under the names of SDK v1. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ConnectionClosed: -32000,
  RequestTimeout: -32001,
  UrlElicitationRequired: -32042,
} as const;

/** The same under the name of SDK v2. */
export const ProtocolErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ResourceNotFound: -32002,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
  UrlElicitationRequired: -32042,
} as const;

/** Whether a value has the shape of a request. */
export function isJSONRPCRequest(value: unknown): boolean {
  return isJsonObject(value) && typeof value["method"] === "string" && value["id"] !== undefined;
}

/** Whether a value has the shape of a notification. */
export function isJSONRPCNotification(value: unknown): boolean {
  return isJsonObject(value) && typeof value["method"] === "string" && value["id"] === undefined;
}

/** Whether a value has the shape of a successful response. */
export function isJSONRPCResultResponse(value: unknown): boolean {
  return isJsonObject(value) && value["result"] !== undefined && value["id"] !== undefined;
}

/** Whether a value has the shape of an error response. */
export function isJSONRPCErrorResponse(value: unknown): boolean {
  return isJsonObject(value) && isJsonObject(value["error"]);
}

/** Whether a value has the shape of either response. */
export function isJSONRPCResponse(value: unknown): boolean {
  return isJSONRPCResultResponse(value) || isJSONRPCErrorResponse(value);
}

/** Whether a value is the request that opens a session. */
export function isInitializeRequest(value: unknown): boolean {
  return isJSONRPCRequest(value) && (value as JsonObject)["method"] === "initialize";
}

/** Whether a value says that the client is ready. */
export function isInitializedNotification(value: unknown): boolean {
  return isJSONRPCNotification(value) && (value as JsonObject)["method"] === "notifications/initialized";
}

/** Whether a value has the shape of a tool result. */
export function isCallToolResult(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value["content"]);
}

/** Whether a value asks instead of answering. */
export function isInputRequiredResult(value: unknown): boolean {
  return isJsonObject(value) && value["resultType"] === "input_required";
}

/** What people call a tool, a prompt or a resource. */
export function getDisplayName(metadata: { name: string; title?: string; annotations?: { title?: string } }): string {
  return metadata.title ?? metadata.annotations?.title ?? metadata.name;
}

/** A schema from a JSON Schema document, which our core compiles. */
export function fromJsonSchema<T = unknown>(schema: JsonSchema): StandardSchema<T, T> {
  const compiled = compileJsonSchema(schema, { fallbackToDraft07: true });
  const published = (): Record<string, unknown> => schema as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate: (value) => {
        const outcome = compiled.validate(value);
        if (outcome.ok) return { value: outcome.value as T };
        return { issues: outcome.faults.map(({ message, path }) => ({ message, path: path.split("/").slice(1) })) };
      },
      jsonSchema: { input: published, output: published },
    },
  };
}

// Asking by returning, as SDK v2 has it.

/** What the helpers of `inputRequired` make: one question of the result. */
export interface Asked {
  readonly method: string;
  readonly params?: object;
}

/** A result that asks the client and is asked for again with the answers. */
export interface AskingResult {
  readonly resultType: "input_required";
  readonly inputRequests?: Readonly<Record<string, Asked>>;
  readonly requestState?: string;
}

/** `inputRequired(...)` of SDK v2, with one helper for each kind of question. */
export interface InputRequiredBuilder {
  (spec: { readonly inputRequests?: Readonly<Record<string, Asked>>; readonly requestState?: string }): AskingResult;
  elicit(params: { readonly message: string; readonly requestedSchema: object }): Asked;
  elicitUrl(params: { readonly message: string; readonly url: string }): Asked;
  createMessage(params: object): Asked;
  listRoots(): Asked;
}

/** Ask, and be called again with the answers in `ctx.mcpReq.inputResponses`. */
export const inputRequired: InputRequiredBuilder = Object.assign(
  (spec: Parameters<InputRequiredBuilder>[0]): AskingResult => ({ resultType: "input_required", ...spec }),
  {
    elicit: ({ message, requestedSchema }: { readonly message: string; readonly requestedSchema: object }): Asked => ({
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: formOf(requestedSchema) },
    }),
    elicitUrl: (params: object): Asked => ({ method: "elicitation/create", params: { ...params, mode: "url" } }),
    createMessage: (params: object): Asked => ({ method: "sampling/createMessage", params }),
    listRoots: (): Asked => ({ method: "roots/list" }),
  },
);

/** A form as a JSON Schema, also where it was given as a schema of a library that exports one. */
function formOf(schema: object): object {
  const standard = (schema as Partial<StandardSchema>)["~standard"];
  if (standard?.jsonSchema === undefined) return schema;
  const { $schema: _, additionalProperties: __, ...form } = standard.jsonSchema.input({ target: "draft-2020-12" });
  return form;
}

/** Answers by the key of their question; undefined in the first round. */
export type Responses = Readonly<Record<string, unknown>> | undefined;

/** One answer, by what kind it is. */
export function inputResponse(
  responses: Responses,
  key: string,
): { readonly kind: string; readonly [member: string]: unknown } {
  const answer = responses?.[key];
  if (!isJsonObject(answer)) return { kind: "missing" };
  if (typeof answer["action"] === "string")
    return { kind: "elicit", action: answer["action"], content: answer["content"] };
  if (Array.isArray(answer["roots"])) return { kind: "roots", roots: answer["roots"] };
  return { kind: "sampling", result: answer };
}

/** What an accepted form holds; undefined where it was not accepted, or does not fit the schema. */
export function acceptedContent(
  responses: Responses,
  key: string,
  schema?: StandardSchema,
): Record<string, unknown> | undefined {
  const answer = responses?.[key];
  if (!isJsonObject(answer) || answer["action"] !== "accept") return undefined;
  if (schema === undefined) return answer["content"] as JsonObject;
  const checked = schema["~standard"].validate(answer["content"]);
  if (checked instanceof Promise) throw new TypeError("acceptedContent takes a schema that validates at once");
  return checked.issues === undefined ? (checked.value as JsonObject) : undefined;
}

/** What a tool returned, where it is an object. Throws WIRE_RESULT for the log: an SDK would send what no client takes for a result. */
export function resultReturned(answer: unknown): JsonObject {
  if (isJsonObject(answer)) return answer;
  const what = answer === undefined ? "nothing" : shownValue(answer);
  throw new LocalError("WIRE_RESULT", `The tool returned ${what}: return { content: [{ type: "text", text: "..." }] }`);
}
