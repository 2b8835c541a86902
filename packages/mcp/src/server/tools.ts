// Calls tools: arguments checked, the handler run, its outcome made a result.
import {
  type Answer,
  type Call,
  type InteractiveCall,
  type MaybePromise,
  unexpected,
  withErrorId,
} from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { type Awaitable, isJsonObject, isThenable, type JsonObject, peerWords } from "../jsonrpc/message.js";
import type { ContentBlock } from "../protocol/content.js";
import { McpErrorCode } from "../protocol/meta.js";
import {
  type AnySchema,
  type CallToolRequestParams,
  type CallToolResult,
  type ObjectSchema,
  type Tool,
  type ToolAnnotations,
  toolNameFault,
} from "../protocol/features/tools.js";
import type { Fault, FromJsonSchema, JsonSchema, MembersOf, Outcome, Schema } from "../schema/schema.js";
import { AskError } from "./content.js";
import { type AskServices, Context } from "./context.js";
import { HandleError, type Registry, type Restricted } from "./registry.js";
import { InputRequired, type Interactive, returnedValues, runInteractive } from "./interactive.js";
import {
  Block,
  dataResult,
  DEEPEST_PLAIN,
  failure,
  isBlockList,
  isOfTheWire,
  isPlain,
  Relayed,
  succeeded,
  toBlock,
  ToolError,
  ToolResult,
} from "./content.js";
import { iconsFault } from "../protocol/capabilities.js";
import { metaFault } from "../protocol/meta.js";
import {
  fromStandard,
  type InferStandard,
  isStandardSchema,
  schemaFault,
  type StandardSchema,
} from "../schema/standard-schema.js";
import {
  definitionFault,
  type Form,
  renamedTo,
  RESTRICTED_MEMBERS,
  restrictions,
  RUNNERS,
  SHOWN_TOOL_MEMBERS,
} from "./definition-fault.js";

const EMPTY_ARGUMENTS: JsonObject = Object.freeze({});

function isEmbedded({ type }: ContentBlock): boolean {
  return type === "resource";
}

const UNRETURNED =
  'called ctx.fail(...) and returned something else, so the call succeeds: write return ctx.fail("...")';

/** Told of what a tool did wrong, in words that do not go to the client. */
type ToolReport = (error: unknown, call: Call, errorId: string) => void;

/** Serves `tools/call`. */
export class ToolCaller {
  readonly #tools: Registry<ToolEntry>;
  readonly #services: AskServices;
  readonly #report: ToolReport;
  readonly #embeds: (tool: string) => void;
  readonly #warn: (tool: string, what: string) => void;

  /** `embeds` is told the name of a tool whose result has a resource in it, `warn` what its author should know. */
  constructor(
    tools: Registry<ToolEntry>,
    services: AskServices,
    {
      report,
      embeds,
      warn,
    }: {
      readonly report: ToolReport;
      readonly embeds: (tool: string) => void;
      readonly warn: (tool: string, what: string) => void;
    },
  ) {
    this.#tools = tools;
    this.#services = services;
    this.#report = report;
    this.#embeds = embeds;
    this.#warn = warn;
  }

  /** The tool a call names. Throws -32602 when there is none. */
  find(call: InteractiveCall<CallToolRequestParams>): ToolEntry {
    const { name } = call.params;
    const entry = this.#tools.find(name, call);
    if (entry !== undefined) return entry;
    throw new RpcError(ErrorCode.InvalidParams, `Unknown tool: ${peerWords(name)}`, {
      path: "/name",
      constraint: "the name of a tool in tools/list",
    });
  }

  call(call: InteractiveCall<CallToolRequestParams>): MaybePromise<Answer> {
    const entry = this.find(call);
    const checked = checkArguments(entry, call);
    if (isThenable(checked)) return checked.then((outcome) => this.#run(call, entry, outcome));
    return this.#run(call, entry, checked);
  }

  #run(call: Call, entry: ToolEntry, checked: Outcome<unknown>): MaybePromise<Answer> {
    if (!checked.ok) return asAnswer(argumentFaults(entry.tool.name, checked.faults));
    return runInteractive(this.#services, call, new ToolRun(this, call, entry, checked.value));
  }

  /** A handler that stops because its signal told it to has not failed: the log hears of the cancellation alone. */
  threw(call: Call, context: Context, error: unknown): Answer {
    if (isAbort(error) && context.signal.aborted) return asAnswer(failure("The call was cancelled").value);
    return this.failed(call, error);
  }

  /** What is made of what a tool returned. */
  conclude(call: Call, entry: ToolEntry, value: unknown, context: Context): MaybePromise<Answer | InputRequired> {
    if (value instanceof InputRequired) return value;
    if (value instanceof Relayed) return value.answer;
    if (Context.failed(context) && !(value instanceof ToolResult)) this.#warn(entry.tool.name, UNRETURNED);
    try {
      const made = toToolResult(value, entry.output !== undefined);
      if (!isThenable(made)) return this.#checked(call, entry, made);
      return Promise.resolve(made).then(
        (result) => this.#checked(call, entry, result),
        (error: unknown) => this.threw(call, context, error),
      );
    } catch (error) {
      return this.failed(call, error);
    }
  }

  #checked(call: Call, { tool, output }: ToolEntry, result: CallToolResult): MaybePromise<Answer> {
    if (result.content.some(isEmbedded)) this.#embeds(tool.name);
    return output === undefined ? asAnswer(result) : this.#checkOutput(call, output, result);
  }

