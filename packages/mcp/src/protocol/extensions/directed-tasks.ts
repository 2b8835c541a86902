// The methods of tasks as the extension of 2026-07-28 has them: the server decides, and the client looks again and again.
import type { JsonObject } from "../../jsonrpc/message.js";
import { checkInputResponses } from "../features/input-required.js";
import type { MethodRecord, ParamsCheck, ParamsFault, ResultKind } from "../method.js";
import { requireObject } from "../params-check.js";
import { checkTaskId } from "./requested-tasks.js";

export const DIRECTED_TASK_METHODS: readonly MethodRecord[] = [
  method("tasks/get", checkTaskId, "task"),
  method("tasks/update", checkUpdate, "plain"),
  method("tasks/cancel", checkTaskId, "plain"),
];

function method(name: string, check: ParamsCheck, result: ResultKind): MethodRecord {
  return { name, check, capability: "tasks", cacheable: false, interactive: false, result };
}

function checkUpdate(params: JsonObject): ParamsFault | undefined {
  return checkTaskId(params) ?? requireObject(params, "inputResponses") ?? checkInputResponses(params);
}
