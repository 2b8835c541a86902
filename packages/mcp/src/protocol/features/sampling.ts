// Asking the client's model for a completion.
import type { Role } from "./resources.js";
import { blocksOf, type SamplingMessageContentBlock } from "../content.js";
import type { Meta } from "../meta.js";
import type { Tool } from "./tools.js";
import { fault, type ParamsFault } from "../method.js";

/** One message of the conversation that a question to the model carries. */
export interface SamplingMessage {
  role: Role;
  /** One block up to 2025-06-18; one or several since. */
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[];
  _meta?: Meta;
}

/** What kind of model is wanted. Priorities go from 0 to 1; hints are tried in order, by substring. */
export interface ModelPreferences {
  hints?: { name?: string }[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** Whether the model may, must or must not use the tools it is given. */
export interface ToolChoice {
  /** Default `auto`. */
  mode?: "auto" | "required" | "none";
}

/** A question to the client's model (client/sampling). */
export interface CreateMessageRequestParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: ModelPreferences;
  systemPrompt?: string;
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  metadata?: { [key: string]: unknown };
  /** Since 2025-11-25, and only for clients that declare `sampling.tools`. */
  tools?: Tool[];
  toolChoice?: ToolChoice;
  _meta?: Meta;
}

/** What the client's model answered (client/sampling). */
export interface CreateMessageResult {
  role: Role;
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[];
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the client's own word. */
  stopReason?: string;
  _meta?: Meta;
}

// Rules sampling messages obey beyond their shape, and the spelling of stop reasons.

/**
 * Finds the first message that breaks the rules of tool use (2025-11-25, client/sampling): only the assistant uses tools;
 * a user message with a tool result holds nothing else; and it answers, at once and completely, the message before it.
 */
export function checkToolUse(messages: readonly SamplingMessage[]): ParamsFault | undefined {
  let open: ReadonlySet<string> = new Set();
  for (const [index, message] of messages.entries()) {
    const blocks = blocksOf(message.content);
    const results = blocks.filter((block) => block.type === "tool_result");
    const uses = blocks.filter((block) => block.type === "tool_use");
    const constraint = toolUseFault(message, blocks.length, results, open) ?? roleFault(message, uses.length);
    if (constraint !== undefined) return fault(["messages", String(index), "content"], constraint);
    open = new Set(uses.map((use) => use.id));
  }
  if (open.size === 0) return undefined;
  return fault(["messages"], `followed by the results of the tool uses ${[...open].join(", ")}`);
}

function toolUseFault(
  message: SamplingMessage,
  blocks: number,
  results: readonly { toolUseId: string }[],
  open: ReadonlySet<string>,
): string | undefined {
  if (results.length === 0) {
    return open.size === 0 ? undefined : `the results of the tool uses ${[...open].join(", ")}`;
  }
  if (message.role !== "user") return "free of tool results, which only a user message may hold";
  if (results.length < blocks) return "tool results only, because one of its blocks is a tool result";
  const answered = new Set(results.map((result) => result.toolUseId));
  const exact = answered.size === open.size && [...open].every((id) => answered.has(id));
  return exact ? undefined : "one result for each tool use of the message before, and no others";
}

function roleFault(message: SamplingMessage, uses: number): string | undefined {
  return uses > 0 && message.role !== "assistant"
    ? "free of tool uses, which only the assistant may ask for"
    : undefined;
}

/** Spellings that model interfaces and the seed documents use for the reasons the specification names. */
const STOP_REASONS: ReadonlyMap<string, string> = new Map([
  ["end_turn", "endTurn"],
  ["stop_sequence", "stopSequence"],
  ["max_tokens", "maxTokens"],
  ["tool_use", "toolUse"],
]);

/** The specification's spelling of a stop reason; the client's own words stay. */
export function normalStopReason(reason: string): string {
  return STOP_REASONS.get(reason) ?? reason;
}
