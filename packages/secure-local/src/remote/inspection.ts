// Collects what a server says of itself: who it is, what it speaks, all it lists.
import type {
  Client,
  Implementation,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "@secure-local/mcp/client";
import { RpcError } from "@secure-local/mcp/client/node";
import { type Target, targetText } from "./target.js";

/** The keys of `inspect --json`. */
export interface Inspection {
  readonly target: string;
  readonly transport: string;
  readonly era: string;
  readonly revision: string;
  /** Revisions the server says it speaks; empty where it does not say. */
  readonly offered: readonly string[];
  readonly server: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
}

const METHOD_NOT_FOUND = -32601;

/** Rejects with the client's errors; a list that was not declared is empty. */
export async function inspection(client: Client, target: Target): Promise<Inspection> {
  const { capabilities, transport, era, revision, offered, server, instructions } = client;
  const { tools, resources, prompts } = capabilities;
  return {
    target: targetText(target),
    transport,
    era,
    revision,
    offered,
    server,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    tools: tools === undefined ? [] : await client.tools().all(),
    resources: resources === undefined ? [] : await client.resources().all(),
    resourceTemplates: resources === undefined ? [] : await templates(client),
    prompts: prompts === undefined ? [] : await client.prompts().all(),
  };
}

/** Many servers with resources have no method for templates. */
async function templates(client: Client): Promise<ResourceTemplate[]> {
  try {
    return await client.resourceTemplates().all();
  } catch (error) {
    if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return [];
    throw error;
  }
}