  /** A tool that declared its output owes it; a result that does not conform is the tool's fault, not the caller's. */
  #checkOutput(call: Call, output: NonNullable<ToolEntry["output"]>, result: CallToolResult): MaybePromise<Answer> {
    if (result.isError === true) return asAnswer(result);
    const settle = (checked: Outcome<unknown>): MaybePromise<Answer> => {
      if (checked.ok) {
        return checked.value === result.structuredContent
          ? asAnswer(result)
          : this.#conforming(call, result, checked.value);
      }
      const faults = checked.faults.map((fault) => fault.message).join("; ");
      return this.failed(call, new Error(`The tool's result does not match its output schema: ${faults}`));
    };
    const checked = output.validate(result.structuredContent);
    return isThenable(checked) ? checked.then(settle) : settle(checked);
  }

  /** What the schema made of the content is what is sent: without what it does not know, and with its defaults. */
  #conforming(call: Call, result: CallToolResult, value: unknown): MaybePromise<Answer> {
    const failed = (error: unknown): Answer => this.failed(call, error);
    try {
      const made = returnedValues.use(({ conforming }) => conforming(result, value));
      return isThenable(made) ? Promise.resolve(made).then(asAnswer, failed) : asAnswer(made);
    } catch (error) {
      return failed(error);
    }
  }

  /** Errors meant for the wire pass; of any other the model learns only an id under which the log has it. */
  failed(call: Call, error: unknown): Answer {
    if (error instanceof ToolError) return asAnswer(failure(error.message, error.data).value);
    if (isTellable(error) || isMissingCapability(error, call)) return asAnswer(failure(error.message).value);
    if (error instanceof RpcError) throw error;
    const { id } = unexpected();
    this.#report(error, call, id);
    const message = `The tool failed unexpectedly (error id ${id}; the server's log has the details)`;
    return withErrorId(asAnswer(failure(message).value), id);
  }
}

/** One call of a tool, ready to run. */
class ToolRun implements Interactive {
  readonly #caller: ToolCaller;
  readonly #call: Call;
  readonly #entry: ToolEntry;
  readonly #args: unknown;

  constructor(caller: ToolCaller, call: Call, entry: ToolEntry, args: unknown) {
    this.#caller = caller;
    this.#call = call;
    this.#entry = entry;
    this.#args = args;
  }

  get replaySafe(): boolean {
    return this.#entry.replaySafe;
  }

  run(context: Context): unknown {
    return this.#entry.run(this.#args, context);
  }

  ended(given: unknown, context: Context): MaybePromise<Answer | InputRequired> {
    return this.#caller.conclude(this.#call, this.#entry, given, context);
  }

