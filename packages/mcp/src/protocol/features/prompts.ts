// Listing prompts and filling them in, and completing their arguments and those of resource templates.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import type { Icon } from "../capabilities.js";
import type { ContentBlock } from "../content.js";
import type { Meta } from "../meta.js";
import {
  type CacheableResult,
  checkCursor,
  fault,
  type MethodRecord,
  optionalStringMap,
  type PaginatedRequestParams,
  type PaginatedResult,
  type ParamsFault,
  requireObject,
  requireString,
} from "../method.js";
import type { Role } from "./resources.js";

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

// Completing the arguments of prompts and resource templates.

/** The prompt whose argument is completed. */
export interface PromptReference {
  type: "ref/prompt";
  name: string;
  title?: string;
}

/** The resource template whose variable is completed. */
export interface ResourceTemplateReference {
  type: "ref/resource";
  /** The URI or URI template. */
  uri: string;
}

/** What is being completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionReference = PromptReference | ResourceTemplateReference;

/** Params of `completion/complete`: what is completed, and what is typed so far. */
export interface CompleteRequestParams {
  ref: CompletionReference;
  argument: { name: string; value: string };
  /** Arguments chosen so far (since 2025-06-18). */
  context?: { arguments?: { [name: string]: string } };
  _meta?: Meta;
}

export const COMPLETE: MethodRecord<CompleteRequestParams> = {
  name: "completion/complete",
  check: checkComplete,
  capability: "completions",
  cacheable: false,
  interactive: false,
  result: "complete",
};

function checkComplete(params: JsonObject): ParamsFault | undefined {
  return checkReference(params) ?? checkArgument(params) ?? checkContext(params);
}

function checkReference(params: JsonObject): ParamsFault | undefined {
  const ref = params["ref"];
  if (!isJsonObject(ref)) return requireObject(params, "ref");
  switch (ref["type"]) {
    case "ref/prompt":
      return typeof ref["name"] === "string"
        ? undefined
        : fault(["ref", "name"], "a string", ref["name"] === undefined);
    case "ref/resource":
      return typeof ref["uri"] === "string" ? undefined : fault(["ref", "uri"], "a string", ref["uri"] === undefined);
    default:
      return fault(["ref", "type"], '"ref/prompt" or "ref/resource"', ref["type"] === undefined);
  }
}

function checkArgument(params: JsonObject): ParamsFault | undefined {
  const argument = params["argument"];
  if (!isJsonObject(argument)) return requireObject(params, "argument");
  for (const key of ["name", "value"]) {
    const value = argument[key];
    if (typeof value !== "string") return fault(["argument", key], "a string", value === undefined);
  }
  return undefined;
}

function checkContext(params: JsonObject): ParamsFault | undefined {
  const context = params["context"];
  if (context === undefined) return undefined;
  if (!isJsonObject(context)) return fault(["context"], "an object");
  return optionalStringMap(context, "arguments", ["context"]);
}
