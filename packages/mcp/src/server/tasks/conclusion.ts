// How a task's call ended, in the words a record is made of.
import { type Answer, ReadyResult, unexpected } from "../../endpoint/call.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.js";
import { AskError } from "../ask.js";
import { ToolError } from "../tool-error.js";
import type { TaskCall } from "./task-run.js";

export interface Conclusion {
  readonly status: "completed" | "failed" | "cancelled";
  readonly statusMessage?: string;
  readonly result?: JsonObject;
  readonly error?: ErrorObject;
}

/** What the whole chain of a call came to. */
export type Settled = { readonly answer: Answer } | { readonly error: unknown };

/** Waits for a call's outcome; never rejects. */
export function settled(outcome: Promise<Answer>): Promise<Settled> {
  return outcome.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
}

/** A call that failed after its client cancelled it was cancelled; one that succeeded all the same has completed. */
export function conclude(
  call: TaskCall,
  outcome: Settled,
  report: (error: unknown, call: TaskCall, errorId: string) => void,
): Conclusion {
  if ("answer" in outcome) {
    const result = plain(call, outcome.answer);
    return call.unwanted && result["isError"] === true ? cancelledTask(call) : { status: "completed", result };
  }
  if (call.unwanted) return cancelledTask(call);
  const error = toRpcError(call, outcome.error, report);
  return { status: "failed", statusMessage: error.message, error: error.toObject() };
}

export function cancelledTask(call: TaskCall): Conclusion {
  return { status: "cancelled", statusMessage: call.cancellation?.reason ?? "The task was cancelled" };
}

function plain(call: TaskCall, answer: Answer): JsonObject {
  return answer instanceof ReadyResult ? (JSON.parse(answer.textFor(call.caller.codec)) as JsonObject) : answer;
}

function toRpcError(call: TaskCall, error: unknown, report: Parameters<typeof conclude>[2]): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof AskError || error instanceof ToolError)
    return new RpcError(ErrorCode.InternalError, error.message);
  const { id, message } = unexpected();
  report(error, call, id);
  return new RpcError(ErrorCode.InternalError, message, { errorId: id });
}