  threw(error: unknown, context: Context): Answer {
    return this.#caller.threw(this.#call, context, error);
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

/** What platforms reject with when a signal is aborted, and what was asked of a client that has gone. */
function isAbort(error: unknown): boolean {
  return (
    error instanceof Error && [error, error.cause].some((each) => each instanceof Error && each.name === "AbortError")
  );
}

function asAnswer(result: CallToolResult): JsonObject {
  return result as unknown as JsonObject;
}

// What a tool is: as its author writes it, and as the server keeps it.

/** JSON Schema as libraries build it (TypeBox), whose types have no index signature. */
export interface BuiltSchema {
  readonly type?: unknown;
  readonly anyOf?: unknown;
  readonly allOf?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly $ref?: unknown;
}

/** A tool's schema: JSON Schema written in place or built by TypeBox, or any Standard Schema (zod 4, zod/mini, valibot, arktype). */
export type AnyInput = JsonSchema | BuiltSchema | StandardSchema;

/** The type a schema stands for. */
export type Infer<S> = S extends StandardSchema ? InferStandard<S> : FromJsonSchema<S>;

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

/** The members of a tool that its author writes as lists show them. */
export type ShownMembers = Readonly<Omit<Tool, "name" | "inputSchema" | "outputSchema" | "execution">>;

const ANNOTATION_MEMBERS: MembersOf<ToolAnnotations> = {
  title: "text",
  readOnlyHint: "flag",
  destructiveHint: "flag",
  idempotentHint: "flag",
  openWorldHint: "flag",
};

/** The members of `ToolDefinition`. `any`: judged where the entry is made. */
export const TOOL_MEMBERS: MembersOf<ToolDefinition<unknown, unknown>> = {
  title: "text",
  description: "text",
  icons: "any",
  annotations: ANNOTATION_MEMBERS,
  _meta: "object",
  ...RESTRICTED_MEMBERS,
  input: "any",
  output: "any",
  inputJsonSchema: ["object", "flag"],
  outputJsonSchema: ["object", "flag"],
  replay: "flag",
  task: ["=optional", "=required"],
  run: "any",
};

const TOOL_FORM: Form = {
  runs: "run",
  renamed: {
    ...renamedTo("run", RUNNERS),
    ...renamedTo("input", ["inputSchema", "parameters", "paramsSchema", "schema", "args", "arguments", "params"]),
    ...renamedTo("output", ["outputSchema", "returns"]),
    ...renamedTo("task", ["execution", "taskSupport"]),
  },
};

/** A tool as its author writes it. */
export interface ToolDefinition<I, O> extends ShownMembers, Restricted {
  /** What the tool does, for the model: with examples, ranges and formats. */
  readonly description?: string;
  /** Arguments. Without it the tool takes none. */
  readonly input?: I;
  /** Shape of the structured content. With it, what `run` returns is that content. */
  readonly output?: O;
  /** JSON Schemas to publish where the Standard Schemas given cannot export their own. */
  readonly inputJsonSchema?: JsonSchema;
  readonly outputJsonSchema?: JsonSchema;
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
  ): Awaitable<[O] extends [undefined] ? ToolReturn : Infer<O> | ToolResult | InputRequired>;
}

/** A tool as the server keeps it. */
export interface ToolEntry extends Restricted {
  readonly tool: Tool;
  readonly input: Schema;
  readonly output: Schema | undefined;
  readonly replaySafe: boolean;
  /** Undefined: never a task. */
  readonly task?: TaskSupport | undefined;
  readonly run: (args: unknown, ctx: Context) => unknown;
}

/** How a server reads schemas that do not bring what is needed themselves. */
export interface SchemaReader {
  /** Throws a `SchemaError`. */
  compile(schema: JsonSchema): Schema;
  /** JSON Schema of a Standard Schema that cannot export its own, where it can be told. */
  published(schema: StandardSchema, side: "input" | "output"): JsonSchema | undefined;
  /** Checks what a schema made by the JSON Schema that is published beside it as well: it may say something else. */
  asPublished(schema: Schema, own: JsonSchema): Schema;
  /** What is wrong with a schema that says nothing of any value, as the end of a sentence. */
  fault(schema: AnyInput): string | undefined;
  /** A sentence about a schema that is valid and hardly what its author meant. */
  advice(schema: AnyInput): string | undefined;
}

/** A tool without arguments accepts an empty object and says so. */
const NO_INPUT: JsonSchema = { type: "object", additionalProperties: false };

/** Checks and compiles a definition. Throws BAD_TOOL saying what to change. */
export function toolEntry(
  name: string,
  definition: ToolDefinition<AnyInput | undefined, AnyInput | undefined>,
  { schemas, more }: { readonly schemas?: SchemaReader | undefined; readonly more?: unknown } = {},
): ToolEntry {
  const wrong = definitionFault(TOOL_FORM, definition, TOOL_MEMBERS, more);
  if (wrong !== undefined) throw badTool(name, wrong);
  const { annotations, icons, task, _meta } = definition;
  const fault = toolNameFault(name) ?? iconsFault(icons) ?? metaFault(_meta);
  if (fault !== undefined) throw badTool(name, fault);
  if ("input" in definition && definition.input === null) throw badSchema(name, "input is null");
  const input = sideOf(name, definition, "input", schemas) ?? schemas?.compile(NO_INPUT) ?? NO_ARGUMENTS;
  const output = sideOf(name, definition, "output", schemas);
  if (!isObjectSchema(input.json)) throw badSchema(name, 'the input schema must have "type": "object" at its root');
  const unmet = impossibleMember(input.json);
  if (unmet !== undefined) throw badTool(name, unmet);
  const tool: Tool = {
    ...shownMembers(definition),
    name,
    inputSchema: input.json,
    ...(output?.json === undefined ? {} : { outputSchema: output.json as AnySchema }),
    ...(task === undefined ? {} : { execution: { taskSupport: task } }),
  };
  const replaySafe = definition.replay ?? (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
  const { scopes, visible } = restrictions(definition);
  return { tool, input, output, replaySafe, task, scopes, visible, run: (args, ctx) => definition.run(args, ctx) };
}

/** What lists show of a tool as its author wrote it, whatever the newest revision adds to it. */
function shownMembers(definition: ShownMembers): ShownMembers {
  const given = definition as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    SHOWN_TOOL_MEMBERS.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]),
  );
}

