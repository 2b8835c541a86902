// What a model's API is told of a client's or a host's tools, and how a call comes back to its tool.
import { toModelParts, type ModelParts } from "../client/model-text.js";
import type { CallOptions } from "../client/options.js";
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { CallToolResult, Tool } from "../protocol/features/tools.js";

/** Whose tools a model gets: a `Client` or a `Host`. */
export interface ToolSource {
  /** The list of a client, read to its end; or the catalogue of a host. */
  tools(): AsyncIterable<Tool> | Iterable<{ readonly tool: Tool }>;
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<CallToolResult>;
}

/** A tool under a name that the model's API takes. */
export interface NamedTool {
  readonly name: string;
  readonly tool: Tool;
}

/** The longest name that every one of the three takes. */
const LONGEST_NAME = 64;

export class Toolset {
  readonly #source: ToolSource;
  readonly #tools = new Map<string, Tool>();

  private constructor(source: ToolSource, tools: readonly Tool[]) {
    this.#source = source;
    for (const tool of tools) this.#tools.set(this.#free(tool.name), tool);
  }

  static async of(source: ToolSource): Promise<Toolset> {
    const tools: Tool[] = [];
    for await (const one of source.tools()) tools.push("inputSchema" in one ? one : one.tool);
    return new Toolset(source, tools);
  }

  get tools(): NamedTool[] {
    return [...this.#tools].map(([name, tool]) => ({ name, tool }));
  }

  /** Runs a call of the model. Never rejects: what went wrong is told to the model. */
  async run(name: string, args: unknown, options?: CallOptions): Promise<ModelParts> {
    const tool = this.#tools.get(name);
    if (tool === undefined) return failed(`There is no tool ${JSON.stringify(name)}.`);
    if (!isJsonObject(args)) return failed("The arguments are no JSON object.");
    return toModelParts(await this.outcome(tool, args, options));
  }

  /** What came of a call: its result, or the error that it was rejected with. */
  async outcome(tool: Tool, args: JsonObject, options?: CallOptions): Promise<CallToolResult | Error> {
    try {
      return await this.#source.call(tool.name, args, options);
    } catch (error) {
      return error instanceof Error ? error : new LocalError("FAILED", String(error));
    }
  }

  /** A name of letters, digits, `_` and `-` that no other tool has. */
  #free(name: string): string {
    const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST_NAME);
    let free = plain;
    for (let n = 2; this.#tools.has(free); n++) free = `${plain.slice(0, LONGEST_NAME - `_${n}`.length)}_${n}`;
    return free;
  }
}

function failed(text: string): ModelParts {
  return { parts: [{ type: "text", text }], isError: true };
}

/** Arguments as a model wrote them; undefined for what is no JSON. An empty text is no arguments. */
export function readArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
