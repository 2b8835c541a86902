// What a tool is: as its author writes it, and as the server keeps it.
import type { MaybePromise } from "../endpoint/answer.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Icon } from "../protocol/icon.js";
import { iconsFault } from "../protocol/icons.js";
import type { Meta } from "../protocol/meta.js";
import { metaFault } from "../protocol/meta-key.js";
import type { AnySchema, ObjectSchema, Tool, ToolAnnotations } from "../protocol/tool.js";
import { toolNameFault } from "../protocol/tool-name.js";
import type { FromJsonSchema } from "../schema/infer.js";
import { compileJsonSchema } from "../schema/json-schema/compile.js";
import type { JsonSchema, Schema } from "../schema/schema.js";
import { fromStandard, type InferStandard, isStandardSchema, type StandardSchema } from "../schema/standard-schema.js";
import type { Block } from "./content.js";
import type { Context } from "./context.js";
import type { InputRequired } from "./input-required.js";
import type { ToolResult } from "./outcome.js";

/** A tool's schema: JSON Schema written in place, or any Standard Schema (zod 4, valibot, arktype). */
export type AnyInput = JsonSchema | StandardSchema;

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
const NO_ARGUMENTS: JsonSchema = { type: "object", additionalProperties: false };

/** Checks and compiles a definition. Throws BAD_TOOL (or the schema's own error) saying what to change. */
export function toolEntry(
  name: string,
  definition: ToolDefinition<AnyInput | undefined, AnyInput | undefined>,
): ToolEntry {
  const { title, description, annotations, icons, task, _meta } = definition;
  const fault = toolNameFault(name) ?? iconsFault(icons) ?? metaFault(_meta);
  if (fault !== undefined) throw new LocalError("BAD_TOOL", `Tool ${JSON.stringify(name)}: ${fault}`);
  if ("input" in definition && definition.input === null) throw badSchema(name, "input is null");
  const input = toSchema(definition.input ?? NO_ARGUMENTS, "input", definition.inputJsonSchema);
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
