// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.
import type { ServerGrant } from "../policy/policy.js";
import type { Offer } from "@secure-local/mcp/gateway";
import { replaceKnown } from "../audit/secret-shapes.js";
import type { Items } from "@secure-local/inspection/drift";
import type { Offering, Peer, RawItem } from "@secure-local/inspection/finding";

/** Kinds of items whose lists a server has, and the key that names each. */
const LISTS = [
  ["tool", "tools", "name"],
  ["prompt", "prompts", "name"],
  ["resource", "resources", "uri"],
  ["template", "resourceTemplates", "uriTemplate"],
] as const;

/** A value with the names of known secrets instead of their values, in its texts and in the names of its members. */
export function withoutSecrets<T>(value: T): T {
  return withNames(value) as T;
}

function withNames(value: unknown): unknown {
  if (typeof value === "string") return replaceKnown(value);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  if (Array.isArray(value)) return value.map(withNames);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [replaceKnown(key), withNames(member)]));
}

/**
 * All that a person approves of a server: each item whole, what it says of itself, and how it is started. A secret that a server puts
 * into its definitions is in none of it: it would stand in the lock, on screens and in every list.
 */
export function serverItems(said: Offer, launch: unknown): Items {
  const offer = withoutSecrets(said);
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
export function serverOffering(server: string, said: Offer): Offering {
  const offer = withoutSecrets(said);
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

/** A changed entry is another server: its connections end. */
export function sameGrant(now: ServerGrant | undefined, before: ServerGrant): boolean {
  if (now === undefined) return false;
  const text = ({ rule: _, env, headers, ...rest }: ServerGrant): string =>
    JSON.stringify({ ...rest, env: [...env], headers: [...headers] });
  return text(now) === text(before);
}
