// A task with all that is known of it, ready for a codec.
import type { Codec } from "../../era/codec.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import type { DetailedTask } from "../../protocol/extensions/task.js";
import type { InputRequest, InputRequests } from "../../protocol/features/input-required.js";
import type { TaskRun } from "./task-run.js";
import type { TaskRecord } from "./task-store.js";

/** `run` brings the open questions of a task that still runs. */
export function taskDetail(codec: Codec, { task, result, error }: TaskRecord, run?: TaskRun): JsonObject {
  const detail: DetailedTask = { ...task };
  if (result !== undefined) detail.result = result;
  if (error !== undefined) detail.error = codec.error(new RpcError(error.code, error.message, error.data));
  if (task.status === "input_required" && run !== undefined) detail.inputRequests = openQuestions(codec, run);
  return detail as unknown as JsonObject;
}

function openQuestions(codec: Codec, { questions }: TaskRun): InputRequests {
  const requests: InputRequests = {};
  for (const { key, request } of questions.values()) {
    const params = codec.serverRequest(request.method, request.params ?? {});
    requests[key] = { method: request.method, params } as InputRequest;
  }
  return requests;
}
