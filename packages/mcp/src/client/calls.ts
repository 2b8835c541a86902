// Calls tools: headers that mirror arguments, output that is checked, calls that the server makes tasks.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import { TASKS_EXTENSION } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CallOptions } from "./call-options.js";
import type { Lists } from "./lists.js";
import type { Requests, SendOptions } from "./requests.js";
import type { Tasks } from "./tasks.js";
import type { ToolBook } from "./tool-book.js";
import type { Wire } from "./wire.js";

export interface CallsOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly book: ToolBook;
  readonly lists: Lists;
  readonly tasks: Tasks;
}

export class Calls {
  readonly #options: CallsOptions;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  async call(name: string, args: JsonObject | undefined, options: CallOptions | undefined): Promise<CallToolResult> {
    const { requests, book, tasks } = this.#options;
    requests.gate("tools", "tools/call");
    if (tasks.mustBeTask(book.get(name)?.tool)) return (await tasks.start(name, args, options)).result(options);
    const params = args === undefined ? { name } : { name, arguments: args };
    const result = await this.#sent(name, params, options);
    if (result["resultType"] === "task") return tasks.begun(result, name).result(options);
    const known = book.get(name);
    const outcome = result as unknown as CallToolResult;
    return known === undefined ? outcome : book.checked(known, outcome);
  }

  // A server that misses a header, or finds another value, has another list than this client: it is read once more.
  async #sent(name: string, params: JsonObject, options: CallOptions | undefined): Promise<JsonObject> {
    const { requests, book, lists, wire } = this.#options;
    try {
      return await requests.run("tools/call", params, withMirrors(options, book.get(name)?.mirrored));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // It may not be there any more, or take other arguments.
      if (error.code === ErrorCode.InvalidParams) lists.doubtTools();
      // In a session these numbers are the server's own: the call may have run.
      if (!wire.established.revision.rules.statelessErrors) throw error;
      if (wantsTasks(error)) return requests.run("tools/call", params, { ...options, tasks: true });
      if (error.code !== McpErrorCode.HeaderMismatch) throw error;
      lists.forget({ kind: "tools" });
      await lists.tools().all();
      return requests.run("tools/call", params, withMirrors(options, book.get(name)?.mirrored));
    }
  }
}

/** Whether the tool runs as a task only. */
function wantsTasks({ code, data }: RpcError): boolean {
  if (code !== McpErrorCode.MissingRequiredClientCapability || !isJsonObject(data)) return false;
  const { extensions } = (data["requiredCapabilities"] ?? {}) as ClientCapabilities;
  return extensions?.[TASKS_EXTENSION] !== undefined;
}

function withMirrors(options: CallOptions | undefined, mirrored: SendOptions["mirrored"]): SendOptions | undefined {
  return mirrored === undefined ? options : { ...options, mirrored };
}
