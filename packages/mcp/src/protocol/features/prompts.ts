// Listing prompts and filling them in.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { Role } from "./resources.js";
import type { ContentBlock } from "../content.js";
import type { Icon } from "../icons.js";
import type { Meta } from "../meta.js";
import {
  type CacheableResult,
  checkCursor,
  type MethodRecord,
  type PaginatedRequestParams,
  optionalStringMap,
  type PaginatedResult,
  type ParamsFault,
  requireString,
} from "../method.js";

/** An argument of a prompt; its value is text. */
export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt as a list shows it (server/prompts). */
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  arguments?: readonly PromptArgument[];
  _meta?: Meta;
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

export interface ListPromptsResult extends PaginatedResult, CacheableResult {
  prompts: Prompt[];
}

/** A prompt filled in: messages to begin a conversation with (server/prompts). */
export interface GetPromptResult {
  description?: string;
  messages: PromptMessage[];
  _meta?: Meta;
}

/** Params of `prompts/get`. */
export interface GetPromptRequestParams {
  name: string;
  arguments?: Readonly<Record<string, string>>;
  _meta?: Meta;
}

export const LIST_PROMPTS: MethodRecord<PaginatedRequestParams> = {
  name: "prompts/list",
  check: checkCursor,
  capability: "prompts",
  cacheable: true,
  interactive: false,
  result: "prompts",
};

export const GET_PROMPT: MethodRecord<GetPromptRequestParams> = {
  name: "prompts/get",
  check: checkGetPrompt,
  capability: "prompts",
  cacheable: false,
  interactive: false,
  result: "getPrompt",
};

function checkGetPrompt(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "name") ?? optionalStringMap(params, "arguments");
}
