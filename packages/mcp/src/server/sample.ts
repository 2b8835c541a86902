// Questions to the client's model: checked before they leave, read when they come back.
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Root } from "../protocol/features/roots.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import { checkToolUse, normalStopReason } from "../protocol/sampling-rules.js";
import { AskError } from "./ask-error.js";
import { answerFault } from "./answers.js";

/** The params as they are, once they obey the rules of tool use. Throws BAD_SAMPLING naming the first broken one. */
export function sampleParams(params: CreateMessageRequestParams): CreateMessageRequestParams {
  const fault = checkToolUse(params.messages);
  if (fault !== undefined) throw new LocalError("BAD_SAMPLING", fault.message);
  return params;
}

/** The model's answer, its stop reason in the specification's spelling. Throws BAD_ANSWER for anything else. */
export function readSample(answer: JsonObject): CreateMessageResult {
  const fault = answerFault("sampling/createMessage", answer);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer to sampling ${fault}`);
  const result = answer as unknown as CreateMessageResult;
  return result.stopReason === undefined ? result : { ...result, stopReason: normalStopReason(result.stopReason) };
}

/** The client's roots. Throws BAD_ANSWER for anything else. */
export function readRoots(answer: JsonObject): readonly Root[] {
  const fault = answerFault("roots/list", answer);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer to roots/list ${fault}`);
  return answer["roots"] as readonly Root[];
}
