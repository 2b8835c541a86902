// Asking the client's model for a completion.
import type { Role } from "../annotations.js";
import type { SamplingMessageContentBlock } from "../content.js";
import type { Meta } from "../meta.js";
import type { Tool } from "../tool.js";

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

export interface ToolChoice {
  /** Default `auto`. */
  mode?: "auto" | "required" | "none";
}

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

export interface CreateMessageResult {
  role: Role;
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[];
  model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the client's own word. */
  stopReason?: string;
  _meta?: Meta;
}
