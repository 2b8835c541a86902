// Takes apart what plugins offer and says whose each name or URI is: it belongs to one owner, and what could be taken
// for another's is offered by nobody.
import type { Items } from "@secure-local/inspection/drift";
import type { Offering } from "@secure-local/inspection/finding";
import { skeleton } from "@secure-local/inspection/names";
import type { PluginDescription } from "../plugins/plugin-description.js";

/** Names of the server's own, which no plugin's may be or look like. */
export interface BuiltInNames {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
}

/** By plugin, by kind and name as in `tool weather_now`: why it is not offered. */
export type NameConflicts = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Schemes of the server's own resources. */
export const SERVER_SCHEMES: ReadonlySet<string> = new Set(["file", "git", "db", "server"]);

export interface NamedPlugin {
  readonly name: string;
  readonly description: PluginDescription | undefined;
}

interface Item {
  readonly plugin: string;
  readonly kind: "tool" | "prompt" | "resource";
  /** As clients see it. */
  readonly name: string;
}

/** @param plugins All that are loaded, those that have said nothing yet as well: their names are theirs already. */
export function nameConflicts(plugins: readonly NamedPlugin[], builtIn: BuiltInNames): NameConflicts {
  const items = plugins.flatMap(namedItemsOf);
  const found = new Map<string, Map<string, string>>();
  const alike = groupedBy(items, readAs);
  const schemes = groupedBy(
    items.filter(({ kind }) => kind === "resource"),
    ({ name }) => schemeOf(name),
  );
  const own = new Map([
    ...builtIn.tools.map((name) => [readAs({ kind: "tool", name }), name] as const),
    ...builtIn.prompts.map((name) => [readAs({ kind: "prompt", name }), name] as const),
  ]);
  for (const item of items) {
    const others = (alike.get(readAs(item)) ?? []).filter((other) => other !== item);
    const reason =
      ofTheServer(item, own) ??
      twice(item, others) ??
      (item.kind === "resource"
        ? ofAnotherScheme(item, plugins, schemes.get(schemeOf(item.name)) ?? [])
        : ofAnotherPrefix(item, plugins));
    if (reason === undefined) continue;
    const of = found.get(item.plugin) ?? new Map<string, string>();
    found.set(item.plugin, of.set(`${item.kind} ${item.name}`, reason));
  }
  return found;
}

function namedItemsOf({ name: plugin, description }: NamedPlugin): Item[] {
  if (description === undefined) return [];
  const { tools, prompts, resources } = description;
  return [
    ...tools.map(({ name }) => ({ plugin, kind: "tool" as const, name: ownName(plugin, name) })),
    ...prompts.map(({ name }) => ({ plugin, kind: "prompt" as const, name: ownName(plugin, name) })),
    ...resources.map(({ uri }) => ({ plugin, kind: "resource" as const, name: uri })),
  ];
}

/** Two with the same are read as the same name, or lead to the same. */
function readAs({ kind, name }: Pick<Item, "kind" | "name">): string {
  return `${kind} ${kind === "resource" ? decoded(name) : skeleton(name)}`;
}

function ofTheServer({ kind, name }: Item, own: ReadonlyMap<string, string>): string | undefined {
  if (kind === "resource")
    return SERVER_SCHEMES.has(schemeOf(name)) ? `the scheme ${schemeOf(name)}: belongs to the server` : undefined;
  const server = own.get(readAs({ kind, name }));
  if (server === undefined) return undefined;
  return server === name ? "the name belongs to the server" : `its name looks like ${server} of the server`;
}

function twice({ plugin, name }: Item, others: readonly Item[]): string | undefined {
  const other = others.find((each) => each.plugin !== plugin) ?? others.find((each) => each.name === name);
  if (other === undefined) return undefined;
  const whose = other.plugin === plugin ? "this plugin" : `the plugin ${other.plugin}`;
  return other.name === name ? `${whose} offers that name as well` : `its name looks like ${other.name} of ${whose}`;
}

/** `git_hub_search` belongs to `git_hub` where that is loaded, whether or not it offers it now. */
function ofAnotherPrefix({ plugin, name }: Item, plugins: readonly NamedPlugin[]): string | undefined {
  const [words, mine] = [wordsOf(name), wordsOf(plugin)];
  const owner = plugins.find((other) => {
    const theirs = wordsOf(other.name);
    return other.name !== plugin && theirs.length >= mine.length && theirs.every((word, at) => words[at] === word);
  });
  return owner && `names that begin so belong to the plugin ${owner.name}`;
}

function ofAnotherScheme(
  { plugin, name }: Item,
  plugins: readonly NamedPlugin[],
  sharing: readonly Item[],
): string | undefined {
  const scheme = schemeOf(name);
  const owner = plugins.find((other) => other.name !== plugin && ownScheme(other.name) === scheme);
  if (owner !== undefined) return `the scheme ${scheme}: belongs to the plugin ${owner.name}`;
  const other = ownScheme(plugin) === scheme ? undefined : sharing.find((each) => each.plugin !== plugin);
  return other && `the plugin ${other.plugin} uses the scheme ${scheme}: as well; ${ownScheme(plugin)}: is its own`;
}

/** A scheme has no `_`. */
function ownScheme(plugin: string): string {
  return plugin.toLowerCase().replaceAll("_", "-");
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(":")).toLowerCase();
}

function wordsOf(name: string): string[] {
  return name.split(/[-_]+/).filter(Boolean).map(skeleton);
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

function groupedBy(items: readonly Item[], key: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}

// Takes what a plugin says of itself apart into the items that are inspected and approved one by one.

type Json = Readonly<Record<string, unknown>>;

/** Names begin with the plugin's, always: one that was left as it is could be what another plugin's becomes. */
export function ownName(plugin: string, name: string): string {
  return `${plugin}_${name}`;
}

/** As an inspection reads it: names as clients see them, texts as they came. */
export function offeringOf({ name: server, tools, prompts, resources }: PluginDescription): Offering {
  return {
    server,
    tools: tools.map(({ name, title, description, input, output, annotations }) => ({
      ...{ name: ownName(server, name), title, description, annotations },
      ...{ inputSchema: input, outputSchema: output },
    })),
    prompts: prompts.map(({ name, ...rest }) => ({ name: ownName(server, name), ...rest })),
    resources: resources.map((resource) => ({ ...resource })),
  };
}

/** Its items by kind and name, as in `tool weather_now`; all that a person approves of each. */
export function itemsOf(description: PluginDescription): Items {
  const { tools, prompts = [], resources = [] } = offeringOf(description);
  const listed = (kind: string, key: string, items: readonly Json[]): [string, Json][] =>
    items.map((item) => [`${kind} ${String(item[key])}`, item]);
  return new Map<string, unknown>([
    ["plugin", { name: description.name, needs: description.needs }],
    ...listed("tool", "name", tools),
    ...listed("prompt", "name", prompts),
    ...listed("resource", "uri", resources),
  ]);
}
