// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.
import type { Offer } from "@secure-local/mcp/gateway";
import type { Items } from "../inspection/drift.js";
import type { Offering, RawItem } from "../inspection/finding.js";

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
    ["server", { capabilities: offer.capabilities, instructions: offer.instructions }],
  ]);
  for (const [kind, member, key] of LISTS) {
    for (const item of offer[member]) items.set(`${kind} ${String((item as unknown as RawItem)[key])}`, item);
  }
  return items;
}

/** What was approved, as it is offered: nothing has to be started for it. */
export function approvedOffer(approved: Items): Offer {
  const { capabilities = {}, instructions } = (approved.get("server") ?? {}) as Partial<Offer>;
  const listed = (kind: string): unknown[] =>
    [...approved].flatMap(([name, item]) => (name.startsWith(`${kind} `) ? [item] : []));
  return {
    tools: listed("tool") as Offer["tools"],
    prompts: listed("prompt") as Offer["prompts"],
    resources: listed("resource") as Offer["resources"],
    resourceTemplates: listed("template") as Offer["resourceTemplates"],
    capabilities,
    instructions,
    hints: { ttlMs: 0, cacheScope: "private" },
  };
}

/** As an inspection reads it. */
export function serverOffering(server: string, offer: Offer): Offering {
  const raw = (items: readonly object[]): readonly RawItem[] => items as readonly RawItem[];
  return {
    server,
    instructions: offer.instructions,
    tools: raw(offer.tools),
    prompts: raw(offer.prompts),
    resources: raw(offer.resources),
    resourceTemplates: raw(offer.resourceTemplates),
  };
}
