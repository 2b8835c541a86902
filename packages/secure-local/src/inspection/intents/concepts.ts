// Tells which concepts of the vocabulary a sentence speaks of. One pass over its words.
import { type CompiledPhrase, compilePhrase, type Names, standsAt } from "../phrase.js";
import type { Sentence } from "../words.js";
import { stemOf } from "./stems.js";
import { BEGINNINGS, UNSPACED } from "./translated.js";
import type { ConceptName } from "./concept.js";
import { VOCABULARY } from "./vocabulary.js";

interface Longer {
  readonly name: ConceptName;
  readonly rest: readonly string[];
}

/** What a word may begin, by its stem or as it stands. */
interface Book {
  readonly single: ReadonlyMap<string, readonly ConceptName[]>;
  readonly longer: ReadonlyMap<string, readonly Longer[]>;
  readonly phrases: ReadonlyMap<string, readonly (readonly [ConceptName, CompiledPhrase])[]>;
  /** Phrases that begin with a kind of word. */
  readonly anywhere: readonly (readonly [ConceptName, CompiledPhrase])[];
  /** Words of other languages by their first letters, each with what follows. */
  readonly foreign: ReadonlyMap<string, readonly Foreign[]>;
  readonly unspaced: readonly (readonly [ConceptName, string])[];
}

interface Foreign {
  readonly name: ConceptName;
  readonly beginnings: readonly string[];
}

/** Letters by which words of other languages are looked up: the shortest have no more. */
const FOREIGN_KEY = 2;
/** Words of plain letters up to this length are compared whole: English has words that begin like them. */
const LONGEST_WHOLE = 5;
/** Of other languages only forms are known that order something. */
const ORDERED: ReadonlySet<ConceptName> = new Set(["read", "give", "send", "void"]);
const PLAIN = /^[a-z]*$/;
const UNSPACED_SCRIPT = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

let book: Book | undefined;

/** The concepts a sentence speaks of, each with the place of its first word. */
export function conceptsOf(sentence: Sentence, names: Names): ReadonlyMap<ConceptName, number> {
  book ??= bookOf();
  const stems = sentence.map(({ text }) => stemOf(text));
  const found = new Map<ConceptName, number>();
  const add = (name: ConceptName, at: number): void => void (found.has(name) || found.set(name, at));
  const addForeign = (name: ConceptName, at: number): void => {
    add(name, at);
    if (ORDERED.has(name)) add("imperative", at);
  };
  for (const [at, { text }] of sentence.entries()) {
    const stem = stems[at] ?? "";
    for (const name of book.single.get(stem) ?? []) add(name, at);
    for (const { name, rest } of book.longer.get(stem) ?? [])
      if (rest.every((each, index) => stems[at + 1 + index] === each)) add(name, at);
    for (const phrases of [book.phrases.get(text) ?? [], book.anywhere])
      for (const [name, phrase] of phrases)
        if (!found.has(name) && standsAt(phrase, sentence, at, names)) add(name, at);
    for (const { name, beginnings } of book.foreign.get(text.slice(0, FOREIGN_KEY)) ?? [])
      if (beginnings.every((each, index) => isForm(sentence[at + index]?.text ?? "", each))) addForeign(name, at);
    if (UNSPACED_SCRIPT.test(text))
      for (const [name, part] of book.unspaced) if (text.includes(part)) addForeign(name, at);
  }
  return found;
}

/** A short word stands as it is; a longer one has endings. */
function isForm(text: string, beginning: string): boolean {
  return (
    text === beginning || ((beginning.length > LONGEST_WHOLE || !PLAIN.test(beginning)) && text.startsWith(beginning))
  );
}

function bookOf(): Book {
  const single = new Map<string, ConceptName[]>();
  const longer = new Map<string, Longer[]>();
  const phrases = new Map<string, (readonly [ConceptName, CompiledPhrase])[]>();
  const anywhere: (readonly [ConceptName, CompiledPhrase])[] = [];
  for (const [key, concept] of Object.entries(VOCABULARY)) {
    const name = key as ConceptName;
    for (const term of (concept.words ?? "").trim().split(/\s+/)) {
      const [first = "", ...rest] = term.split("+").map(stemOf);
      if (rest.length === 0) push(single, first, name);
      else push(longer, first, { name, rest });
    }
    for (const phrase of (concept.phrases ?? []).map(compilePhrase)) {
      if (phrase.first === undefined) anywhere.push([name, phrase]);
      for (const word of phrase.first ?? []) push(phrases, word, [name, phrase] as const);
    }
  }
  return { single, longer, phrases, anywhere, foreign: foreignWords(), unspaced: unspacedWords() };
}

function foreignWords(): ReadonlyMap<string, readonly Foreign[]> {
  const foreign = new Map<string, Foreign[]>();
  for (const [name, terms] of Object.entries(BEGINNINGS))
    for (const term of terms.trim().split(/\s+/))
      push(foreign, term.slice(0, FOREIGN_KEY), { name: name as ConceptName, beginnings: term.split("+") });
  return foreign;
}

function unspacedWords(): readonly (readonly [ConceptName, string])[] {
  return Object.entries(UNSPACED).flatMap(([name, terms]) =>
    terms
      .trim()
      .split(/\s+/)
      .map((term) => [name as ConceptName, term] as const),
  );
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
