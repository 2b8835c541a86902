// Finds entries of the catalogue by words, servers and kinds.
import type { EntryKind, HostEntry } from "./catalogue-entry.js";

export interface Search {
  /** Words, all of which must occur in the name, title, description or URI. */
  readonly text?: string;
  readonly servers?: readonly string[];
  readonly kinds?: readonly EntryKind[];
  readonly filter?: (entry: HostEntry) => boolean;
  /** Default 100. */
  readonly limit?: number;
}

const MOST_FOUND = 100;

/** The best first: words in names count more than words in titles, those more than words in descriptions. */
export function search(entries: readonly HostEntry[], wanted: Search): HostEntry[] {
  const { text = "", servers, kinds, filter, limit = MOST_FOUND } = wanted;
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found: { entry: HostEntry; score: number }[] = [];
  for (const entry of entries) {
    if (servers?.includes(entry.server) === false || kinds?.includes(entry.kind) === false) continue;
    const score = scoreOf(entry, words);
    if (score > 0 && filter?.(entry) !== false) found.push({ entry, score });
  }
  found.sort((one, other) => other.score - one.score);
  return found.slice(0, limit).map(({ entry }) => entry);
}

function scoreOf(entry: HostEntry, words: readonly string[]): number {
  const { title = "", description = "" } = described(entry);
  const name = entry.name.toLowerCase();
  const fields = [title, locator(entry), description].map((field) => field.toLowerCase());
  let score = 1;
  for (const word of words) {
    const field = fields.findIndex((text) => text.includes(word));
    if (name.includes(word)) score += name === word || name.endsWith(`__${word}`) ? 16 : 8;
    else if (field >= 0) score += 4 >> field;
    else return 0;
  }
  return score;
}

function described(entry: HostEntry): { readonly title?: string; readonly description?: string } {
  switch (entry.kind) {
    case "tool":
      return entry.tool;
    case "prompt":
      return entry.prompt;
    case "resource":
      return entry.resource;
    case "template":
      return entry.template;
  }
}

function locator(entry: HostEntry): string {
  if (entry.kind === "resource") return entry.resource.uri;
  return entry.kind === "template" ? entry.template.uriTemplate : "";
}
