// A server that makes tasks of some calls and asks within others, behind the command: a client with tasks gets its questions.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { RawClient } from "../cli/command.js";
import { Household } from "./household.js";

let house: Household;
let client: RawClient | undefined;
beforeEach(() => {
  house = new Household();
});
afterEach(async () => {
  await client?.close();
  client = undefined;
  await house.close();
});

const MIO = "io.modelcontextprotocol/";

/** Of 2026-07-28, with tasks; its one tool asks a person before it does anything, and never makes a task. */
const PROGRAM = `import { createInterface } from "node:readline";
const kept = { ttlMs: 0, cacheScope: "private" };
const capabilities = { tools: {}, extensions: { "${MIO}tasks": {} } };
const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const question = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema } };
const answers = {
  "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities, ...kept }),
  "tools/list": () => ({ tools: [{ name: "ask", inputSchema: { type: "object" } }], ...kept }),
  "tools/call": ({ inputResponses }) =>
    inputResponses === undefined
      ? { resultType: "input_required", inputRequests: { q: question }, requestState: "once" }
      : { content: [{ type: "text", text: "You are " + inputResponses.q.content.name }] },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = answers[method]?.(params);
  const said = result ? { result: { resultType: "complete", ...result } } : { error: { code: -32601, message: "no" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\\n");
});
`;

async function served(): Promise<void> {
  mkdirSync(join(house.folder, "programs"), { recursive: true });
  const file = join(house.folder, "programs", "up.mjs");
  writeFileSync(file, PROGRAM);
  house.write(`version: "1.0"
tools: { allowed: ["up__*"], timeouts: { default: 2 } }
servers: { up: { command: [node, "${file}"], may_ask: [elicitation], ${house.readable} } }
`);
  await house.approve();
  client = new RawClient(["--policy", house.policy], { home: house.folder, env: house.env });
}

/** A request of a client that can be asked, and knows tasks or does not. */
async function ask(method: string, params: object, tasks: boolean): Promise<JsonObject> {
  const extensions = tasks ? { extensions: { [`${MIO}tasks`]: {} } } : {};
  const _meta = {
    [`${MIO}protocolVersion`]: "2026-07-28",
    [`${MIO}clientInfo`]: { name: "test", version: "1" },
    [`${MIO}clientCapabilities`]: { elicitation: { form: {} }, ...extensions },
  };
  const answer = await client?.request(method, { ...params, _meta });
  return (answer?.["result"] ?? answer?.["error"] ?? {}) as JsonObject;
}

/** What a person answers to the one question there is. */
function answered({ inputRequests }: JsonObject): JsonObject {
  const [[key, { params }]] = Object.entries(inputRequests as Record<string, { params: JsonObject }>) as [
    [string, { params: JsonObject }],
  ];
  expect(params["message"]).toContain("Who?");
  return { [key]: { action: "accept", content: { name: "Ada" } } };
}

const CALL = { name: "up__ask", arguments: {} };

it("asks a client within its answer, and one with tasks by a task: nobody could fetch the question otherwise", async () => {
  await served();
  const first = await ask("tools/call", CALL, false);
  expect(first).toMatchObject({ resultType: "input_required" });
  const { requestState } = first;
  const last = await ask("tools/call", { ...CALL, requestState, inputResponses: answered(first) }, false);
  expect(last).toMatchObject({ resultType: "complete", content: [{ text: "You are Ada" }] });
  const { resultType, taskId } = await ask("tools/call", CALL, true);
  expect(resultType).toBe("task");
  const asking = await ask("tasks/get", { taskId }, true);
  expect(asking).toMatchObject({ status: "input_required" });
  await ask("tasks/update", { taskId, inputResponses: answered(asking) }, true);
  await expect
    .poll(() => ask("tasks/get", { taskId }, true))
    .toMatchObject({ status: "completed", result: { content: [{ text: "You are Ada" }] } });
});
