// Tools as the SDKs register them, in our core: wire-shaped results, and exceptions whose words the model reads.
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { CallToolResult, ToolAnnotations } from "../protocol/features/tools.js";
import type { Icon } from "../protocol/icons.js";
import type { Context } from "../server/context.js";
import type { InputRequired } from "../server/interactive.js";
import { result, type ToolResult } from "../server/content.js";
import type { Registration } from "../server/registry.js";
import type { Server as CoreServer } from "../server/server.js";
import type { TaskSupport } from "../server/tools.js";
import type { Extra } from "./extra.js";
import { ANYTHING, type SchemaInput, type SchemaOutput, toSchema } from "./schema.js";
import { askedFor, type Server } from "./server.js";

/** What a tool of an SDK may answer: a result as it stands on the wire. */
export type ToolAnswer = Partial<CallToolResult> | { readonly resultType: "input_required" };

/** A tool's handler: without a schema it gets no arguments. */
export type ToolCallback<I extends SchemaInput | undefined = undefined> = [I] extends [undefined]
  ? (extra: Extra) => ToolAnswer | Promise<ToolAnswer>
  : (args: SchemaOutput<I>, extra: Extra) => ToolAnswer | Promise<ToolAnswer>;

/** The second argument of `registerTool`. */
export interface ToolConfig<I, O> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Record<string, unknown>;
  readonly execution?: { readonly taskSupport?: TaskSupport | "forbidden" };
}

/** A tool as it is registered here. */
export interface ToolDescription extends ToolConfig<unknown, unknown> {
  readonly callback: (...args: never[]) => unknown;
}

/** Puts a tool into our core. */
export function enterTool(
  server: Server,
  core: CoreServer,
  name: string,
  tool: ToolDescription,
): Pick<Registration, "remove"> {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta, execution } = tool;
  const support = execution?.taskSupport;
  return core.tool(name, {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
    ...(support === undefined || support === "forbidden" ? {} : { task: support }),
    input: inputSchema === undefined ? ANYTHING : toSchema(inputSchema, "input"),
    ...(outputSchema === undefined ? {} : { output: toSchema(outputSchema, "output") }),
    run: (args, context) => runTool(server, context, tool, args),
  });
}

async function runTool(
  server: Server,
  context: Context,
  { callback, inputSchema, outputSchema }: ToolDescription,
  args: unknown,
): Promise<ToolResult | InputRequired> {
  try {
    const given = inputSchema === undefined ? [] : [args];
    const answer = await server.run(context, (extra) => Reflect.apply(callback, undefined, [...given, extra]));
    return askedFor(answer) ?? toResult(answer as ToolAnswer, outputSchema !== undefined);
  } catch (error) {
    // What our core has an answer of its own for, and what has to reach the client as it is.
    const passed = error instanceof LocalError || (error instanceof RpcError && PASSED.has(error.code));
    if (passed || (error instanceof Error && error.name === "AbortError")) throw error;
    return failed(error instanceof Error ? error.message : String(error));
  }
}

const PASSED: ReadonlySet<number> = new Set([
  McpErrorCode.UrlElicitationRequired,
  McpErrorCode.MissingRequiredClientCapability,
]);

function toResult(answer: ToolAnswer, structured: boolean): ToolResult {
  const { content = [], structuredContent, isError, _meta } = (answer ?? {}) as Partial<CallToolResult>;
  if (structured && structuredContent === undefined && isError !== true) {
    return failed("Output validation error: this tool declares an outputSchema and returned no structuredContent");
  }
  return result({
    content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError === undefined ? {} : { isError }),
    ...(_meta === undefined ? {} : { _meta }),
  });
}

function failed(message: string): ToolResult {
  return result({ content: [{ type: "text", text: message }], isError: true });
}
