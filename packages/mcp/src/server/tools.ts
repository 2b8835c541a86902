// Calls tools: arguments checked, the handler run, its outcome made a result.
import { type Answer, type Call, type MaybePromise, unexpected } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import {
  type AnySchema,
  type CallToolResult,
  type ObjectSchema,
  type Tool,
  type ToolAnnotations,
  toolNameFault,
} from "../protocol/features/tools.js";
import type { Fault, JsonSchema, Outcome, Schema } from "../schema/schema.js";
import { AskError } from "./ask.js";
import type { AskServices, Context } from "./context.js";
import { HandleError } from "./handles.js";
import { InputRequired, type Interactive } from "./input-required.js";
import { runInteractive } from "./interactive.js";
import { failure, type ToolResult, toToolResult } from "./outcome.js";
import type { Registry } from "./registry.js";
import { peerWords } from "../jsonrpc/visible-text.js";
import { type Icon, iconsFault } from "../protocol/icons.js";
import type { Meta } from "../protocol/meta.js";
import { metaFault } from "../protocol/meta-key.js";
import type { FromJsonSchema } from "../schema/infer.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import { fromStandard, type InferStandard, isStandardSchema, type StandardSchema } from "../schema/standard-schema.js";
import type { Block } from "./content.js";

const EMPTY_ARGUMENTS: JsonObject = Object.freeze({});

/** Told of what a tool did wrong, in words that do not go to the client. */
type ToolReport = (error: unknown, call: Call, errorId: string) => void;

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
function checkArguments(entry: ToolEntry, call: Call): MaybePromise<Outcome<unknown>> {
  return entry.input.validate(call.params["arguments"] ?? EMPTY_ARGUMENTS);
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

// What a tool is: as its author writes it, and as the server keeps it.

/** A tool's schema: JSON Schema written in place, or any Standard Schema (zod 4, valibot, arktype). */
export type AnyInput = JsonSchema | StandardSchema;

/** The type a schema stands for. */
type Infer<S> = S extends StandardSchema ? InferStandard<S> : FromJsonSchema<S>;

/** What `run` may return without an output schema: content made by the content functions, or plain data. */
export type ToolReturn =
  | string
  | number
  | boolean
  | null
  | undefined
  | void
  | object
  | Block
  | readonly Block[]
  | ToolResult
  | InputRequired;

/** Whether calls may, or must, run as a task. */
export type TaskSupport = "optional" | "required";

/** A tool as its author writes it. */
export interface ToolDefinition<I, O> {
  readonly title?: string;
  /** What the tool does, for the model: with examples, ranges and formats. */
  readonly description?: string;
  /** Arguments. Without it the tool takes none. */
  readonly input?: I;
  /** Shape of the structured content. With it, what `run` returns is that content. */
  readonly output?: O;
  /** JSON Schemas to publish where the Standard Schemas given cannot export their own. */
  readonly inputJsonSchema?: JsonSchema;
  readonly outputJsonSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
  /**
   * Whether `run` may be started again from the beginning when the client answers a question after the handler is gone.
   * Default: true for tools annotated read-only or idempotent.
   */
  readonly replay?: boolean;
  /**
   * Whether calls may, or must, run as a task: the client gets an id at once and the result later. Clients that know
   * no tasks are served in line, except that "required" is refused to those of revisions that have them. A handler that
   * returns `inputRequired(...)` at its beginning asks before the task exists. Default: never a task.
   */
  readonly task?: TaskSupport;
  run(
    args: Infer<I>,
    ctx: Context,
  ): MaybePromise<[O] extends [undefined] ? ToolReturn : Infer<O> | ToolResult | InputRequired>;
}

/** A tool as the server keeps it. */
export interface ToolEntry {
  readonly tool: Tool;
  readonly input: Schema;
  readonly output: Schema | undefined;
  readonly replaySafe: boolean;
  /** Undefined: never a task. */
  readonly task?: TaskSupport | undefined;
  readonly run: (args: unknown, ctx: Context) => unknown;
}

/** A tool without arguments accepts an empty object and says so. */
const NO_INPUT: JsonSchema = { type: "object", additionalProperties: false };

/** Checks and compiles a definition. Throws BAD_TOOL (or the schema's own error) saying what to change. */
export function toolEntry(
  name: string,
  definition: ToolDefinition<AnyInput | undefined, AnyInput | undefined>,
): ToolEntry {
  const { title, description, annotations, icons, task, _meta } = definition;
  const fault = toolNameFault(name) ?? iconsFault(icons) ?? metaFault(_meta);
  if (fault !== undefined) throw new LocalError("BAD_TOOL", `Tool ${JSON.stringify(name)}: ${fault}`);
  if ("input" in definition && definition.input === null) throw badSchema(name, "input is null");
  const input = toSchema(definition.input ?? NO_INPUT, "input", definition.inputJsonSchema);
  const output =
    definition.output === undefined ? undefined : toSchema(definition.output, "output", definition.outputJsonSchema);
  if (!isObjectSchema(input.json)) throw badSchema(name, 'the input schema must have "type": "object" at its root');
  const tool: Tool = {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(icons === undefined ? {} : { icons: [...icons] }),
    inputSchema: input.json,
    ...(output?.json === undefined ? {} : { outputSchema: output.json as AnySchema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(task === undefined ? {} : { execution: { taskSupport: task } }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  const replaySafe = definition.replay ?? (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
  return { tool, input, output, replaySafe, task, run: (args, ctx) => definition.run(args, ctx) };
}

function toSchema(schema: AnyInput, side: "input" | "output", published: JsonSchema | undefined): Schema {
  if (isStandardSchema(schema)) return fromStandard(schema, side, published);
  return compileJsonSchema(schema, { fallbackToDraft07: true });
}

function isObjectSchema(json: JsonSchema | undefined): json is ObjectSchema {
  return typeof json === "object" && json["type"] === "object";
}

function badSchema(name: string, what: string): LocalError {
  return new LocalError("BAD_TOOL", `Tool ${JSON.stringify(name)}: ${what}; a tool without arguments leaves input out`);
}
