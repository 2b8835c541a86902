// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.
import type { Offer } from "@secure-local/mcp/gateway";
import type { Items } from "../inspection/drift.js";
import type { Offering, Peer, RawItem } from "../inspection/finding.js";

/** Kinds of items whose lists a server has, and the key that names each. */
const LISTS = [
  ["tool", "tools", "name"],
  ["prompt", "prompts", "name"],
  ["resource", "resources", "uri"],
  ["template", "resourceTemplates", "uriTemplate"],
] as const;

/** All that a person approves of a server: each item whole, what it says of itself, and how it is started. */
export function serverItems(offer: Offer, launch: unknown): Items {
  const items = new Map<string, unknown>([
    ["launch", launch],
    ["server", { capabilities: offer.capabilities, instructions: offer.instructions, ...saidOfItself(offer) }],
  ]);
  for (const [kind, member, key] of LISTS) {
    for (const item of offer[member]) items.set(`${kind} ${String((item as unknown as RawItem)[key])}`, item);
  }
  return items;
}

/** What was approved of what a server calls itself. */
interface ApprovedInfo {
  readonly info?: Omit<NonNullable<Offer["server"]>, "version">;
}

/** What it calls itself, but for its version: a remote server has another one with each mend, and its things are held one by one. */
function saidOfItself({ server }: Offer): ApprovedInfo {
  if (server === undefined) return {};
  const { version: _, ...info } = server;
  return { info };
}

/** The tools of other servers, by their own names and those outside: what texts of this one must not speak of. */
export function serverPeers(approved: ReadonlyMap<string, Items>, own: string): Peer[] {
  return [...approved].flatMap(([server, items]) => {
    if (server === own) return [];
    const tools = [...items].flatMap(([item, content]) => {
      if (!item.startsWith("tool ")) return [];
      const name = item.slice("tool ".length);
      const { description } = content as { readonly description?: unknown };
      const about = typeof description === "string" ? description : undefined;
      return [name, `${server}__${name}`].map((each) => ({ name: each, description: about }));
    });
    return [{ server, tools }];
  });
}

/** What was approved, as it is offered: nothing has to be started for it. */
export function approvedOffer(approved: Items): Offer {
  const { capabilities = {}, instructions, info } = (approved.get("server") ?? {}) as Partial<Offer> & ApprovedInfo;
  const listed = (kind: string): unknown[] =>
    [...approved].flatMap(([name, item]) => (name.startsWith(`${kind} `) ? [item] : []));
  return {
    tools: listed("tool") as Offer["tools"],
    prompts: listed("prompt") as Offer["prompts"],
    resources: listed("resource") as Offer["resources"],
    resourceTemplates: listed("template") as Offer["resourceTemplates"],
    capabilities,
    instructions,
    server: info === undefined ? undefined : { ...info, version: "" },
    hints: { ttlMs: 0, cacheScope: "private" },
  };
}

/** As an inspection reads it. */
export function serverOffering(server: string, offer: Offer): Offering {
  const raw = (items: readonly object[]): readonly RawItem[] => items as readonly RawItem[];
  return {
    server,
    prefixed: true,
    instructions: offer.instructions,
    tools: raw(offer.tools),
    prompts: raw(offer.prompts),
    resources: raw(offer.resources),
    resourceTemplates: raw(offer.resourceTemplates),
  };
}
