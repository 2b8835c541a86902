// Ranks tools by the words of a question: the same question over the same tools has the same answer.
import { byName, categoryOf, type ListedTool } from "./listed-tool.js";

/** What a word found in a part of a tool counts; half of it when the word only begins there. */
const WEIGHTS = { name: 10, aliases: 8, title: 6, category: 5, arguments: 3, description: 2 } as const;
/** More words than this say no more. */
const MAX_WORDS = 20;
/** Characters of a description that are looked at: makers of plugins may write anything. */
const MAX_TEXT = 4_000;

/** Tools that have any of the words, those that fit best first; all of them, by name, where there are no words. */
export function rankTools(tools: readonly ListedTool[], query: string): ListedTool[] {
  const words = [...new Set(wordsOf(query))].slice(0, MAX_WORDS);
  if (words.length === 0) return [...tools].sort(byName);
  const whole = query.trim().toLowerCase();
  return tools
    .map((tool) => ({ tool, score: (tool.name === whole ? 1_000 : 0) + scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || byName(a.tool, b.tool))
    .map(({ tool }) => tool);
}

function scoreOf(tool: ListedTool, words: readonly string[]): number {
  const { name, title, description, input, aliases = [] } = tool;
  const listed: readonly (readonly [weight: number, words: readonly string[]])[] = [
    [WEIGHTS.name, wordsOf(name)],
    [WEIGHTS.aliases, aliases.flatMap(wordsOf)],
    [WEIGHTS.title, wordsOf(title)],
    [WEIGHTS.category, wordsOf(categoryOf(tool))],
    [WEIGHTS.arguments, Object.keys((input["properties"] as object | undefined) ?? {}).flatMap(wordsOf)],
    [WEIGHTS.description, wordsOf(description.slice(0, MAX_TEXT))],
  ];
  const parts = listed.map(([weight, own]) => [weight, new Set(own)] as const);
  return words.reduce((sum, word) => sum + Math.max(0, ...parts.map(([weight, own]) => weight * fit(word, own))), 0);
}

function fit(word: string, own: ReadonlySet<string>): number {
  if (own.has(word)) return 1;
  if (word.length <= 2) return 0;
  for (const one of own) if (one.startsWith(word) || (one.length > 2 && word.startsWith(one))) return 0.5;
  return 0;
}

/** In lower case, most of them once; the plural of a word is the word. */
function wordsOf(text: string): string[] {
  const words = new Set(
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );
  return [...words].filter((word) => !EMPTY.has(word)).map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
}

const EMPTY: ReadonlySet<string> = new Set("a an and by for from i in is it of on or the to with that this".split(" "));
