// Reads all texts of one item together: what one says may only make sense beside another.
import { harmfulCommand, readCommands } from "./commands.js";
import { decodedTexts } from "./encoded.js";
import { excerptOf, type Sign } from "./finding.js";
import type { Spoken } from "./intents/hear-pieces.js";
import { readIntents } from "./intents/read-intents.js";
import { type Leaf, leavesOf } from "./leaves.js";
import { readMarks } from "./marks.js";
import { NO_NAMES, type Names } from "./phrase.js";
import { readings } from "./readings.js";
import { UNSPACED_ORDERS } from "./rules/language-rules.js";
import { readRules } from "./rules/read-rules.js";
import { sentencesOf } from "./words.js";

/** A sign and the place of its text in the item. */
export interface PlacedSign extends Sign {
  readonly at: string;
}

/** Longer descriptions leave little room for the work, and much to hide in. */
const LONG_TEXT = 20_000;
const WORD_EDGE = /[_.-]|(?<=[a-z])(?=[A-Z])/g;
const UNREAD: Sign = {
  id: "length.unread",
  tier: "hard",
  about: "It is too long or too deep to be read.",
  excerpt: "",
};

/** The signs in an item, each rule at most once at a place. */
export function readItem(item: unknown, names: Names): PlacedSign[] {
  const { leaves, unread } = leavesOf(item);
  const signs: PlacedSign[] = unread ? [{ ...UNREAD, at: "" }] : [];
  const spoken: Spoken[] = [];
  for (const leaf of leaves) {
    const [plain, ...disguised] = readings(proseOf(leaf));
    for (const words of sentencesOf(plain?.text ?? "")) spoken.push({ words, at: leaf.at, name: leaf.name });
    signs.push(...leafSigns(leaf).map((sign) => ({ ...sign, at: leaf.at })));
    for (const { text, disguise = "" } of disguised)
      for (const sign of readRules(sentencesOf(text), names))
        signs.push({
          ...sign,
          tier: "hard",
          about: `${sign.about} The words are in disguise: ${disguise}.`,
          at: leaf.at,
        });
  }
  const sentences = spoken.map(({ words }) => words);
  const heard = [...readRules(sentences, names), readIntents(spoken, names)];
  for (const sign of heard) if (sign !== undefined) signs.push({ ...sign, at: spoken[sign.sentence]?.at ?? "" });
  return unique(signs);
}

/** A name is read as the words it is made of. */
function proseOf({ text, name }: Leaf): string {
  return name ? text.replaceAll(WORD_EDGE, " ") : text;
}

function leafSigns({ text, name }: Leaf): Sign[] {
  const signs = [...readMarks(text, { name }), ...readCommands(text), ...encodedSigns(text), ...unspacedSigns(text)];
  if (text.length > LONG_TEXT)
    signs.push({
      id: "length.long",
      tier: "soft",
      about: `It has ${text.length} characters.`,
      excerpt: excerptOf(text),
    });
  return signs;
}

function encodedSigns(text: string): Sign[] {
  const decoded = decodedTexts(text);
  const inner = [...decoded, ...decoded.flatMap(decodedTexts)];
  const bad = inner.find((each) => harmfulCommand(each) !== undefined || isOrder(each));
  if (bad === undefined) return [];
  return [
    { id: "encoded.payload", tier: "hard", about: "It holds encoded orders or commands.", excerpt: excerptOf(bad) },
  ];
}

/** Programs that fetch, run or delete have no reason to be named in code. */
const PROGRAM = /(?:^|[\s;&|/])(?:curl|wget|chmod|bash|sh|nc|powershell|rm|python3?|eval|exec)\s/i;

function isOrder(text: string): boolean {
  if (PROGRAM.test(text) && /[|;&>~$]|https?:|-\w|\/tmp\//.test(text)) return true;
  return readings(text).some((reading) => readRules(sentencesOf(reading.text), NO_NAMES).length > 0);
}

function unspacedSigns(text: string): Sign[] {
  const folded = text.normalize("NFKC");
  return UNSPACED_ORDERS.flatMap(({ id, about, texts }) => {
    const found = texts.find((each) => folded.includes(each));
    return found === undefined ? [] : [{ id, tier: "hard" as const, about, excerpt: excerptOf(found) }];
  });
}

function unique(signs: readonly PlacedSign[]): PlacedSign[] {
  const seen = new Set<string>();
  return signs.filter(({ id, at }) => {
    const key = `${id} ${at}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}
