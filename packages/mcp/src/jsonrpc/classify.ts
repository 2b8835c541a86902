// Tells the four kinds of message apart. The parsed object itself is the message: nothing is copied.
import { ErrorCode } from "./error-codes.js";
import { isJsonObject, isRequestId, type JsonObject } from "./message.js";
import { ParseFault } from "./parse-fault.js";

export type MessageKind = "request" | "notification" | "success" | "failure";

/** The kind of a parsed message, or a fault that names the rule it breaks and keeps its id where it has a valid one. */
export function classify(value: unknown): MessageKind | ParseFault {
  if (!isJsonObject(value)) return new ParseFault(ErrorCode.InvalidRequest, "A message must be a JSON object");
  const { id, params, result, error } = value;
  if (typeof value["method"] !== "string") return classifyResponse(value);
  if (value["jsonrpc"] === "2.0" && result === undefined && error === undefined) {
    if (params === undefined || isJsonObject(params)) {
      if (id === undefined) return "notification";
      if (isRequestId(id)) return "request";
    }
  }
  return faultOfRequest(value);
}

function faultOfRequest({ jsonrpc, id, params }: JsonObject): ParseFault {
  if (id !== undefined && !isRequestId(id)) {
    return new ParseFault(ErrorCode.InvalidRequest, '"id" must be a string or an integer between ±(2^53 - 1)');
  }
  const about = { id, silent: id === undefined };
  if (jsonrpc !== "2.0") return new ParseFault(ErrorCode.InvalidRequest, '"jsonrpc" must be "2.0"', about);
  if (params !== undefined && !isJsonObject(params)) {
    return new ParseFault(ErrorCode.InvalidParams, '"params" must be an object', about);
  }
  return new ParseFault(ErrorCode.InvalidRequest, 'A request has neither "result" nor "error"', about);
}

function classifyResponse(value: JsonObject): MessageKind | ParseFault {
  const { jsonrpc } = value;
  // Servers that write out optional members give an answer a null error, and a refusal a null result.
  const result = value["result"] === null && isErrorObject(value["error"]) ? undefined : value["result"];
  const error = value["error"] === null && isJsonObject(result) ? undefined : value["error"];
  const id = isRequestId(value["id"]) ? value["id"] : undefined;
  const idAllowed = id !== undefined || value["id"] === undefined || value["id"] === null;
  if (result === undefined && error === undefined) {
    return new ParseFault(ErrorCode.InvalidRequest, '"method" must be a string', { id });
  }
  if (jsonrpc === "2.0" && error === undefined && id !== undefined && isJsonObject(result)) return "success";
  if (jsonrpc === "2.0" && result === undefined && isErrorObject(error) && idAllowed) return "failure";
  // A response is never answered; its id lets the request it belongs to fail at once instead of by timeout.
  return new ParseFault(ErrorCode.InvalidRequest, "The response is malformed", { id, silent: true });
}

function isErrorObject(value: unknown): boolean {
  return isJsonObject(value) && Number.isSafeInteger(value["code"]) && typeof value["message"] === "string";
}
