// Looks for phrases in sentences: sequences of words with room for others between them. Linear in the length of the text.
import { CLASSES } from "./lexicon.js";
import { isSensitivePath, isPlainSecretFile } from "./sensitive-paths.js";
import type { Sentence } from "./words.js";

/**
 * A phrase as rules write it: words apart from each other by blanks, `a|b` for either, `a+b` for words that belong together, a `*` at the
 * end for any ending, `$name` for a class of the lexicon, `..N` for up to N words between, `@url`, `@email`, `@host`, `@secret`, `@mild`, `@variable`,
 * `@script`, `@snake`, `@foreign` and `@peer` (names of tools) for words of that kind, `^` for the beginning of a sentence, `@end` for its end or a pause.
 */
export type Phrase = string;

/** Where a phrase stands in a sentence: its first word and the one behind its last. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

interface Step {
  readonly gap: number;
  readonly options: readonly Option[];
  /** Words that options begin with: at any other word only the `loose` ones can fit. */
  readonly starters: ReadonlySet<string>;
  /** Options that look at more than a whole word. */
  readonly loose: readonly Option[];
}

/** How many words it takes at a place: 0 when it does not fit, -1 when it fits and takes none. */
type Option = (sentence: Sentence, at: number, names: Names) => number;

/** What the things around a text are called: a word that looks like a name may be one of them. */
export interface Names {
  /** Tools beside it, and parameters of its own: naming them is what descriptions do. */
  readonly own: ReadonlySet<string>;
  /** Tools of other servers that are no word of a language. */
  readonly peers: ReadonlySet<string>;
}

export const NO_NAMES: Names = { own: new Set(), peers: new Set() };

export interface CompiledPhrase {
  readonly fromStart: boolean;
  /** Words one of which has to be there for it to begin; undefined when others can begin it too. */
  readonly first: ReadonlySet<string> | undefined;
  readonly steps: readonly Step[];
}

const URL_WORD = /^(?:https?|wss?|ftp):\/\/|^(?:www\.)/;
const EMAIL_WORD = /^[^@\s]{1,64}@[a-z0-9-]{1,63}\.[a-z0-9.-]{2,}$/;
/** snake_case that begins with what tools do: parameters are called otherwise. */
const NAME_WORD =
  /^(?:get|list|send|read|write|create|delete|update|search|query|fetch|transfer|execute|run|call|post|add|remove|make|set|find|pay|book|upload|download|deploy|move|edit|open|check)_[a-z0-9_]{1,60}$/;

/** An address without a scheme: a number, or a name under a domain that no file's name ends with. */
const HOST_WORD =
  /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9-]{1,63}\.){1,5}(?:com|net|org|io|example|dev|app|co|xyz|info|biz|cloud|site|online|top|ru|cn|cc|to|me|invalid|test))(?:[:/]|$)/;

const SNAKE_WORD = /^[a-z]{2,30}(?:_[a-z0-9]{1,30}){1,5}$/;
const SCRIPT_WORD = /[\w-]\.(?:sh|ps1|bat|exe|vbs)$/;

/** What variables are called that hold secrets. */
const VARIABLE_WORD = /^[a-z0-9]{1,20}_[a-z0-9_]{0,30}(?:secret|token|key|password)$/;

const KINDS: Readonly<Record<string, Option>> = {
  "@url": (sentence, at) => (URL_WORD.test(word(sentence, at)) ? 1 : 0),
  "@email": (sentence, at) => (EMAIL_WORD.test(word(sentence, at)) ? 1 : 0),
  "@host": (sentence, at) => (HOST_WORD.test(word(sentence, at)) ? 1 : 0),
  "@snake": (sentence, at, { own }) => (isSnake(word(sentence, at), own) ? 1 : 0),
  "@script": (sentence, at) => (SCRIPT_WORD.test(word(sentence, at)) ? 1 : 0),
  "@secret": (sentence, at) => (isSensitivePath(word(sentence, at)) ? 1 : 0),
  "@mild": (sentence, at) => (isPlainSecretFile(word(sentence, at)) ? 1 : 0),
  "@variable": (sentence, at) => (VARIABLE_WORD.test(word(sentence, at)) ? 1 : 0),
  "@foreign": (sentence, at, names) => (isForeign(sentence, at, names) ? 1 : 0),
  "@peer": (sentence, at, { own, peers }) => (peers.has(word(sentence, at)) && !own.has(word(sentence, at)) ? 1 : 0),
  "@end": (sentence, at) =>
    at >= sentence.length || sentence[at - 1]?.pause === true || AND.has(word(sentence, at)) ? -1 : 0,
};
const AND: ReadonlySet<string> = new Set(["and", "then", "or", "but"]);

function isSnake(text: string, own: ReadonlySet<string>): boolean {
  return SNAKE_WORD.test(text) && !own.has(text);
}

/** A name that is none of the server's own. */
function isForeign(sentence: Sentence, at: number, { own, peers }: Names): boolean {
  const text = word(sentence, at).replace("()", "");
  return text !== "" && !own.has(text) && (peers.has(text) || NAME_WORD.test(text));
}

function word(sentence: Sentence, at: number): string {
  return sentence[at]?.text ?? "";
}

export function compilePhrase(phrase: Phrase): CompiledPhrase {
  const steps: Step[] = [];
  let gap = 0;
  let fromStart = false;
  for (const part of phrase.split(" ")) {
    if (part === "^") fromStart = true;
    else if (part.startsWith("..")) gap = Number(part.slice(2));
    else {
      steps.push(stepOf(gap, part.split("|")));
      gap = 0;
    }
  }
  return { fromStart, first: firstWords(steps), steps };
}

