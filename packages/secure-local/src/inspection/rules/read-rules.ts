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

/** The rules, and for each word those with a phrase that it can begin. */
interface Book {
  readonly rules: readonly Compiled[];
  readonly byWord: ReadonlyMap<string, readonly number[]>;
  /** Rules with a phrase that begins with a kind of word. */
  readonly always: readonly number[];
}

let book: Book | undefined;

/** A sign and the sentence it was found in, counted from 0. */
export interface SpokenSign extends Sign {
  readonly sentence: number;
}

/** The signs of each rule that fits, in the order of the rules; each once. */
export function readRules(sentences: readonly Sentence[], names: Names): SpokenSign[] {
  book ??= bookOf(RULES.map(compileRule));
  const { rules, byWord, always } = book;
  const wanted = new Set(always);
  for (const sentence of sentences)
    for (const { text } of sentence) for (const rule of byWord.get(text) ?? []) wanted.add(rule);
  const signs = rules.flatMap((rule, at) => (wanted.has(at) ? (firstHit(rule, sentences, names) ?? []) : []));
  const cues = readCues(sentences);
  return cues === undefined ? signs : [...signs, cues];
}

function bookOf(rules: readonly Compiled[]): Book {
  const byWord = new Map<string, number[]>();
  const always: number[] = [];
  for (const [at, { phrases }] of rules.entries()) {
    if (phrases.some(({ first }) => first === undefined)) always.push(at);
    for (const word of new Set(phrases.flatMap(({ first }) => [...(first ?? [])])))
      byWord.set(word, [...(byWord.get(word) ?? []), at]);
  }
  return { rules, byWord, always };
}

function compileRule(rule: Rule): Compiled {
  return {
    rule,
    phrases: rule.phrases.map(compilePhrase),
    near: rule.near?.map(compilePhrase),
    with: rule.with?.map(compilePhrase),
    unless: (rule.unless ?? []).map(compilePhrase),
  };
}

function firstHit(rule: Compiled, sentences: readonly Sentence[], names: Names): SpokenSign | undefined {
  for (const [index, sentence] of sentences.entries()) {
    const match = matchOf(rule, sentence, names);
    if (match === undefined || !holds(rule, sentences, index, names)) continue;
    const words = sentence.slice(Math.max(0, match.start - 3), match.end + 6).map(({ text }) => text);
    const { id, tier, about } = rule.rule;
    return { id, tier, about, excerpt: excerptOf(words.join(" ")), sentence: index };
  }
  return undefined;
}

function matchOf({ rule, phrases }: Compiled, sentence: Sentence, names: Names): Match | undefined {
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
