// Takes what a mounted server offers apart into the items that are inspected and approved one by one, and puts it together again.
import { itemFault, type Offer } from "@secure-local/mcp/gateway";
import { ExactNumber } from "@secure-local/mcp/jsonrpc";
import { holdsKnownDigits } from "../audit/number-secrets.js";
import type { Work } from "../audit/encoded-secrets.js";
import { atOnce, replacingKnown, secretsVersion } from "../audit/secret-shapes.js";
import type { Items } from "@secure-local/inspection/drift";
import type { Offering, Peer, RawItem } from "@secure-local/inspection/finding";

/** Kinds of items whose lists a server has, and the key that names each. */
const LISTS = [
  ["tool", "tools", "name"],
  ["prompt", "prompts", "name"],
  ["resource", "resources", "uri"],
  ["template", "resourceTemplates", "uriTemplate"],
] as const;

/** By what was looked through already: which values were known then. */
const lookedThrough = new WeakMap<object, number>();

/** A value with the names of known secrets instead of their values, in its texts and in the names of its members. */
export function withoutSecrets<T>(value: T): T {
  return atOnce(withoutSecretsInParts(value));
}

/** The same in parts: a server's lists may be long. */
export function* withoutSecretsInParts<T>(value: T): Work<T> {
  const version = secretsVersion();
  if (typeof value === "object" && value !== null && lookedThrough.get(value) === version) return value;
  const cleaned = (yield* withNames(value)) as T;
  if (typeof cleaned === "object" && cleaned !== null) lookedThrough.set(cleaned, version);
  return cleaned;
}

function* withNames(value: unknown): Work<unknown> {
  if (typeof value === "string") return yield* replacingKnown(value);
  if (typeof value === "number") return holdsKnownDigits(value) ? 0 : value;
  if (value instanceof ExactNumber) return holdsKnownDigits(value.toString()) ? 0 : value;
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  yield A_MEMBER;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const each of value as readonly unknown[]) list.push(yield* withNames(each));
    return list;
  }
  const members: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value))
    members.push([yield* replacingKnown(key), yield* withNames(member)]);
  return Object.fromEntries(members);
}

/** What a list or an object costs, as characters are counted that secrets are looked for in. */
const A_MEMBER = 16;

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
    for (const item of offer[member] as readonly unknown[]) {
      const name = `${kind} ${nameOf(item, key)}`;
      const before = items.get(name);
      // Which of them a call would reach is the server's to choose: a person is shown all, and none is offered.
      if (before === undefined) items.set(name, item);
      else items.set(name, { [TWICE]: isTwice(before) ? [...before[TWICE], item] : [before, item] });
    }
  }
  return items;
}

/** What holds things of one name, which has no name itself. */
const TWICE = "offered more than once";
type Twice = { readonly [TWICE]: readonly unknown[] };

function isTwice(item: unknown): item is Twice {
  return isObject(item) && Array.isArray(item[TWICE]) && Object.keys(item).length === 1;
}

function nameOf(item: unknown, key: string): string {
  const name = isObject(item) ? item[key] : undefined;
  return typeof name === "string" ? name : `(no ${key}: ${JSON.stringify(name) ?? "there is none"})`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Why something of a server's lists can be offered to nobody, as the end of a sentence; undefined where it can. */
export function unfitReason(item: string, content: unknown): string | undefined {
  const kind = LISTS.find(([each]) => item.startsWith(`${each} `))?.[0];
  if (kind === undefined) return undefined;
  if (isTwice(content)) return "its server offers more than one of this name";
  const fault = itemFault(kind, content);
  return fault && `it is none that could be listed (${fault})`;
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
      const { description } = isObject(content) ? content : {};
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
    [...approved].flatMap(([name, item]) =>
      name.startsWith(`${kind} `) && unfitReason(name, item) === undefined ? [item] : [],
    );
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
  const raw = (items: readonly unknown[]): readonly RawItem[] => items.filter(isObject);
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
