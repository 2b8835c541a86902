// Judges what a server says of tasks in 2026-07-28: the extension has its own schema, which the revision's does not hold.

type Message = Record<string, unknown>;

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"];
const TASK = ["taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"];
/** Members each status has besides those of every task. */
const DETAIL: Readonly<Record<string, string | undefined>> = {
  input_required: "inputRequests",
  completed: "result",
  failed: "error",
};
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Judges the result of a plain `tools/call`. */
export type JudgeCall = (result: Message) => string[];

/** Faults of a result by the method it answers; undefined where the extension has nothing to say. */
export function taskResultFaults(method: string, result: Message, judgeCall: JudgeCall): string[] | undefined {
  if (method === "tools/call" && result["resultType"] === "task") {
    return [...taskFaults(result), ...strangers(result, [...TASK, "resultType", "_meta"])];
  }
  if (method === "tasks/get")
    return [...completeFaults(result), ...detailedFaults(result, ["resultType", "_meta"], judgeCall)];
  if (method === "tasks/update" || method === "tasks/cancel") {
    return [...completeFaults(result), ...strangers(result, ["resultType", "_meta"])];
  }
  return undefined;
}

/** Faults of the params of a `notifications/tasks`. */
export function taskNotificationFaults(params: Message, judgeCall: JudgeCall): string[] {
  return detailedFaults(params, ["_meta"], judgeCall);
}

function taskFaults(task: Message): string[] {
  const faults: string[] = [];
  const expect = (holds: boolean, what: string): void => void (holds || faults.push(what));
  expect(typeof task["taskId"] === "string" && task["taskId"] !== "", "taskId is a string");
  expect(STATUSES.includes(task["status"] as string), "status is one of the five");
  expect(TIMESTAMP.test(String(task["createdAt"])), "createdAt is ISO 8601");
  expect(TIMESTAMP.test(String(task["lastUpdatedAt"])), "lastUpdatedAt is ISO 8601");
  expect(task["ttlMs"] === null || isPositive(task["ttlMs"]), "ttlMs is null or a positive integer");
  expect(task["pollIntervalMs"] === undefined || isPositive(task["pollIntervalMs"]), "pollIntervalMs is positive");
  expect(task["statusMessage"] === undefined || typeof task["statusMessage"] === "string", "statusMessage is a string");
  return faults;
}

function detailedFaults(task: Message, besides: readonly string[], judgeCall: JudgeCall): string[] {
  const member = DETAIL[task["status"] as string];
  const faults = [
    ...taskFaults(task),
    ...strangers(task, [...TASK, ...besides, ...(member === undefined ? [] : [member])]),
  ];
  if (member === undefined) return faults;
  const detail = task[member] as Message | undefined;
  if (typeof detail !== "object" || detail === null)
    return [...faults, `a task that is ${String(task["status"])} has ${member}`];
  if (member === "result") faults.push(...callFaults(detail, judgeCall));
  if (member === "error" && !(Number.isInteger(detail["code"]) && typeof detail["message"] === "string")) {
    faults.push("error has a code and a message");
  }
  if (member === "inputRequests" && Object.keys(detail).length === 0) faults.push("inputRequests is not empty");
  return faults;
}

/** The inlined result is what the plain call would have given, and nothing of it points at the task. */
function callFaults(result: Message, judgeCall: JudgeCall): string[] {
  const faults = judgeCall({ resultType: "complete", ...result });
  const meta = result["_meta"] as Message | undefined;
  return meta !== undefined && "io.modelcontextprotocol/related-task" in meta
    ? [...faults, "the inlined result names its task"]
    : faults;
}

function completeFaults(result: Message): string[] {
  return result["resultType"] === "complete" ? [] : [`resultType is ${JSON.stringify(result["resultType"])}`];
}

function strangers(object: Message, allowed: readonly string[]): string[] {
  const found = Object.keys(object).filter((key) => !allowed.includes(key));
  return found.length === 0 ? [] : [`has ${found.join(", ")}`];
}

function isPositive(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) > 0;
}
