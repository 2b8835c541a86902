// Calls tools: headers that mirror arguments, output that is checked, calls that the server makes tasks.
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import {
  failureText,
  isJsonObject,
  type JsonObject,
  type RequestId,
  type RequestMessage,
  successText,
} from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CallOptions } from "./options.js";
import type { Lists } from "./lists.js";
import type { Requests, SendOptions, Wire } from "./wire.js";
import type { Tasks } from "./tasks.js";
import type { ToolBook } from "./tool-book.js";
import type { Carrier } from "../jsonrpc/transport.js";
import type { ClientCodec } from "../era/codec.js";
import type { Questions } from "./questions.js";

interface CallsOptions {
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
    // A session that has tasks would refuse a plain call of such a tool.
    const required = book.get(name)?.tool.execution?.taskSupport === "required";
    if (required && tasks.requested) {
      return (await tasks.start(name, args, options)).result(options);
    }
    const params = args === undefined ? { name } : { name, arguments: args };
    const result = await this.#sent(name, params, options);
    // Asked for round by round: the caller answers.
    if (result["resultType"] === "input_required") return result as unknown as CallToolResult;
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

// Serves the questions a server sends as requests of its own, in a session.

/** What is known of a question beside its params, and who answers it where that is one call's caller. */
interface AskedBy {
  readonly codec: ClientCodec;
  readonly server: Implementation;
  readonly signal: AbortSignal;
  readonly questions?: Questions | undefined;
}

/** Questions answered at once; a server that asks more is told to wait. */
const MOST_AT_ONCE = 32;

export class AskedQuestions {
  readonly #questions: Questions;
  readonly #warn: (text: string) => void;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(questions: Questions, warn: (text: string) => void) {
    this.#questions = questions;
    this.#warn = warn;
  }

  /** Answers one question on its carrier; one that is cancelled is not answered. */
  async serve(
    message: RequestMessage,
    carrier: Carrier,
    about: { codec: ClientCodec; server: Implementation; questions: Questions | undefined },
  ): Promise<void> {
    const { id, method, params = {} } = message;
    if (method === "ping") return void carrier.write(successText(id, "{}"), "response");
    const controller = new AbortController();
    try {
      if (this.#open.size >= MOST_AT_ONCE || this.#open.has(id)) throw busy();
      this.#open.set(id, controller);
      const text = await this.#answered(method, params, { ...about, signal: controller.signal });
      if (controller.signal.aborted) carrier.abandon?.();
      else void carrier.write(successText(id, text), "response");
    } catch (error) {
      if (controller.signal.aborted) carrier.abandon?.();
      else this.#refuse(message, carrier, error);
    } finally {
      if (this.#open.get(id) === controller) this.#open.delete(id);
    }
  }

  /** The server took its question back. */
  cancel(params: JsonObject): void {
    this.#open.get(params["requestId"] as RequestId)?.abort("cancelled by the server");
  }

  /** Nobody hears the answers any more. */
  cancelAll(): void {
    for (const controller of this.#open.values()) controller.abort("the connection ended");
    this.#open.clear();
  }

  async #answered(
    method: string,
    params: JsonObject,
    { codec, server, signal, questions = this.#questions }: AskedBy,
  ): Promise<string> {
    const declared = codec.capabilities;
    const answer = await questions.answer(method, params, { signal, server, declared });
    return JSON.stringify(codec.answer(method, answer));
  }

  // What the handler threw stays here: only an RpcError was made to be read by the server.
  #refuse({ id, method }: RequestMessage, carrier: Carrier, error: unknown): void {
    const known = error instanceof RpcError;
    const shown = known ? error : new RpcError(ErrorCode.InternalError, "The client could not answer");
    if (!known) this.#warn(`Answering ${method} failed: ${error instanceof Error ? error.message : String(error)}`);
    void carrier.write(failureText(id, shown.toObject()), "response", shown.code);
  }
}

function busy(): RpcError {
  return new RpcError(ErrorCode.InternalError, `This client answers ${MOST_AT_ONCE} questions at once, not more`);
}
