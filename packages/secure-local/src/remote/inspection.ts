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
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
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
  /** Lists that are declared and could not be had, and why. Absent when all could. */
  readonly failed?: Readonly<Record<string, string>>;
}

/** Errors after which nothing else will be answered. */
const GONE: ReadonlySet<string> = new Set(["CANCELLED", "UNAUTHORIZED", "FORBIDDEN"]);
const METHOD_NOT_FOUND = -32601;

/** A list that was not declared, or that could not be had, is empty; rejects only where the server is gone. */
export async function inspection(client: Client, target: Target): Promise<Inspection> {
  const { capabilities, transport, era, revision, offered, server, instructions } = client;
  const { tools, resources, prompts } = capabilities;
  const failed: Record<string, string> = {};
  const listed = async <T>(name: string, declared: unknown, list: () => Promise<T[]>): Promise<T[]> => {
    if (declared === undefined) return [];
    try {
      return await list();
    } catch (error) {
      if (!(error instanceof RpcError) && !(error instanceof LocalError && !GONE.has(error.code))) throw error;
      failed[name] = error.message;
      return [];
    }
  };
  const lists = {
    tools: await listed("tools", tools, () => client.tools().all()),
    resources: await listed("resources", resources, () => client.resources().all()),
    resourceTemplates: await listed("resourceTemplates", resources, () => templates(client)),
    prompts: await listed("prompts", prompts, () => client.prompts().all()),
  };
  return {
    target: targetText(target),
    transport,
    era,
    revision,
    offered,
    server,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ...lists,
    ...(Object.keys(failed).length === 0 ? {} : { failed }),
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
