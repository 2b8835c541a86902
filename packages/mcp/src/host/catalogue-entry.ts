// What the servers of a host offer, each with the name of its server.
import type { Prompt } from "../protocol/features/prompts.js";
import type { Resource, ResourceTemplate } from "../protocol/resource.js";
import type { Tool } from "../protocol/tool.js";

export interface HostTool {
  readonly kind: "tool";
  /** `server__tool`: what a model is told, and `host.call` takes. */
  readonly name: string;
  readonly server: string;
  /** Its name at the server. */
  readonly original: string;
  /** To be handed to a model: it has the name above, and annotations only where the server is trusted. */
  readonly tool: Tool;
}

export interface HostPrompt {
  readonly kind: "prompt";
  /** `server__prompt`. */
  readonly name: string;
  readonly server: string;
  readonly original: string;
  readonly prompt: Prompt;
}

/** Two servers may have different things under one URI: it says little without the server. */
export interface HostResource {
  readonly kind: "resource";
  readonly name: string;
  readonly server: string;
  readonly resource: Resource;
}

export interface HostTemplate {
  readonly kind: "template";
  readonly name: string;
  readonly server: string;
  readonly template: ResourceTemplate;
}

export type HostEntry = HostTool | HostPrompt | HostResource | HostTemplate;
export type EntryKind = HostEntry["kind"];
