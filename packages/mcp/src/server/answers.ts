// Checks what a client answered to a question before a handler sees it.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { InputResponses } from "../protocol/features/input-required.js";

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** What is wrong with the answer to a question of `method`, as the end of a sentence; undefined when nothing is. */
export function answerFault(method: string, answer: JsonObject): string | undefined {
  switch (method) {
    case "elicitation/create":
      if (!ACTIONS.includes(answer["action"])) return 'needs an "action": accept, decline or cancel';
      return answer["content"] === undefined || isJsonObject(answer["content"])
        ? undefined
        : 'has a "content" that is no object';
    case "sampling/createMessage":
      return typeof answer["content"] === "object" && typeof answer["role"] === "string"
        ? undefined
        : 'needs a "role" and "content"';
    default:
      return Array.isArray(answer["roots"]) ? undefined : 'needs an array "roots"';
  }
}

/** Throws -32602 when the answer under `key` is there and malformed. A missing one is asked for again. */
export function checkAnswer(key: string, method: string, responses: InputResponses): void {
  if (!Object.hasOwn(responses, key)) return;
  const constraint = answerFault(method, responses[key] as unknown as JsonObject);
  if (constraint === undefined) return;
  const message = `params.inputResponses.${key} ${constraint}`;
  throw new RpcError(ErrorCode.InvalidParams, message, { path: `/inputResponses/${key}`, constraint });
}
