// Reads what one server offers and gives it the names it has in the host.
import type { Client } from "../client/client.js";
import type { Listing } from "../client/listing.js";
import type { Tool } from "../protocol/tool.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { HostEntry, HostPrompt, HostResource, HostTemplate, HostTool } from "./catalogue-entry.js";
import { messageOf } from "./decision.js";
import { qualifiedName } from "./qualified-name.js";

/** Whoever lists more is not helped by the rest. */
const MOST_ENTRIES = 5_000;

export interface ListedServer {
  readonly name: string;
  readonly trusted: boolean;
}

export type ListKind = "tools" | "prompts" | "resources";

/** Everything of one kind. Rejects as the client does. `warn` is told of what is left out. */
export async function readList(
  kind: ListKind,
  client: Client,
  { server, warn }: { server: ListedServer; warn: (text: string) => void },
): Promise<HostEntry[]> {
  const { capabilities } = client;
  if (capabilities[kind] === undefined) return [];
  const taken = new Set<string>();
  const once = (entry: HostEntry, key: string): HostEntry[] => {
    if (!taken.has(key)) return taken.add(key) && [entry];
    warn(`${server.name} lists two ${kind} under the name ${JSON.stringify(entry.name)}: the second is left out`);
    return [];
  };
  const found: HostEntry[] = [];
  const note = (entry: HostEntry, key: string): boolean => {
    found.push(...once(entry, key));
    if (found.length < MOST_ENTRIES) return true;
    warn(`${server.name} lists more than ${MOST_ENTRIES} ${kind}: the others are left out`);
    return false;
  };
  if (kind === "tools") await each(client.tools(), async (tool) => noteNamed(note, await hostTool(server, tool)));
  else if (kind === "prompts") {
    await each(client.prompts(), async (prompt) => {
      const name = await qualifiedName(server.name, prompt.name);
      const entry: HostPrompt = {
        kind: "prompt",
        name,
        server: server.name,
        original: prompt.name,
        prompt: { ...prompt, name },
      };
      return noteNamed(note, entry);
    });
  } else await readResources(client, { server, note, warn });
  return found;
}

type Note = (entry: HostEntry, key: string) => boolean;

interface Reading {
  readonly server: ListedServer;
  readonly note: Note;
  readonly warn: (text: string) => void;
}

function noteNamed(note: Note, entry: HostTool | HostPrompt): boolean {
  return note(entry, entry.name);
}

// Two lists of one capability: what is wrong with one of them is no reason to lose the other.
async function readResources(client: Client, { server, note, warn }: Reading): Promise<void> {
  const name = server.name;
  const resources = each(client.resources(), (resource) => {
    const entry: HostResource = { kind: "resource", name: resource.name, server: name, resource };
    return note(entry, `uri ${resource.uri}`);
  });
  const [listed] = await Promise.allSettled([resources]);
  const templates = each(client.resourceTemplates(), (template) => {
    const entry: HostTemplate = { kind: "template", name: template.name, server: name, template };
    return note(entry, `template ${template.uriTemplate}`);
  });
  const [templated] = await Promise.allSettled([templates]);
  if (listed.status === "rejected" && templated.status === "rejected") throw listed.reason;
  const both: [string, PromiseSettledResult<void>][] = [
    ["resources", listed],
    ["resource templates", templated],
  ];
  for (const [what, outcome] of both) {
    if (outcome.status === "rejected") warn(`The ${what} of ${name} could not be listed: ${messageOf(outcome.reason)}`);
  }
}

/** A capability promises no single method: a list that the server does not know is one it has nothing to put into. */
async function each<T>(listing: Listing<T>, take: (item: T) => boolean | Promise<boolean>): Promise<void> {
  try {
    for await (const item of listing) if (!(await take(item))) return;
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== ErrorCode.MethodNotFound) throw error;
  }
}

// What a stranger says of its tools decides nothing, so it is not even shown.
async function hostTool(server: ListedServer, tool: Tool): Promise<HostTool> {
  const name = await qualifiedName(server.name, tool.name);
  const { annotations, ...rest } = tool;
  const believed = server.trusted && annotations !== undefined ? { annotations } : {};
  return { kind: "tool", name, server: server.name, original: tool.name, tool: { ...rest, ...believed, name } };
}
