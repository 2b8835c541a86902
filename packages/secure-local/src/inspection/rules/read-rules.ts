// Runs every rule of phrases over the sentences of one text.
import { excerptOf, type Sign } from "../finding.js";
import { isMentioned } from "../mention.js";
import { type CompiledPhrase, compilePhrase, findPhrase, type Match, type Names } from "../phrase.js";
import type { Sentence } from "../words.js";
import { ACTION_RULES } from "./action-rules.js";
import { ADDRESS_RULES, REACH_RULES } from "./address-rules.js";
import { CONCEALMENT_RULES } from "./concealment-rules.js";
import { readCues } from "./cue-rule.js";
import { LANGUAGE_RULES } from "./language-rules.js";
import { MALICE_RULES } from "./malice-rules.js";
import { OVERRIDE_RULES } from "./override-rules.js";
import type { Rule } from "./rule.js";
import { SECRET_RULES } from "./secret-rules.js";
import { SHADOWING_RULES, TIME_BOMB_RULES } from "./shadowing-rules.js";

interface Compiled {
  readonly rule: Rule;
  /** Which of the rules it is. */
  readonly at: number;
  readonly phrases: readonly CompiledPhrase[];
  readonly near: readonly CompiledPhrase[] | undefined;
  readonly with: readonly CompiledPhrase[] | undefined;
  readonly unless: readonly CompiledPhrase[];
}

const RULES: readonly Rule[] = [
  ...OVERRIDE_RULES,
  ...CONCEALMENT_RULES,
  ...SECRET_RULES,
  ...SHADOWING_RULES,
  ...TIME_BOMB_RULES,
  ...ACTION_RULES,
  ...ADDRESS_RULES,
  ...REACH_RULES,
  ...LANGUAGE_RULES,
  ...MALICE_RULES,
];

/** A phrase that a rule has; which one it is decides which rules and phrases come first. */
interface Opening {
  readonly at: number;
  readonly rule: Compiled;
  readonly phrase: CompiledPhrase;
}

/** For each word the phrases that it can begin. */
interface Book {
  readonly byWord: ReadonlyMap<string, readonly Opening[]>;
  /** Those that begin with a kind of word. */
  readonly always: readonly Opening[];
}

/** A sentence, and the phrases of one rule that may stand in it. */
interface Place {
  readonly index: number;
  readonly phrases: CompiledPhrase[];
}

let book: Book | undefined;

/** A sign and the sentence it was found in, counted from 0. */
export interface SpokenSign extends Sign {
  readonly sentence: number;
}

/** The signs of each rule that fits, in the order of the rules; each once. */
export function readRules(sentences: readonly Sentence[], names: Names): SpokenSign[] {
  book ??= bookOf(RULES.map(compileRule));
  const places = new Map<Compiled, Place[]>();
  for (const [index, sentence] of sentences.entries())
    for (const { rule, phrase } of openingsIn(sentence, book)) {
      const known = places.get(rule);
      const last = known?.at(-1);
      if (known === undefined) places.set(rule, [{ index, phrases: [phrase] }]);
      else if (last?.index === index) last.phrases.push(phrase);
      else known.push({ index, phrases: [phrase] });
    }
  const inOrder = [...places].sort(([one], [other]) => one.at - other.at);
  const signs = inOrder.flatMap(([rule, where]) => firstHit(rule, where, sentences, names) ?? []);
  const cues = readCues(sentences);
  return cues === undefined ? signs : [...signs, cues];
}

/** What may stand in a sentence, in the order of the rules and of their phrases. */
function openingsIn(sentence: Sentence, { byWord, always }: Book): Opening[] {
  const found = new Set(always);
  for (const { text } of sentence) for (const opening of byWord.get(text) ?? []) found.add(opening);
  return [...found].sort((one, other) => one.at - other.at);
}

function bookOf(rules: readonly Compiled[]): Book {
  const byWord = new Map<string, Opening[]>();
  const always: Opening[] = [];
  const openings = rules.flatMap((rule) => rule.phrases.map((phrase) => ({ rule, phrase })));
  for (const [at, { rule, phrase }] of openings.entries()) {
    const opening = { at, rule, phrase };
    if (phrase.first === undefined) always.push(opening);
    for (const word of phrase.first ?? []) {
      const known = byWord.get(word);
      if (known === undefined) byWord.set(word, [opening]);
      else known.push(opening);
    }
  }
  return { byWord, always };
}

function compileRule(rule: Rule, at: number): Compiled {
  return {
    rule,
    at,
    phrases: rule.phrases.map(compilePhrase),
    near: rule.near?.map(compilePhrase),
    with: rule.with?.map(compilePhrase),
    unless: (rule.unless ?? []).map(compilePhrase),
  };
}

function firstHit(
  rule: Compiled,
  places: readonly Place[],
  sentences: readonly Sentence[],
  names: Names,
): SpokenSign | undefined {
  for (const { index, phrases } of places) {
    const sentence = sentences[index] ?? [];
    const match = matchOf(rule, phrases, sentence, names);
    if (match === undefined || !holds(rule, sentences, index, names)) continue;
    const words = sentence.slice(Math.max(0, match.start - 3), match.end + 6).map(({ text }) => text);
    const { id, tier, about } = rule.rule;
    return { id, tier, about, excerpt: excerptOf(words.join(" ")), sentence: index };
  }
  return undefined;
}

function matchOf(
  { rule }: Compiled,
  phrases: readonly CompiledPhrase[],
  sentence: Sentence,
  names: Names,
): Match | undefined {
  for (const phrase of phrases) {
    for (let from = 0; from < sentence.length;) {
      const match = findPhrase(phrase, sentence, names, from);
      if (match === undefined) break;
      if (rule.evenMentioned === true || !isMentioned(sentence, match)) return match;
      from = match.start + 1;
    }
  }
  return undefined;
}

function holds(rule: Compiled, sentences: readonly Sentence[], index: number, names: Names): boolean {
  const sentence = sentences[index] ?? [];
  const stands = (phrases: readonly CompiledPhrase[], where: Sentence): boolean =>
    phrases.some((phrase) => findPhrase(phrase, where, names) !== undefined);
  if (stands(rule.unless, sentence)) return false;
  if (rule.with !== undefined && !stands(rule.with, sentence)) return false;
  const { near } = rule;
  if (near === undefined) return true;
  return sentences.slice(Math.max(0, index - 1), index + 2).some((each) => stands(near, each));
}
