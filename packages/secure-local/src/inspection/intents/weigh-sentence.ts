// Weighs what a sentence says: no word of an order is one by itself, but some of them together are.
import { POINTS } from "./points.js";
import { SOURCES } from "./sources.js";
import type { ConceptName } from "./concept.js";

/** How a sentence stands in its item. */
export interface Manner {
  /** It begins the description: it says what the tool does. */
  readonly opening: boolean;
  /** It tells somebody to do something. */
  readonly imperative: boolean;
  /** It stands in a schema. */
  readonly parameter: boolean;
  /** It has no word in common with the name and the opening. */
  readonly away: boolean;
  readonly long: boolean;
  /** What stands before or behind it says that something is to be hidden. */
  readonly "hidden beside": boolean;
}

/** Kinds of words that weigh more beside another kind. A source counts here only where the tool is not about it. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  source: Object.keys(SOURCES),
  deed: ["read", "give", "send"],
  target: ["argument", "address", "stranger"],
  hidden: ["untold", "quiet", "lie", "omitted"],
  rules: ["rules"],
  void: ["void"],
  takeover: ["role", "defy"],
  tool: ["tool"],
  change: ["change"],
  harm: ["run", "destroy", "persist"],
  trigger: ["trigger"],
  authority: ["authority"],
  pressed: ["pressed"],
  reason: ["reason"],
  addressed: ["addressed"],
  whole: ["whole"],
  owner: ["owner"],
  wanted: ["wanted"],
  imperative: ["imperative"],
  parameter: ["parameter"],
  away: ["away"],
  opening: ["opening"],
  guarded: ["guarded"],
  configured: ["configured"],
};

/** What counts in a sentence, by the names of `POINTS`. `topics`: the sources the tool is about by its name and opening. */
export function signsOf(concepts: Iterable<ConceptName>, topics: ReadonlySet<ConceptName>, manner: Manner): string[] {
  const signs = new Set<string>(["base"]);
  for (const name of concepts) signs.add(topics.has(name) ? `${name} as the topic` : name);
  for (const [name, holds] of Object.entries(manner)) if (holds === true) signs.add(name);
  const kinds = Object.keys(KINDS).filter((kind) => KINDS[kind]?.some((member) => signs.has(member)));
  return [...signs, ...kinds.flatMap((one, index) => kinds.slice(index + 1).map((other) => `${one} + ${other}`))];
}

/** Points that signs of an order have together. */
export function pointsOf(signs: readonly string[]): number {
  return signs.reduce((points, sign) => points + (POINTS[sign] ?? 0), 0);
}
