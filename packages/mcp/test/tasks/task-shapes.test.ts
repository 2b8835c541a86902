// The judge of the extension's messages sees each fault that is planted.
import { describe, expect, it } from "vitest";
import { taskNotificationFaults, taskResultFaults } from "../support/task-shapes.js";

const TASK = {
  taskId: "x",
  status: "working",
  createdAt: "2026-07-28T10:00:00Z",
  lastUpdatedAt: "2026-07-28T10:00:00.001Z",
  ttlMs: 60_000,
};
const CREATED = { resultType: "task", ...TASK };
const GOT = { resultType: "complete", ...TASK };
const judgeCall = (result: Record<string, unknown>): string[] => ("content" in result ? [] : ["content is missing"]);

function faults(method: string, result: Record<string, unknown>): string[] | undefined {
  return taskResultFaults(method, result, judgeCall);
}

describe("the judge", () => {
  it("has nothing against what is right", () => {
    expect(faults("tools/call", CREATED)).toEqual([]);
    expect(faults("tools/call", { resultType: "complete", content: [] })).toBeUndefined();
    expect(faults("tasks/get", { ...GOT, status: "completed", result: { content: [] } })).toEqual([]);
    expect(faults("tasks/get", { ...GOT, status: "failed", error: { code: -32603, message: "" } })).toEqual([]);
    expect(faults("tasks/cancel", { resultType: "complete", _meta: {} })).toEqual([]);
    expect(taskNotificationFaults({ ...TASK, _meta: {} }, judgeCall)).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["tools/call", { ...CREATED, ttlMs: 0 }],
    ["tools/call", { ...CREATED, ttlMs: undefined }],
    ["tools/call", { ...CREATED, ttl: 1 }],
    ["tools/call", { ...CREATED, task: TASK }],
    ["tools/call", { ...CREATED, status: "done" }],
    ["tools/call", { ...CREATED, createdAt: "yesterday" }],
    ["tools/call", { ...CREATED, pollIntervalMs: 0.5 }],
    ["tools/call", { ...CREATED, requestState: "s" }],
    ["tools/call", { ...CREATED, inputRequests: {} }],
    ["tasks/get", CREATED],
    ["tasks/get", { ...GOT, result: { content: [] } }],
    ["tasks/get", { ...GOT, status: "completed" }],
    ["tasks/get", { ...GOT, status: "completed", result: {} }],
    ["tasks/get", { ...GOT, status: "completed", result: { content: [] }, error: {} }],
    [
      "tasks/get",
      {
        ...GOT,
        status: "completed",
        result: { content: [], _meta: { "io.modelcontextprotocol/related-task": { taskId: "x" } } },
      },
    ],
    ["tasks/get", { ...GOT, status: "failed", error: { message: "" } }],
    ["tasks/get", { ...GOT, status: "input_required", inputRequests: {} }],
    ["tasks/update", { resultType: "complete", taskId: "x" }],
    ["tasks/cancel", {}],
  ])("finds the fault in an answer to %s: %j", (method, result) => {
    expect(faults(method, result)).not.toEqual([]);
  });
});
