// Finds sentences that are orders to the model by what they are made of, however they are worded.
import { excerptOf, type Sign } from "../finding.js";
import { isMentioned } from "../mention.js";
import type { Names } from "../phrase.js";
import type { Sentence } from "../words.js";
import { conceptsOf } from "./concepts.js";
import { isImperative } from "./imperatives.js";
import type { ConceptName } from "./concept.js";
import { isSource } from "./vocabulary.js";
import { type Manner, pointsOf } from "./weigh-sentence.js";

/** A sentence and where its text stands in the item. */
export interface Spoken {
  readonly words: Sentence;
  readonly at: string;
  /** It is the name of something. */
  readonly name: boolean;
}

/** Hundredths of points from which a sentence is reported. */
const REPORTED = 100;
/** And from which nothing honest was seen that comes near. */
const SERIOUS = 800;
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
  /** Its place among all sentences. */
  readonly sentence: number;
}

/** What the item is about: its own words, and the sources among them. */
interface Subject {
  readonly words: ReadonlySet<string>;
  readonly topics: ReadonlySet<ConceptName>;
}

/** The sentence of an item with the most points, if they are enough; `sentence` is its place among `spoken`. */
export function readIntents(
  spoken: readonly Spoken[],
  names: Names,
): (Sign & { readonly sentence: number }) | undefined {
  const heard = spoken.flatMap((each, index) =>
    piecesOf(each.words).map((words) => hear({ ...each, words }, index, spoken[index - 1], names)),
  );
  const subject = subjectOf(heard);
  let best = 0;
  let worst: Heard | undefined;
  for (const [index, each] of heard.entries()) {
    const points = isLabel(each) ? 0 : pointsAt(heard, index, subject);
    if (points > best) [best, worst] = [points, each];
  }
  if (worst === undefined || best < REPORTED) return undefined;
  const tier = best >= SERIOUS ? "hard" : "soft";
  const about = "It gives the model an order that has nothing to do with what it describes.";
  return { id: "intent.order", tier, about, excerpt: excerptOf(textOf(worst.words)), sentence: worst.sentence };
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

function pointsAt(heard: readonly Heard[], index: number, subject: Subject): number {
  const each = heard[index];
  if (each === undefined) return 0;
  const beside = [heard[index - 1], heard[index + 1]].some(
    (other) => other?.at === each.at && [...HIDING].some((name) => other.concepts.has(name)),
  );
  const much = Math.min(LESS_AT_MOST, LESS_A_PIECE * Math.max(0, heard.length - MANY_PIECES));
  const less = each.at === "/instructions" ? Math.max(INSTRUCTIONS, much) : much;
  const manner = mannerOf(each, subject);
  const points = pointsOf(each.concepts.keys(), subject.topics, manner, beside) - less;
  if (points < REPORTED) return points;
  const meant = [...each.concepts].filter(([name, at]) => name === "addressed" || !isTalkedAbout(each.words, at));
  return (
    pointsOf(
      meant.map(([name]) => name),
      subject.topics,
      manner,
      beside,
    ) - less
  );
}

function isTalkedAbout(words: Sentence, at: number): boolean {
  return isMentioned(words, { start: at, end: at + 1 });
}

function mannerOf({ at, words, opening }: Heard, subject: Subject): Manner {
  const own = words.some(
    ({ text }) => text.length > 2 && !PLAIN.has(text) && subject.words.has(text.slice(0, SAME_LETTERS)),
  );
  return {
    opening,
    imperative: isImperative(words),
    parameter: at.includes("Schema"),
    away: !opening && !own,
    long: !opening && words.length >= LONG,
  };
}

function textOf(words: Sentence): string {
  return words.map(({ text }) => text).join(" ");
}
