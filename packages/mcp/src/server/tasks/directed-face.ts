// Tasks toward requests of 2026-07-28 that declare the extension: the server decides, and the client polls.
import type { Answer } from "../../endpoint/answer.js";
import type { Call } from "../../endpoint/call.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../../protocol/error-codes.js";
import { TASKS_EXTENSION } from "../../protocol/extensions/task.js";
import type { InputResponses } from "../../protocol/features/input-required.js";
import type { ToolEntry } from "../tool.js";
import { taskDetail } from "./task-detail.js";
import type { TaskDesk } from "./task-desk.js";
import type { TaskFace } from "./task-face.js";

const ACKNOWLEDGED: JsonObject = Object.freeze({});

export class DirectedFace implements TaskFace {
  readonly #desk: TaskDesk;

  constructor(desk: TaskDesk) {
    this.#desk = desk;
  }

  /** A task where the tool can and the request declares it; a tool that must be one is refused to any other request. */
  wants(call: Call, { task }: ToolEntry): boolean {
    if (declares(call)) return task !== undefined;
    if (task === "required") throw missingExtension();
    return false;
  }

  requestedTtl(): undefined {
    return undefined;
  }

  async get(call: Call): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const run = this.#desk.running(taskId, principal)?.run;
    if (run !== undefined && !run.concluded) return taskDetail(call.caller.codec, run.record(), run);
    return taskDetail(call.caller.codec, await this.#desk.find(taskId, principal));
  }

  /** Answers questions. Of a task that has ended there are none, so nothing happens. */
  async update(call: Call): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const running = this.#desk.running(taskId, principal);
    if (running === undefined) await this.#desk.find(taskId, principal);
    else running.run.answer(call.params["inputResponses"] as InputResponses);
    return ACKNOWLEDGED;
  }

  /** Cancels by asking: the handler's signal is aborted, and the task ends when the handler does. */
  async cancel(call: Call): Promise<Answer> {
    const { taskId, principal } = identified(call);
    const running = this.#desk.running(taskId, principal);
    if (running === undefined) await this.#desk.find(taskId, principal);
    else running.call.cancelForClient();
    return ACKNOWLEDGED;
  }
}

/** Throws -32021 naming the extension for a request that does not declare it. */
export function requireTasks(call: Call): void {
  if (!declares(call)) throw missingExtension();
}

function identified(call: Call): { readonly taskId: string; readonly principal: string | undefined } {
  requireTasks(call);
  return { taskId: call.params["taskId"] as string, principal: call.carrier.principal };
}

function declares(call: Call): boolean {
  return call.caller.capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}

function missingExtension(): RpcError {
  const what = `This needs a client with tasks: the extension ${TASKS_EXTENSION} was not declared`;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
  return new RpcError(McpErrorCode.MissingRequiredClientCapability, what, { requiredCapabilities });
}