function firstWords([first]: readonly Step[]): ReadonlySet<string> | undefined {
  return first === undefined || first.loose.length > 0 ? undefined : first.starters;
}

function stepOf(gap: number, texts: readonly string[]): Step {
  const options: Option[] = [];
  const loose: Option[] = [];
  const groups: Group[] = [];
  for (const part of inGroups(texts)) {
    const option = typeof part === "function" ? part : part.option;
    options.push(option);
    if (typeof part === "function" || part.loose) loose.push(option);
    if (typeof part !== "function") groups.push(part);
  }
  const [only] = groups;
  const starters = only !== undefined && groups.length === 1 ? only.starters : startersOf(groups);
  return { gap, options, starters, loose };
}

/** Words either of which will do. */
interface Group {
  readonly option: Option;
  readonly starters: ReadonlySet<string>;
  /** One of them has an open end. */
  readonly loose: boolean;
}

/** What the texts stand for, in their order; whole words beside each other are one group. */
function inGroups(texts: readonly string[]): (Option | Group)[] {
  const parts: (Option | Group)[] = [];
  let words: string[] = [];
  for (const text of [...texts, ""]) {
    if (PLAIN_WORD.test(text)) {
      words.push(text);
      continue;
    }
    if (words.length > 0) parts.push(newGroup(words));
    words = [];
    if (text !== "") parts.push(KINDS[text] ?? (text.startsWith("$") ? classGroup(text) : newGroup([text])));
  }
  return parts;
}

const PLAIN_WORD = /^[^@$+*]+$/;
/** Classes stand in hundreds of phrases, and are the same in all of them. */
const CLASS_GROUPS: Map<string, Group> = new Map();

function classGroup(text: string): Group {
  const known = CLASS_GROUPS.get(text);
  if (known !== undefined) return known;
  const members = CLASSES.get(text.slice(1));
  if (members === undefined) throw new Error(`There is no class ${text}.`);
  const group = newGroup(members);
  CLASS_GROUPS.set(text, group);
  return group;
}

function newGroup(terms: readonly string[]): Group {
  if (terms.every((term) => PLAIN_WORD.test(term))) {
    const starters = new Set(terms);
    return { option: (sentence, at) => (starters.has(word(sentence, at)) ? 1 : 0), starters, loose: false };
  }
  const starters = new Set(terms.map((term) => term.split("+", 1)[0] ?? ""));
  return { option: wordsOption(terms), starters, loose: terms.some((term) => term.endsWith("*")) };
}

function startersOf(groups: readonly Group[]): ReadonlySet<string> {
  return new Set(groups.flatMap(({ starters }) => [...starters]));
}

/** Looks single words up, and tries prefixes and longer terms one by one. */
function wordsOption(terms: readonly string[]): Option {
  const single = new Set(terms.filter((term) => !term.includes("+") && !term.endsWith("*")));
  const prefixes = terms.filter((term) => term.endsWith("*")).map((term) => term.slice(0, -1));
  const longer = new Map<string, string[][]>();
  for (const term of terms.filter((each) => each.includes("+"))) {
    const [first = "", ...rest] = term.split("+");
    longer.set(first, [...(longer.get(first) ?? []), rest]);
  }
  return (sentence, at) => {
    const text = word(sentence, at);
    if (text === "") return 0;
    for (const rest of longer.get(text) ?? [])
      if (rest.every((each, index) => word(sentence, at + 1 + index) === each)) return rest.length + 1;
    return single.has(text) || prefixes.some((prefix) => text.startsWith(prefix)) ? 1 : 0;
  };
}

/** The first place in a sentence where the phrase stands, from the word `from` on. */
export function findPhrase(
  { fromStart, steps }: CompiledPhrase,
  sentence: Sentence,
  names: Names = NO_NAMES,
  from = 0,
): Match | undefined {
  const last = fromStart ? Math.min(1, sentence.length) : sentence.length;
  for (let start = from; start < last; start += 1) {
    const end = endOf(steps, sentence, start, names);
    if (end !== undefined) return { start, end };
  }
  return undefined;
}

/** Whether the phrase stands there, beginning with the word `at`. */
export function standsAt({ fromStart, steps }: CompiledPhrase, sentence: Sentence, at: number, names: Names): boolean {
  return !(fromStart && at > 0) && endOf(steps, sentence, at, names) !== undefined;
}

/** Each step takes the nearest word that fits; so a step is never tried twice at a place. */
function endOf(steps: readonly Step[], sentence: Sentence, start: number, names: Names): number | undefined {
  let at = start;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index] as Step;
    const reach = index === 0 ? 0 : step.gap;
    let taken = 0;
    let skipped = 0;
    for (; skipped <= reach && taken === 0; skipped += 1) taken = takenBy(step, sentence, at + skipped, names);
    if (taken === 0) return undefined;
    at += skipped - 1 + Math.max(0, taken);
  }
  return at;
}

/** By the first of its options that fits there. */
function takenBy({ starters, options, loose }: Step, sentence: Sentence, at: number, names: Names): number {
  const candidates = starters.has(word(sentence, at)) ? options : loose;
  for (let index = 0; index < candidates.length; index += 1) {
    const taken = (candidates[index] as Option)(sentence, at, names);
    if (taken !== 0) return taken;
  }
  return 0;
}
