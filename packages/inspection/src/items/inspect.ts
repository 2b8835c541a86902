// Inspects all that a server offers, offline and the same way every time: what tries to act on the model that reads it.
import type { Finding, ItemKind, RawItem, Offering, Peer, TextFinding } from "../texts/finding.js";
import { indexNames, readName } from "../texts/names.js";
import type { Names } from "../texts/phrase.js";
import { type ItemFinding, readItem } from "./read-item.js";

/** Two weak signs of different families in one item weigh as much as a strong one. */
const TOGETHER: TextFinding = {
  id: "signs.together",
  tier: "hard",
  about: "Several weak signs stand together.",
  excerpt: "",
};
/** Families that are no sign of an order, however many there are. */
const MATTERS_OF_FORM: ReadonlySet<string> = new Set(["names", "length"]);
const PLAIN = /^[\x20-\x7e]*$/;
/** Both weigh the same words of a sentence: where both speak, nothing was seen twice. */
const WEIGHED: ReadonlySet<string> = new Set(["orders.cues", "intent.order"]);

/**
 * Everything suspicious in an offering, in the order of its items. Without input or output, clock or chance; its time grows with
 * the length of the texts. `peers` are the other servers of the same model.
 */
export function inspectOffering(offering: Offering, peers: readonly Peer[] = []): Finding[] {
  const { server, instructions, tools, prompts = [], resources = [], resourceTemplates = [] } = offering;
  const names = namesOf(offering, peers);
  const book = indexNames(tools.map(({ name }) => textOf(name)));
  const read =
    (kind: ItemKind, key: string) =>
    (item: RawItem): Finding[] =>
      placed(kind, textOf(item[key]), weighed(readItem(item, withParameters(names, item))));
  return [
    ...(instructions === undefined ? [] : read("server", "server")({ server, instructions })),
    ...tools.flatMap((tool) => {
      const own = { name: textOf(tool["name"]), description: textOf(tool["description"]) };
      const compared = offering.prefixed === true && PLAIN.test(own.name) ? [] : peers;
      const signs = readName(own, book, compared).map((sign) => ({ ...sign, at: "/name" }));
      return [...placed("tool", own.name, signs), ...read("tool", "name")(tool)];
    }),
    ...prompts.flatMap(read("prompt", "name")),
    ...resources.flatMap(read("resource", "uri")),
    ...resourceTemplates.flatMap(read("template", "uriTemplate")),
  ];
}

/** Whether an item must not be offered. */
export function isHard(findings: readonly Finding[]): boolean {
  return findings.some(({ tier }) => tier === "hard");
}

function weighed(signs: readonly ItemFinding[]): readonly ItemFinding[] {
  if (signs.some(({ tier }) => tier === "hard")) return signs;
  const families = new Set(signs.map(({ id }) => familyOf(id)).filter((each) => !MATTERS_OF_FORM.has(each)));
  const [first] = signs;
  if (families.size < 2 || first === undefined) return signs;
  return [...signs, { ...TOGETHER, at: first.at, excerpt: first.excerpt }];
}

function familyOf(id: string): string {
  return WEIGHED.has(id) ? "weighed" : id.slice(0, id.indexOf("."));
}

function placed(kind: ItemKind, item: string, signs: readonly ItemFinding[]): Finding[] {
  return signs.map(({ id, tier, about, excerpt, at }) => ({ id, tier, kind, item, at, about, excerpt }));
}

function namesOf({ tools, prompts = [] }: Offering, peers: readonly Peer[]): Names {
  const own = new Set([...tools, ...prompts].map(({ name }) => textOf(name).toLowerCase()));
  const theirs = peers.flatMap(({ tools: others }) => others.map(({ name }) => name.toLowerCase()));
  // A name that is one plain word, such as search, is a word of the language.
  return { own, peers: new Set(theirs.filter((name) => /[_-]/.test(name) && !own.has(name))) };
}

/** Naming its own parameters is what a description does. */
function withParameters(names: Names, item: RawItem): Names {
  const schema = item["inputSchema"] ?? item["input"];
  const properties = isJson(schema) ? schema["properties"] : undefined;
  if (!isJson(properties)) return names;
  return { ...names, own: new Set([...names.own, ...Object.keys(properties).map((key) => key.toLowerCase())]) };
}

function isJson(value: unknown): value is RawItem {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
