// Calls tools: arguments checked, the handler run, its outcome made a result.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { unexpected } from "../endpoint/unexpected.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Fault, Outcome } from "../schema/schema.js";
import { AskError } from "./ask-error.js";
import type { AskServices, Context } from "./context.js";
import { HandleError } from "./handles.js";
import { InputRequired } from "./input-required.js";
import { runInteractive } from "./interactive.js";
import type { Interactive } from "./interactive-handler.js";
import { failure, toToolResult } from "./outcome.js";
import type { Registry } from "./registry.js";
import type { ToolEntry } from "./tool.js";
import { peerWords } from "../jsonrpc/visible-text.js";

const NO_ARGUMENTS: JsonObject = Object.freeze({});

/** Told of what a tool did wrong, in words that do not go to the client. */
export type ToolReport = (error: unknown, call: Call, errorId: string) => void;

/** Serves `tools/call`. */
export class ToolCaller {
  readonly #tools: Registry<ToolEntry>;
  readonly #services: AskServices;
  readonly #report: ToolReport;

  constructor(tools: Registry<ToolEntry>, services: AskServices, report: ToolReport) {
    this.#tools = tools;
    this.#services = services;
    this.#report = report;
  }

  /** The tool a call names. Throws -32602 when there is none. */
  find(call: Call): ToolEntry {
    const name = call.params["name"] as string;
    const entry = this.#tools.get(name);
    if (entry !== undefined) return entry;
    throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${peerWords(name)}`, {
      path: "/name",
      constraint: "the name of a tool in tools/list",
    });
  }

  call(call: Call): MaybePromise<Answer> {
    const entry = this.find(call);
    const checked = checkArguments(entry, call);
    if (checked instanceof Promise) return checked.then((outcome) => this.#run(call, entry, outcome));
    return this.#run(call, entry, checked);
  }

  #run(call: Call, entry: ToolEntry, checked: Outcome<unknown>): MaybePromise<Answer> {
    if (!checked.ok) return asAnswer(argumentFaults(entry.tool.name, checked.faults));
    const handler: Interactive = {
      replaySafe: entry.replaySafe,
      run: (context) => this.#invoke(call, entry, checked.value, context),
      refused: (error) => this.#failed(call, error),
    };
    return runInteractive(this.#services, call, handler);
  }

  #invoke(call: Call, entry: ToolEntry, args: unknown, context: Context): MaybePromise<Answer | InputRequired> {
    try {
      const returned = entry.run(args, context);
      if (!(returned instanceof Promise)) return this.#conclude(call, entry, returned);
      return returned.then(
        (value: unknown) => this.#conclude(call, entry, value),
        (error: unknown) => this.#threw(call, context, error),
      );
    } catch (error) {
      return this.#threw(call, context, error);
    }
  }

  /** A handler that stops because its signal told it to has not failed: the log hears of the cancellation alone. */
  #threw(call: Call, context: Context, error: unknown): Answer {
    if (isAbort(error) && context.signal.aborted) return asAnswer(failure("The call was cancelled").value);
    return this.#failed(call, error);
  }

  #conclude(call: Call, entry: ToolEntry, value: unknown): MaybePromise<Answer | InputRequired> {
    if (value instanceof InputRequired) return value;
    try {
      const result = toToolResult(value, entry.output !== undefined);
      return entry.output === undefined ? asAnswer(result) : this.#checkOutput(call, entry.output, result);
    } catch (error) {
      return this.#failed(call, error);
    }
  }

  /** A tool that declared its output owes it; a result that does not conform is the tool's fault, not the caller's. */
  #checkOutput(call: Call, output: NonNullable<ToolEntry["output"]>, result: CallToolResult): MaybePromise<Answer> {
    if (result.isError === true) return asAnswer(result);
    const settle = (checked: Outcome<unknown>): Answer => {
      if (checked.ok) return asAnswer(result);
      const faults = checked.faults.map((fault) => fault.message).join("; ");
      return this.#failed(call, new Error(`The tool's result does not match its output schema: ${faults}`));
    };
    const checked = output.validate(result.structuredContent);
    return checked instanceof Promise ? checked.then(settle) : settle(checked);
  }

  /** Errors meant for the wire pass; of any other the model learns only an id under which the log has it. */
  #failed(call: Call, error: unknown): Answer {
    if (isTellable(error) || isMissingCapability(error, call)) return asAnswer(failure(error.message).value);
    if (error instanceof RpcError) throw error;
    const { id } = unexpected();
    this.#report(error, call, id);
    const message = `The tool failed unexpectedly (error id ${id}; the server's log has the details)`;
    return asAnswer(failure(message).value);
  }
}

/** Validates the arguments of a call, defaults filled in. */
export function checkArguments(entry: ToolEntry, call: Call): MaybePromise<Outcome<unknown>> {
  return entry.input.validate(call.params["arguments"] ?? NO_ARGUMENTS);
}

/** The result for arguments that do not fit: a path and a sentence for each fault, for the model to act on. */
function argumentFaults(name: string, faults: readonly Fault[]): CallToolResult {
  const lines = faults.map(({ path, message }) => (path === "" ? `- arguments ${message}` : `- ${message}`));
  const text = [`Invalid arguments for tool ${name}:`, ...lines].join("\n");
  return failure(text).value;
}

/** Whether the words of an error were made for the model. */
function isTellable(error: unknown): error is AskError | HandleError {
  return error instanceof AskError || error instanceof HandleError;
}

/** Revisions without an error of its own for this get a sentence the model can act on. */
function isMissingCapability(error: unknown, call: Call): error is RpcError {
  if (!(error instanceof RpcError) || error.code !== McpErrorCode.MissingRequiredClientCapability) return false;
  return !call.caller.codec.revision.rules.statelessErrors;
}

/** What platforms reject with when a signal is aborted. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

function asAnswer(result: CallToolResult): JsonObject {
  return result as unknown as JsonObject;
}
