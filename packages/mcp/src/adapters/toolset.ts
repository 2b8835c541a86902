// A client's or a host's tools in the shapes of models' APIs, and how a call comes back to its tool: nothing of those
// APIs is imported.
import { type ModelPart, type ModelParts, toModelParts } from "../client/model-text.js";
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

class Toolset {
  readonly #source: ToolSource;
  readonly #tools = new Map<string, Tool>();

  private constructor(source: ToolSource, tools: readonly Tool[]) {
    this.#source = source;
    for (const tool of tools) this.#tools.set(this.#free(tool.name), tool);
  }

  /** Throws INVALID_TARGET for what has no tools to list: `adapter` is what was called. */
  static async of(source: ToolSource, adapter: string): Promise<Toolset> {
    const listed = listOf(source, adapter);
    const tools: Tool[] = [];
    for await (const one of listed) tools.push(withProperties("inputSchema" in one ? one : one.tool));
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

/** Whose tools they are, listed. A server's member of this name registers, and a promise has none. */
function listOf(source: ToolSource, adapter: string): ReturnType<ToolSource["tools"]> {
  const { tools, call, then } = Object(source) as Partial<ToolSource> & { readonly then?: unknown };
  if (typeof then === "function")
    throw noSource(`${adapter}(source) was given a promise: await it first, as in ${adapter}(await connect(server))`);
  if (typeof tools === "function" && typeof call === "function") return source.tools();
  const takes = `${adapter}(source) takes a client or a host`;
  if (typeof tools === "function" || "tool" in Object(source))
    throw noSource(`${takes}, and was given a server: ${adapter}(await connect(server)), with connect of /client`);
  const given = Array.isArray(source) ? "a list" : source === null ? "null" : typeof source;
  throw noSource(`${takes}, and was given ${given}: await connect(target) of /client makes a client`);
}

function noSource(text: string): LocalError {
  return new LocalError("INVALID_TARGET", text);
}

/** APIs refuse a schema of an object that names no properties, which is what a tool without arguments may have. */
function withProperties(tool: Tool): Tool {
  const { inputSchema } = tool;
  if (inputSchema["properties"] !== undefined) return tool;
  return { ...tool, inputSchema: { ...inputSchema, properties: {} } };
}

/** How a call of each API looks, and what takes it. */
const CALLS = [
  {
    type: "function_call",
    id: "call_id",
    of: "toOpenAiTools: run(call)",
    what: "an item function_call of OpenAI's Responses",
  },
  {
    type: "function",
    id: "id",
    of: "toOpenAiTools: runChat(call)",
    what: "a member of tool_calls of OpenAI's Chat Completions",
  },
  { type: "tool_use", id: "id", of: "toAnthropicTools: run(block)", what: "a block tool_use of Anthropic's Messages" },
] as const;

type CallType = (typeof CALLS)[number]["type"];

/** Throws BAD_CALL for what is no call of this API: whoever wrote the program is told what to give, since no model has called. */
function checkModelCall(given: unknown, type: CallType): void {
  const { id, of, what } = CALLS.find((each) => each.type === type) as (typeof CALLS)[number];
  const call = (Object(given) ?? {}) as Record<string, unknown>;
  const inside = type === "function" ? (Object(call["function"]) as Record<string, unknown>) : call;
  const named = typeof inside["name"] === "string" && typeof call[id] === "string";
  if (named && (call["type"] === undefined || call["type"] === type)) return;
  const takes = `${of} takes one call, ${what}`;
  throw new LocalError(
    "BAD_CALL",
    `${takes}${Array.isArray(given) ? ", and was given a list: call it for each of them" : gave(call)}`,
  );
}

function gave(call: Record<string, unknown>): string {
  const known = CALLS.find(({ type }) => type === call["type"]);
  if (known !== undefined)
    return `, and was given ${known.what}, which ${known.of} takes, or which lacks its name or id`;
  const members = Object.keys(call).slice(0, 8).join(", ");
  const holds = ["tool_calls", "output", "content"].find((name) => Array.isArray(call[name]));
  if (holds !== undefined) return `, and was given what holds calls: take them out of its "${holds}"`;
  return members === "" ? ", and was given none" : `, and was given something with the members ${members}`;
}

/** Arguments as a model wrote them, or as somebody has read them already; undefined for what is no JSON. An empty text is no arguments. */
function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Tools in the shape of the AI SDK (versions 5 and 6): nothing of it is imported.

/** How the AI SDK knows a JSON Schema, whichever copy of it looks. */
const SCHEMA = Symbol.for("vercel.ai.schema");

/** One part of what the AI SDK hands to the model. */
export type AiContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly data: string; readonly mediaType: string };

/** What the AI SDK hands to the model for one call. */
export type AiOutput =
  | { readonly type: "content"; readonly value: AiContent[] }
  | { readonly type: "error-text"; readonly value: string };

/** A dynamic tool of the AI SDK. `execute` gives the result as it came; the model gets what `toModelOutput` makes of it. */
export interface AiTool {
  readonly type: "dynamic";
  readonly description?: string;
  /** The AI SDK's own `Schema`, around the JSON Schema: whose type has no name without the AI SDK, and this one fits it. */
  readonly inputSchema: never;
  execute(input: unknown, options?: { readonly abortSignal?: AbortSignal | undefined }): Promise<CallToolResult>;
  toModelOutput(given: unknown): AiOutput;
}

/**
 * The tools of a client or a host for `tools` of `generateText`, `streamText` and agents. They are those of now: ask again
 * when the list has changed. A call that fails rejects, as the AI SDK wants it, with words for the model.
 */
export async function toAiTools(source: ToolSource): Promise<Record<string, AiTool>> {
  const set = await Toolset.of(source, "toAiTools");
  const shaped = set.tools.map(({ name, tool }): [string, AiTool] => [
    name,
    {
      type: "dynamic",
      ...(tool.description === undefined ? {} : { description: tool.description }),
      inputSchema: { [SCHEMA]: true, _type: undefined, jsonSchema: tool.inputSchema, validate: undefined } as never,
      async execute(input, options) {
        const signal = options?.abortSignal;
        const args = isJsonObject(input) ? input : {};
        const outcome = await set.outcome(tool, args, signal === undefined ? {} : { signal });
        if (outcome instanceof Error) throw new LocalError("FAILED", textOf(toModelParts(outcome)), { cause: outcome });
        return outcome;
      },
      toModelOutput: (given) => aiOutput(outputOf(given)),
    },
  ]);
  return Object.fromEntries(shaped);
}

/** Version 6 hands over `{ toolCallId, input, output }`, version 5 the output alone. */
function outputOf(given: unknown): CallToolResult {
  const inside = isJsonObject(given) && "toolCallId" in given ? given["output"] : given;
  return inside as CallToolResult;
}

function aiOutput(result: CallToolResult): AiOutput {
  const model = toModelParts(result);
  if (model.isError) return { type: "error-text", value: textOf(model) };
  const value = model.parts.map((part): AiContent =>
    part.type === "text" ? part : { type: "media", data: part.data, mediaType: part.mimeType },
  );
  return { type: "content", value };
}

function textOf({ parts }: ModelParts): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

// Tools in the shape of Anthropic's Messages API: nothing of it is imported.

/** A tool of the Messages API. */
export interface AnthropicTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: "object"; readonly [keyword: string]: unknown };
}

