// Removes characters that nobody sees but a model reads, and keeps those that written language needs.
//
// Patterns with classes of Unicode stand in the functions that use them: making one looks up Unicode's tables, which at
// the top of the file every start would wait for.

// Default ignorable (tags, joiners, bidi controls, selectors, fillers), format, private use, noncharacters, line and
// paragraph separators, the null notehead, the blank braille pattern, the mark for an object. Node's own Unicode tables decide; the visible signs
// among the format characters (Arabic year sign and its kin) are excepted below.
const hidden = (): RegExp =>
  /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\u2028\u2029\u{1D159}\u2800\uFFFC]/gu;

const VISIBLE_FORMAT = /[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]/u;
const KEYCAP_BASE = /[0-9#*]/;
/** Scripts in which a joiner changes how a word is written or read. */
const JOINING_SCRIPTS = [
  ["Arabic", "Syriac", "Mandaic", "Nko", "Mongolian", "Phags_Pa", "Adlam", "Hanifi_Rohingya"],
  ["Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala"],
  ["Khmer", "Myanmar", "Tibetan", "Balinese", "Javanese", "Meetei_Mayek", "Chakma", "Grantha", "Tirhuta"],
].flat();
let joining: RegExp | undefined;
/** The flags that fonts draw: England, Scotland, Wales. Any other tag text would be invisible. */
const TAG_FLAGS: readonly string[] = ["gbeng", "gbsct", "gbwls"].map(
  (region) => String.fromCodePoint(...[...region].map((letter) => 0xe0000 + letter.charCodeAt(0))) + "\u{E007F}",
);

/**
 * Returns `text` without hidden characters; the line and paragraph separators become `\n`, the blank braille pattern a
 * space. Expects no lone surrogates. The same string comes back when nothing was removed.
 *
 * `instead` gives what stands for a character that is removed; nothing when absent. It must be plain ASCII.
 *
 * Kept: one emoji or text selector (U+FE0F, U+FE0E) after an emoji and in keycaps, U+200D inside emoji sequences, U+200C
 * and U+200D after a letter of a script that joins, Mongolian selectors after Mongolian letters, three flags of tags.
 */
export function replaceHidden(text: string, instead?: (character: string) => string): string {
  const work = replacingHidden(text, instead);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Hidden characters between two stops: each costs as much as some of a text that are looked at. */
const A_STEP = 2_048;

/** The same in parts, between which others may have their turn: a text may be nothing but such characters. Tells how many there were. */
export function* replacingHidden(
  text: string,
  instead: (character: string) => string = () => "",
): Generator<number, string, void> {
  const everyHidden = hidden();
  const parts: string[] = [];
  let [out, count] = ["", 0];
  let position = 0;
  let before = ""; // the last character that was kept, never read from `out`: that would flatten it each time
  for (let found = everyHidden.exec(text); found !== null; found = everyHidden.exec(text)) {
    const start = found.index;
    if (start > position) {
      out += text.slice(position, start);
      before = characterBefore(text, start);
    }
    const kept = replacement(found[0], before, text, start);
    const written = kept === "" ? instead(found[0]) : kept;
    out += written;
    if (written !== "") before = kept === "" ? written.slice(-1) : kept;
    position = start + Math.max(kept.length, found[0].length);
    everyHidden.lastIndex = position;
    count += 1;
    if (count % A_STEP !== 0) continue;
    parts.push(out);
    out = "";
    yield A_STEP;
  }
  return position === 0 ? text : parts.join("") + out + text.slice(position);
}

/** What stands for the hidden character at `start`: itself, a whole flag, a line break, or nothing. */
function replacement(character: string, before: string, text: string, start: number): string {
  switch (character) {
    case "\u2028":
    case "\u2029":
      return "\n";
    case "\u2800":
      return " ";
    case "\uFE0E":
    case "\uFE0F":
      return selects(before, text, start) ? character : "";
    case "\u200D":
      return isJoining(before) || joinsEmoji(before, text, start) ? character : "";
    case "\u200C":
      return isJoining(before) ? character : "";
    case "\u180B":
    case "\u180C":
    case "\u180D":
    case "\u180F":
      return /\p{Script=Mongolian}/u.test(before) && isJoining(before) ? character : "";
    default:
      if (VISIBLE_FORMAT.test(character)) return character;
      return (before === "\u{1F3F4}" && TAG_FLAGS.find((flag) => text.startsWith(flag, start))) || "";
  }
}

/** Whether the character is a letter or mark of those scripts. */
function isJoining(character: string): boolean {
  const scripts = (): string => JOINING_SCRIPTS.map((script) => `\\p{Script=${script}}`).join("");
  joining ??= new RegExp(`(?=[\\p{L}\\p{M}])[${scripts()}]`, "u");
  return joining.test(character);
}

function isPictograph(character: string): boolean {
  return /\p{Extended_Pictographic}/u.test(character);
}

function selects(before: string, text: string, start: number): boolean {
  return isPictograph(before) || (KEYCAP_BASE.test(before) && text[start + 1] === "\u20E3");
}

function joinsEmoji(before: string, text: string, start: number): boolean {
  if (before !== "\uFE0F" && !/[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u.test(before)) return false;
  const next = text.codePointAt(start + 1);
  return next !== undefined && isPictograph(String.fromCodePoint(next));
}

function characterBefore(text: string, end: number): string {
  const unit = text.charCodeAt(end - 1);
  return text.slice(unit >= 0xdc00 && unit <= 0xdfff ? end - 2 : end - 1, end);
}