/** One side's schema. What is wrong with it is told with the tool and the side it belongs to. */
function sideOf(
  name: string,
  definition: ToolDefinition<AnyInput | undefined, AnyInput | undefined>,
  side: "input" | "output",
  schemas: SchemaReader | undefined,
): Schema | undefined {
  const schema = definition[side];
  const own = definition[`${side}JsonSchema`];
  if (schema === undefined) {
    if (own === undefined) return undefined;
    throw badTool(name, `"${side}JsonSchema" is of "${side}", which is missing: give the schema it describes as well`);
  }
  const fault = schemaFault(schema) ?? (side === "output" ? schemas?.fault(schema) : undefined);
  if (fault !== undefined) throw badTool(name, `"${side}" ${fault}`);
  try {
    if (isStandardSchema(schema)) {
      const read = fromStandard(schema, side, own ?? schemas?.published(schema, side));
      return side === "output" && own !== undefined && schemas ? schemas.asPublished(read, own) : read;
    }
    if (schemas !== undefined) return schemas.compile(schema as JsonSchema);
  } catch (error) {
    if (error instanceof Error) throw badTool(name, `"${side}" is no schema that can be used: ${error.message}`, error);
    throw error;
  }
  throw badTool(name, `"${side}" as JSON Schema needs \`Server\`: a LeanServer takes a Standard Schema`);
}

/** What no arguments are checked by where no JSON Schema is compiled. */
const NO_ARGUMENTS: Schema = {
  json: NO_INPUT,
  validate(value) {
    if (isJsonObject(value) && Object.keys(value).length === 0) return { ok: true, value };
    return {
      ok: false,
      faults: [{ path: "", constraint: "additionalProperties", message: "must be an empty object" }],
    };
  },
};

/** A member that is required and not allowed, as the end of a sentence: no arguments would ever be valid. */
function impossibleMember({
  properties,
  required,
  additionalProperties,
  patternProperties,
}: ObjectSchema): string | undefined {
  if (!Array.isArray(required) || additionalProperties !== false || patternProperties !== undefined) return undefined;
  const known = (properties ?? {}) as object;
  const missing = required.find((each) => !Object.hasOwn(known, each as string)) as string | undefined;
  return missing === undefined
    ? undefined
    : `"input" requires "${missing}" and allows no such member: no call could be valid`;
}

export function badTool(name: string, fault: string, cause?: unknown): LocalError {
  return new LocalError(
    "BAD_TOOL",
    `Tool ${JSON.stringify(name)}: ${fault}`,
    cause === undefined ? undefined : { cause },
  );
}

function isObjectSchema(json: JsonSchema | undefined): json is ObjectSchema {
  return typeof json === "object" && json["type"] === "object";
}

function badSchema(name: string, what: string): LocalError {
  return new LocalError("BAD_TOOL", `Tool ${JSON.stringify(name)}: ${what}; a tool without arguments leaves input out`);
}

// What `run` returned, as a result. What looks through values that are no plain data is loaded with the first of them.

/** Turns what `run` returned into a result. Throws NOT_JSON, WIRE_RESULT. */
function toToolResult(value: unknown, structured: boolean): MaybePromise<CallToolResult> {
  if (value instanceof ToolResult) return checkedResult(value);
  if (!structured) {
    if (value === undefined) return succeeded([]);
    if (typeof value === "string") return succeeded([toBlock(value)]);
    if (value instanceof Block) return succeeded([value.block]);
    if (isBlockList(value)) return succeeded(value.map(toBlock));
  }
  if (isPlain(value, 0) && !isOfTheWire(value)) return dataResult(value, JSON.stringify(value), structured);
  if (returnedValues.there === undefined) hold(value, 0);
  return returnedValues.use(({ mendedResult }) => mendedResult(value, structured));
}

/** Keeps promises that reject while code is loaded from ending the process: whoever waits for them is told. */
function hold(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null || depth > DEEPEST_PLAIN) return;
  if (isThenable(value)) return void Promise.resolve(value).catch(() => undefined);
  for (const item of value instanceof Map ? value.values() : Object.values(value)) hold(item, depth + 1);
}

/** A result that an author gave is looked through as data is: its structured content, and blocks of the wire. */
function checkedResult({ value, given }: ToolResult): MaybePromise<CallToolResult> {
  if (given === undefined) return value;
  const { structuredContent } = value;
  const isMade = given.every((item) => typeof item === "string" || item instanceof Block);
  if (isMade && (structuredContent === undefined || isPlain(structuredContent, 0))) return value;
  return returnedValues.use(({ mendedContent }) => mendedContent(value, given));
}
