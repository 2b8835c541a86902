// Tools in the shape of the AI SDK (versions 5 and 6): nothing of it is imported.
import { type ModelParts, toModelParts } from "../client/model-text.js";
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject } from "../jsonrpc/message.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import { Toolset, type ToolSource } from "./toolset.js";

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
  const set = await Toolset.of(source);
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