/** A block `tool_use` of a message. */
export interface AnthropicCall {
  readonly type?: string;
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A part of a block `tool_result`. */
export type AnthropicPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image";
      readonly source: { readonly type: "base64"; readonly media_type: AnthropicImage; readonly data: string };
    };

/** The images that the Messages API takes. */
export type AnthropicImage = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

/** A block `tool_result` for the next user message. */
export interface AnthropicResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly is_error: boolean;
  readonly content: AnthropicPart[];
}

/** The tools, and what runs a call that the model made of one. */
export interface AnthropicTools {
  /** For `tools` of `messages.create`. They are those of now: ask again when the list has changed. */
  readonly tools: AnthropicTool[];
  /**
   * Runs a block `tool_use`, and gives the block for the next user message. Never rejects for a call of the model, which is told what went
   * wrong; for what is no such block, with BAD_CALL.
   */
  run(call: AnthropicCall, options?: CallOptions): Promise<AnthropicResult>;
}

const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** The tools of a client or a host for a model of Anthropic's. */
export async function toAnthropicTools(source: ToolSource): Promise<AnthropicTools> {
  const set = await Toolset.of(source, "toAnthropicTools");
  return {
    tools: set.tools.map(({ name, tool }) => ({
      name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      input_schema: tool.inputSchema as AnthropicTool["input_schema"],
    })),
    async run(call, options) {
      checkModelCall(call, "tool_use");
      const { id, name, input } = call;
      const { parts, isError } = await set.run(name, readArguments(input), options);
      return { type: "tool_result", tool_use_id: id, is_error: isError, content: parts.map(resultPart) };
    },
  };
}

