// Questions a 2026-07-28 server puts into its answer, and the client's replies on the retry.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import type { Meta } from "../meta.js";
import { fault, type MethodRecord, optionalString, type ParamsFault } from "../method.js";
import type { ElicitRequestParams, ElicitResult } from "./elicitation.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "./sampling.js";

/** One question. It is not a JSON-RPC message: no id, no envelope. */
export type InputRequest =
  | { method: "elicitation/create"; params: ElicitRequestParams }
  | { method: "sampling/createMessage"; params: CreateMessageRequestParams }
  | { method: "roots/list"; params?: { _meta?: Meta } };

/** One reply: a bare result without `resultType`. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** Questions of a multi round-trip request, by a key of the server's own. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** The answers, under the keys of their questions. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** The two members that a retry adds to the params of an interactive method (2026-07-28). */
export interface InputResponseRequestParams {
  inputResponses?: InputResponses;
  requestState?: string;
  _meta?: Meta;
}

/** Answer that asks instead of answering. At least one of `inputRequests` and `requestState` is present. */
export interface InputRequiredResult {
  resultType: "input_required";
  inputRequests?: InputRequests;
  /** Opaque to the client, which sends it back byte for byte. */
  requestState?: string;
  _meta?: Meta;
}

/** Checks the two members a retry adds: an object of objects, and a string. */
export function checkInputResponses(params: JsonObject): ParamsFault | undefined {
  const responses = params["inputResponses"];
  if (responses !== undefined) {
    if (!isJsonObject(responses)) return fault(["inputResponses"], "an object");
    for (const key in responses) {
      if (!isJsonObject(responses[key])) return fault(["inputResponses", key], "an object");
    }
  }
  return optionalString(params, "requestState");
}

/** The same method, able to answer with questions and to take the replies. */
export function interactive<Params extends object>(
  record: MethodRecord<Params>,
): MethodRecord<Params & InputResponseRequestParams> {
  return {
    ...record,
    interactive: true,
    check: (params) => record.check(params) ?? checkInputResponses(params),
  };
}

// The folders a client works in. They inform; they are not access control.

/** A folder the client works in. It informs; it is no access control (client/roots). */
export interface Root {
  /** A `file://` URI. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** Result of `roots/list`: the folders the client lets the server know of. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}
