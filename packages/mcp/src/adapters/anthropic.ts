// Tools in the shape of Anthropic's Messages API: nothing of it is imported.
import type { ModelPart } from "../client/model-text.js";
import type { CallOptions } from "../client/options.js";
import { Toolset, type ToolSource } from "./toolset.js";

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
  /** Runs a block `tool_use`, and gives the block for the next user message. Never rejects: the model is told what went wrong. */
  run(call: AnthropicCall, options?: CallOptions): Promise<AnthropicResult>;
}

const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** The tools of a client or a host for a model of Anthropic's. */
export async function toAnthropicTools(source: ToolSource): Promise<AnthropicTools> {
  const set = await Toolset.of(source);
  return {
    tools: set.tools.map(({ name, tool }) => ({
      name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      input_schema: tool.inputSchema as AnthropicTool["input_schema"],
    })),
    async run({ id, name, input }, options) {
      const { parts, isError } = await set.run(name, input, options);
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