/** A kind of media that the API does not take is named. */
function resultPart(part: ModelPart): AnthropicPart {
  if (part.type === "text") return part;
  const { type, mimeType, data } = part;
  if (type === "image" && IMAGES.has(mimeType))
    return { type, source: { type: "base64", media_type: mimeType as AnthropicImage, data } };
  return { type: "text", text: `[${type}, ${mimeType}]` };
}

// Tools in the shapes of OpenAI's Responses and Chat Completions APIs: nothing of them is imported.

/** A function of the Responses API. */
export interface OpenAiTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
  readonly strict: false;
}

/** A function of the Chat Completions API. */
export interface OpenAiChatTool {
  readonly type: "function";
  readonly function: Omit<OpenAiTool, "type" | "strict">;
}

/** A part of what a function gave, in the Responses API. */
export type OpenAiPart =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string; readonly detail: "auto" };

/** An item `function_call` of a response. */
export interface OpenAiCall {
  readonly type?: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A member of `tool_calls` of a chat message. */
export interface OpenAiChatCall {
  readonly type?: string;
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The tools, and what runs a call that the model made of one. */
export interface OpenAiTools {
  /** For `tools` of `responses.create`. They are those of now: ask again when the list has changed. */
  readonly tools: OpenAiTool[];
  /** For `tools` of `chat.completions.create`. */
  readonly chatTools: OpenAiChatTool[];
  /**
   * Runs an item `function_call`, and gives the item for the next `input`. Never rejects for a call of the model, which is told what went
   * wrong; for what is no such item, with BAD_CALL.
   */
  run(
    call: OpenAiCall,
    options?: CallOptions,
  ): Promise<{ readonly type: "function_call_output"; readonly call_id: string; readonly output: OpenAiPart[] }>;
  /** Runs a call of a chat message, and gives the message for it. A chat takes text alone: media are named. Rejects as `run` does. */
  runChat(
    call: OpenAiChatCall,
    options?: CallOptions,
  ): Promise<{ readonly role: "tool"; readonly tool_call_id: string; readonly content: string }>;
}

/** The tools of a client or a host for a model of OpenAI's. */
export async function toOpenAiTools(source: ToolSource): Promise<OpenAiTools> {
  const set = await Toolset.of(source, "toOpenAiTools");
  const described = set.tools.map(({ name, tool }) => ({
    name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    parameters: tool.inputSchema as Record<string, unknown>,
  }));
  return {
    tools: described.map((one) => ({ type: "function", ...one, strict: false })),
    chatTools: described.map((one) => ({ type: "function", function: one })),
    async run(call, options) {
      checkModelCall(call, "function_call");
      const { call_id, name, arguments: text } = call;
      const { parts, isError } = await set.run(name, readArguments(text), options);
      return { type: "function_call_output", call_id, output: [...failure(isError), ...parts.map(inputPart)] };
    },
    async runChat(call, options) {
      checkModelCall(call, "function");
      const {
        id,
        function: { name, arguments: text },
      } = call;
      const model = await set.run(name, readArguments(text), options);
      return { role: "tool", tool_call_id: id, content: plainText(model) };
    },
  };
}

/** The API has no mark for a call that failed: the model reads it. */
function failure(isError: boolean): OpenAiPart[] {
  return isError ? [{ type: "input_text", text: "The call failed:" }] : [];
}

function inputPart(part: ModelPart): OpenAiPart {
  if (part.type === "image")
    return { type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}`, detail: "auto" };
  return { type: "input_text", text: part.type === "text" ? part.text : named(part) };
}

function plainText({ parts, isError }: ModelParts): string {
  const text = parts.map((part) => (part.type === "text" ? part.text : named(part))).join("\n");
  return isError ? `The call failed: ${text}` : text;
}

function named({ type, mimeType }: Exclude<ModelPart, { type: "text" }>): string {
  return `[${type}, ${mimeType}]`;
}
