// Cuts what an item says into pieces, and tells the signs of an order in each.
import { isMentioned } from "../mention.js";
import type { Names } from "../phrase.js";
import type { Sentence } from "../words.js";
import type { ConceptName } from "./concept.js";
import { conceptsOf } from "./concepts.js";
import { isImperative } from "./imperatives.js";
import { isSource } from "./vocabulary.js";
import { type Manner, signsOf } from "./weigh-sentence.js";

/** A sentence and where its text stands in the item. */
export interface Spoken {
  readonly words: Sentence;
  readonly at: string;
  /** It is the name of something. */
  readonly name: boolean;
}

/** A sentence, or a part of a long one. */
export interface Piece {
  readonly words: Sentence;
  /** The place of its sentence among all. */
  readonly sentence: number;
  readonly said: readonly string[];
  /** The signs that are left without words that are only talked about. */
  readonly meant: () => readonly string[];
  /** Hundredths of points that are taken off. */
  readonly less: number;
}

/** Instructions of a server do speak to the model. */
const INSTRUCTIONS = 250;
/** Where there is much to read something sounds like an order by chance: points that are taken off for each piece beyond so many, and at most. */
const MANY_PIECES = 20;
const LESS_A_PIECE = 3;
const LESS_AT_MOST = 150;
/** Names of more words are sentences in disguise. */
const LONGEST_NAME = 4;
/** A sentence of more words is looked at in pieces: who says much says a little of everything. */
const LONGEST_PIECE = 30;
/** A piece ends with a pause once it has as many words. */
const SHORTEST_PIECE = 15;
/** Words from which a sentence is long. */
const LONG = 10;
/** Letters that two forms of one word have in common. */
const SAME_LETTERS = 5;
const HIDING: ReadonlySet<ConceptName> = new Set(["untold", "quiet", "lie", "omitted"]);
const PLAIN: ReadonlySet<string> = new Set(
  `the a an of for to in on and or with by from is are be it its this that as at if when not no you your user will can must tool use used using which all any
  each one given returns return value list name id string number default optional`.split(/\s+/),
);

interface Heard extends Spoken {
  readonly concepts: ReadonlyMap<ConceptName, number>;
  readonly opening: boolean;
  readonly sentence: number;
}

/** What the item is about: its own words, and the sources among them. */
interface Subject {
  readonly words: ReadonlySet<string>;
  readonly topics: ReadonlySet<ConceptName>;
}

/** All but names that are no more than that. */
export function hearPieces(spoken: readonly Spoken[], names: Names): Piece[] {
  const heard = spoken.flatMap((each, index) =>
    piecesOf(each.words).map((words) => hear({ ...each, words }, index, spoken[index - 1], names)),
  );
  const subject = subjectOf(heard);
  const much = Math.min(LESS_AT_MOST, LESS_A_PIECE * Math.max(0, heard.length - MANY_PIECES));
  return heard.flatMap((each, index) => {
    if (isLabel(each)) return [];
    const { words, sentence, concepts, at } = each;
    const manner = mannerOf(each, subject, [heard[index - 1], heard[index + 1]]);
    const said = signsOf(concepts.keys(), subject.topics, manner);
    const meant = (): string[] => signsOf(meantIn(each), subject.topics, manner);
    return [{ words, sentence, said, meant, less: at === "/instructions" ? Math.max(INSTRUCTIONS, much) : much }];
  });
}

function piecesOf(words: Sentence): Sentence[] {
  const pieces: Sentence[] = [];
  let start = 0;
  for (const [at, { pause }] of words.entries()) {
    const length = at + 1 - start;
    if (length < LONGEST_PIECE && !(pause && length >= SHORTEST_PIECE && words.length > LONGEST_PIECE)) continue;
    pieces.push(words.slice(start, at + 1));
    start = at + 1;
  }
  return start < words.length ? [...pieces, words.slice(start)] : pieces;
}

function hear(spoken: Spoken, sentence: number, before: Spoken | undefined, names: Names): Heard {
  const opening = (spoken.at === "/description" || spoken.at === "/title") && before?.at !== spoken.at;
  return { ...spoken, sentence, opening, concepts: conceptsOf(spoken.words, names) };
}

function isLabel({ name, words }: Spoken): boolean {
  return name && words.length <= LONGEST_NAME;
}

function subjectOf(heard: readonly Heard[]): Subject {
  const words = new Set<string>();
  const topics = new Set<ConceptName>();
  for (const each of heard) {
    if (!each.opening && !isLabel(each)) continue;
    for (const { text } of each.words) words.add(text.slice(0, SAME_LETTERS));
    for (const name of each.concepts.keys()) if (isSource(name)) topics.add(name);
  }
  return { words, topics };
}

function mannerOf({ at, words, opening }: Heard, subject: Subject, beside: readonly (Heard | undefined)[]): Manner {
  const own = words.some(
    ({ text }) => text.length > 2 && !PLAIN.has(text) && subject.words.has(text.slice(0, SAME_LETTERS)),
  );
  return {
    opening,
    imperative: isImperative(words),
    parameter: at.includes("Schema"),
    away: !opening && !own,
    long: !opening && words.length >= LONG,
    "hidden beside": beside.some((other) => other?.at === at && [...HIDING].some((name) => other.concepts.has(name))),
  };
}

function meantIn({ concepts, words }: Heard): ConceptName[] {
  return [...concepts].flatMap(([name, at]) =>
    name === "addressed" || !isMentioned(words, { start: at, end: at + 1 }) ? [name] : [],
  );
}
