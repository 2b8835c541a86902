// Finds sentences that are orders to the model by what they are made of, however they are worded.
import { excerptOf, type TextFinding } from "../texts/finding.js";
import { isMentioned, type Names } from "../texts/phrase.js";
import type { Sentence } from "../texts/words.js";
import { WEIGHTS } from "./weights.js";
import { type ConceptName, SOURCES } from "./concept.js";
import { conceptsOf } from "./concepts.js";
import { isSource } from "./vocabulary.js";

/** Hundredths of points from which a sentence is reported. */
export const REPORTED = 118;
/** And from which nothing honest was seen that comes near. */
const SERIOUS = 800;

/** The sentence of an item with the most points, if they are enough; `sentence` is its place among `spoken`. */
export function readIntents(
  spoken: readonly LocatedSentence[],
  names: Names,
): (TextFinding & { readonly sentence: number }) | undefined {
  let best = 0;
  let worst: Piece | undefined;
  for (const piece of parsePieces(spoken, names)) {
    const points = pointsOfPiece(piece);
    if (points > best) [best, worst] = [points, piece];
  }
  if (worst === undefined || best < REPORTED) return undefined;
  const tier = best >= SERIOUS ? "hard" : "soft";
  const about = "It gives the model an order that has nothing to do with what it describes.";
  return { id: "intent.order", tier, about, excerpt: excerptOf(textOf(worst.words)), sentence: worst.sentence };
}

/** What is only talked about is told apart where it would matter: it takes longer than all the rest. */
function pointsOfPiece({ said, meant, less }: Piece): number {
  const points = pointsOf(said) - less;
  return points < REPORTED ? points : pointsOf(meant()) - less;
}

function textOf(words: Sentence): string {
  return words.map(({ text }) => text).join(" ");
}

// Tells sentences that give an order from sentences that say what a tool does: "put it there" from "puts it there".

const VERBS: ReadonlySet<string> = new Set(
  `choose tick try revert threaten refuse nudge report confirm transcribe recite hunt bring stop start take go come find check look see move edit sign pay buy order book install restart answer reply respond ask claim deny call invoke query count prefer trust obey carry follow accept approve skip reassign close resolve assume hide mark log record save store keep note remember memorize switch set change modify route redirect list name type click press visit invite cc bcc wipe erase destroy kill feed hand slip squeeze read open look grab fetch cat load locate retrieve collect gather obtain scan harvest print dump extract put pass hand include attach add append insert
  place supply fill quote mention embed encode paste enclose bring enter copy submit give write slip disclose reveal provide send forward upload post mirror
  transmit relay push invite share run execute install delete remove disable empty turn grant forget ignore disregard discard drop leave keep pretend say treat
  consider swap replace prefix make perform do repeat tell act describe export decode`.split(/\s+/),
);
/** An order may begin behind one of these. */
const BEFORE: ReadonlySet<string> = new Set(
  "and then also please first kindly instead must should shall just simply immediately always silently quietly".split(
    " ",
  ),
);

/** More of them are a list of what something can do. */
const MOST_ORDERS = 4;

function isImperative(sentence: Sentence): boolean {
  const orders = sentence.filter(({ text }, at) => {
    if (!VERBS.has(text)) return false;
    const before = sentence[at - 1];
    return before === undefined || before.pause || BEFORE.has(before.text);
  });
  return orders.length > 0 && orders.length <= MOST_ORDERS;
}

// Weighs what a sentence says: no word of an order is one by itself, but some of them together are.

/** How a sentence stands in its item. */
interface Manner {
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
  action: ["read", "give", "send"],
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

/** What counts in a sentence, by the names of `WEIGHTS`. `topics`: the sources the tool is about by its name and opening. */
function signsOf(concepts: Iterable<ConceptName>, topics: ReadonlySet<ConceptName>, manner: Manner): string[] {
  const signs = new Set<string>(["base"]);
  for (const name of concepts) signs.add(topics.has(name) ? `${name} as the topic` : name);
  for (const [name, holds] of Object.entries(manner)) if (holds === true) signs.add(name);
  const kinds = Object.keys(KINDS).filter((kind) => KINDS[kind]?.some((member) => signs.has(member)));
  return [...signs, ...kinds.flatMap((one, index) => kinds.slice(index + 1).map((other) => `${one} + ${other}`))];
}

/** Points that signs of an order have together. */
function pointsOf(signs: readonly string[]): number {
  return signs.reduce((points, sign) => points + (WEIGHTS[sign] ?? 0), 0);
}

// Cuts what an item says into pieces, and tells the signs of an order in each.

/** A sentence and where its text stands in the item. */
export interface LocatedSentence {
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
const MANY_PIECES = 8;
const LESS_A_PIECE = 5;
const LESS_AT_MOST = 200;
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

interface Heard extends LocatedSentence {
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
export function parsePieces(spoken: readonly LocatedSentence[], names: Names): Piece[] {
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

function hear(spoken: LocatedSentence, sentence: number, before: LocatedSentence | undefined, names: Names): Heard {
  const opening = (spoken.at === "/description" || spoken.at === "/title") && before?.at !== spoken.at;
  return { ...spoken, sentence, opening, concepts: conceptsOf(spoken.words, names) };
}

function isLabel({ name, words }: LocatedSentence): boolean {
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
