// Tools in the shapes of OpenAI's Responses and Chat Completions APIs: nothing of them is imported.
import type { ModelPart, ModelParts } from "../client/model-text.js";
import type { CallOptions } from "../client/options.js";
import { readArguments, Toolset, type ToolSource } from "./toolset.js";

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
  /** Runs an item `function_call`, and gives the item for the next `input`. Never rejects: the model is told what went wrong. */
  run(
    call: OpenAiCall,
    options?: CallOptions,
  ): Promise<{ readonly type: "function_call_output"; readonly call_id: string; readonly output: OpenAiPart[] }>;
  /** Runs a call of a chat message, and gives the message for it. A chat takes text alone: media are named. Never rejects. */
  runChat(
    call: OpenAiChatCall,
    options?: CallOptions,
  ): Promise<{ readonly role: "tool"; readonly tool_call_id: string; readonly content: string }>;
}

/** The tools of a client or a host for a model of OpenAI's. */
export async function toOpenAiTools(source: ToolSource): Promise<OpenAiTools> {
  const set = await Toolset.of(source);
  const described = set.tools.map(({ name, tool }) => ({
    name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    parameters: tool.inputSchema as Record<string, unknown>,
  }));
  return {
    tools: described.map((one) => ({ type: "function", ...one, strict: false })),
    chatTools: described.map((one) => ({ type: "function", function: one })),
    async run({ call_id, name, arguments: text }, options) {
      const { parts, isError } = await set.run(name, readArguments(text), options);
      return { type: "function_call_output", call_id, output: [...failure(isError), ...parts.map(inputPart)] };
    },
    async runChat({ id, function: { name, arguments: text } }, options) {
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
