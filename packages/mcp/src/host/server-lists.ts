// Reads what one server offers and gives it the names it has in the host.
import type { Client } from "../client/client.js";
import type { Listing } from "../client/listing.js";
import type { Tool } from "../protocol/tool.js";
import type { HostEntry, HostPrompt, HostResource, HostTemplate, HostTool } from "./catalogue-entry.js";
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
  } else await readResources(client, server.name, note);
  return found;
}

type Note = (entry: HostEntry, key: string) => boolean;

function noteNamed(note: Note, entry: HostTool | HostPrompt): boolean {
  return note(entry, entry.name);
}

async function readResources(client: Client, server: string, note: Note): Promise<void> {
  await each(client.resources(), (resource) => {
    const entry: HostResource = { kind: "resource", name: resource.name, server, resource };
    return note(entry, `uri ${resource.uri}`);
  });
  await each(client.resourceTemplates(), (template) => {
    const entry: HostTemplate = { kind: "template", name: template.name, server, template };
    return note(entry, `template ${template.uriTemplate}`);
  });
}

async function each<T>(listing: Listing<T>, take: (item: T) => boolean | Promise<boolean>): Promise<void> {
  for await (const item of listing) if (!(await take(item))) return;
}

// What a stranger says of its tools decides nothing, so it is not even shown.
async function hostTool(server: ListedServer, tool: Tool): Promise<HostTool> {
  const name = await qualifiedName(server.name, tool.name);
  const { annotations, ...rest } = tool;
  const believed = server.trusted && annotations !== undefined ? { annotations } : {};
  return { kind: "tool", name, server: server.name, original: tool.name, tool: { ...rest, ...believed, name } };
}
