// Cleans one text before it reaches a model, a terminal or the log.
import { Buffer } from "node:buffer";
import type { Work } from "../../audit/encoded-secrets.js";
import { atOnce, knowsSecrets, redactShapes, replacingKnown } from "../../audit/secret-shapes.js";
import type { HiddenUnicode } from "../../policy/policy.js";
import { replacingHidden } from "@secure-local/inspection/hidden-characters";

/** What is done to a text. */
interface CleanRules {
  /** Bytes of one text in UTF-8, the note about what was removed included; never below 64. */
  readonly textBytes: number;
  /** What becomes of characters nobody sees. Default: they are removed. */
  readonly hidden?: HiddenUnicode;
  /** Whether what looks like a secret is taken out. Default: it stays. The values of secrets with a name always are. */
  readonly secrets?: boolean;
}

/** How much text one answer may carry; all sizes are UTF-8 bytes, never below 64. */
export interface CleanLimits extends CleanRules {
  /** Bytes of all texts of one result together; a text that finds the budget spent is cut to 64 bytes. */
  readonly resultBytes: number;
  /** Bytes of one result with everything in it, keys, numbers and Base64 too: a longer one is no answer. Default: as many as there are. */
  readonly wholeBytes?: number;
  /** Characters that are looked at for secrets in one answer. Default: more than 4 MiB of anything honest take. */
  readonly mostLookedAt?: number;
}

/** One text: 1 MiB is about 250,000 tokens, more than a model can use. A result: four of them. */
export const DEFAULT_CLEAN_LIMITS: CleanLimits = { textBytes: 1_048_576, resultBytes: 4_194_304 };

/** Longest single line `cleanLine` returns: what fits a terminal screen without hiding the lines around it. */
const LINE_BYTES = 4_096;

// Nearly every text is printable ASCII: one look proves that there is nothing to do.
export const NOT_PLAIN: RegExp = /[^\t\n\x20-\x7e]/;
// Written as a range: a class by its name makes every start look up Unicode's tables.
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const ALL_LONE_SURROGATES = /[\ud800-\udfff]/gu;
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const PLAIN_LINE = /^[\x20-\x7e]*$/;
const LINE_BREAKS = /\n/g;
const TABS = /\t/g;

/** Thrown for a text that holds hidden characters where the policy refuses them. */
export class HiddenTextError extends Error {
  constructor() {
    super("The text holds characters that nobody sees.");
    this.name = "HiddenTextError";
  }
}

/**
 * Returns `text` without anything that acts on its reader unseen: cut to the size limit, lone surrogates replaced by
 * U+FFFD, line breaks of every kind as `\n`, control characters and terminal sequences removed, hidden characters removed
 * or shown as `\u{…}` (emoji sequences, flags and the joiners that Persian, Arabic and Indic words need are kept), secrets
 * replaced where the rules say so.
 *
 * The same string comes back when there is nothing to do; cleaning a cleaned text changes nothing. `most` stands for the
 * rules' own `textBytes`: where a budget is shared the rules need no copy for each text.
 *
 * @throws HiddenTextError where the rules refuse hidden characters and there are some.
 */
export function cleanText(
  text: string,
  rules: CleanRules = DEFAULT_CLEAN_LIMITS,
  most: number = rules.textBytes,
): string {
  return atOnce(cleaningText(text, rules, most));
}

/** What is looked for here is looked for so many times more quickly than written secrets. */
const QUICK = 8;

/** The same in parts. */
export function* cleaningText(text: string, rules: CleanRules, most: number = rules.textBytes): Work<string> {
  // What is cut through is recognised no more.
  const known = knowsSecrets() ? yield* replacingKnown(text) : text;
  const capped = capBytes(known, most);
  const cleaned = NOT_PLAIN.test(capped) ? yield* withoutUnseen(capped, rules.hidden, known) : capped;
  yield Math.ceil(cleaned.length / QUICK);
  // Where nothing was taken away, nothing can have come together.
  const whole = cleaned === known || !knowsSecrets() ? cleaned : yield* replacingKnown(cleaned);
  const redacted = rules.secrets === true ? redactShapes(whole) : whole;
  // What stands for a short secret is longer than it.
  return redacted === cleaned ? cleaned : capBytes(redacted, most);
}

/**
 * The text as its reader gets it: the part of `cleaningText` that takes characters away, or puts others in their place.
 *
 * @param whole The text before it was cut: what is cut through is what it would have been, so that a cut only takes away.
 * @throws HiddenTextError where hidden characters are refused and there are some.
 */
export function* withoutUnseen(text: string, hidden?: HiddenUnicode, whole: string = text): Work<string> {
  let seen = text;
  if (LONE_SURROGATE.test(seen)) seen = seen.replace(ALL_LONE_SURROGATES, "\uFFFD");
  if (CONTROL.test(seen)) {
    const kept = text === whole ? text.length : text.lastIndexOf(NOTE_BEGINS);
    seen = yield* withoutTerminalSequences(seen, { whole, kept });
  }
  return yield* withoutHidden(seen, hidden);
}

function* withoutHidden(text: string, hidden: HiddenUnicode = "strip"): Work<string> {
  const cleaned = yield* counted(replacingHidden(text, hidden === "show" ? shown : undefined));
  if (hidden === "show") return cleaned;
  // Odd line breaks and blanks are no secret messages.
  if (hidden === "refuse" && cleaned !== text && cleaned !== text.replace(ODD_BREAKS, "\n").replace(ODD_BLANKS, " "))
    throw new HiddenTextError();
  return cleaned;
}

/** What a character that is removed, or a sequence, costs, as characters are counted that secrets are looked for in. */
const A_REMOVAL = 8;
/** So many between two stops. */
const A_STEP = 2_048;

function* counted(work: Generator<number, string, void>): Work<string> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    yield value * A_REMOVAL;
  }
}

const ODD_BREAKS = /[\u2028\u2029]/g;
const ODD_BLANKS = /\u2800/g;

function shown(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Returns `text` cleaned and on one line (breaks shown as `\n`), so that no log line or message can be forged with it. */
export function cleanLine(text: string): string {
  // Names and most lines have nothing to clean.
  if (text.length <= LINE_BYTES && PLAIN_LINE.test(text) && !knowsSecrets()) return text;
  return cleanText(text, { textBytes: LINE_BYTES }).replace(LINE_BREAKS, "\\n").replace(TABS, " ");
}

// Cuts a text to a number of UTF-8 bytes and says how much is gone.

const NOTE_BEGINS = "\n[... ";
/** Room kept for the note, which is at most 45 bytes long; also the least a text is ever cut to. */
const NOTE_BYTES = 64;

const encoder = new TextEncoder();

/**
 * Returns `text` when it has at most `maxBytes` bytes of UTF-8, else its beginning and the line
 * `[... N bytes removed ...]`, together within `maxBytes` (which counts as 64 when it is less).
 */
function capBytes(text: string, maxBytes: number): string {
  const cap = Math.max(maxBytes, NOTE_BYTES);
  if (text.length * 3 <= cap) return text; // no UTF-16 unit needs more than three bytes
  const size = Buffer.byteLength(text);
  if (size <= cap) return text;
  const kept = encoder.encodeInto(text, new Uint8Array(cap - NOTE_BYTES));
  // The note starts on a line of its own, so an escape sequence cut in two cannot swallow it.
  return `${text.slice(0, kept.read)}${NOTE_BEGINS}${size - kept.written} bytes removed ...]`;
}

// Removes control characters and terminal sequences by walking them as a terminal would.

const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const BEL = 0x07;
const ST = 0x9c;
const CSI = 0x9b;
/** DCS, SOS, OSC, PM, APC: each opens a string that lasts until ST. */
const STRING_OPENERS: ReadonlySet<number> = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f]);
/** CR, VT, FF and NEL: line breaks that older devices know. */
const OTHER_LINE_BREAKS: ReadonlySet<number> = new Set([0x0d, 0x0b, 0x0c, 0x85]);

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const NEXT_CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** What ends the search for a string's end: a terminator, or a character no terminal string of one line contains. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const STRING_END = /[\x07\n\x18\x1a\x1b\x80-\x9f]/g;

/**
 * Returns `text` without C0 and C1 controls other than `\n` and `\t`, and without the sequences they open; CRLF, CR, VT, FF
 * and NEL become `\n`. A string sequence (OSC, DCS, ...) without an end on its line loses only its opener, so that a stray
 * byte cannot swallow the text after it. Linear in the length of the text.
 *
 * Where the text is cut, `kept` characters of the `whole` stand before the note that says so: a sequence that was cut through
 * takes what is left of it.
 */
function* withoutTerminalSequences(
  text: string,
  { whole, kept }: { readonly whole: string; readonly kept: number },
): Work<string> {
  const parts: string[] = [];
  let [out, position] = ["", 0];
  for (let count = 1; ; count += 1) {
    if (count % A_STEP === 0) {
      parts.push(out);
      out = "";
      yield A_STEP * A_REMOVAL;
    }
    NEXT_CONTROL.lastIndex = position;
    const found = NEXT_CONTROL.exec(text);
    if (found === null) return parts.join("") + out + text.slice(position);
    const code = text.charCodeAt(found.index);
    out += text.slice(position, found.index);
    if (OTHER_LINE_BREAKS.has(code)) {
      if (code !== 0x0d || text.charCodeAt(found.index + 1) !== 0x0a) out += "\n";
      position = found.index + 1;
    } else {
      const after = afterControl(whole, found.index, code);
      // The note has no controls.
      position = Math.min(after, kept);
    }
  }
}

/** The position behind the control character at `start` and everything that belongs to it. */
function afterControl(text: string, start: number, code: number): number {
  if (code === ESC) return afterEscape(text, start + 1);
  if (code === CSI) return afterControlSequence(text, start + 1);
  if (STRING_OPENERS.has(code)) return afterString(text, start + 1);
  return start + 1;
}

function afterEscape(text: string, start: number): number {
  const next = text.charCodeAt(start);
  // ESC with one of `@` to `_` is the seven-bit form of a C1 control.
  if (next >= 0x40 && next <= 0x5f) return afterControl(text, start, next + 0x40);
  const final = skip(text, start, 0x20, 0x2f);
  const code = text.charCodeAt(final);
  return code >= 0x30 && code <= 0x7e ? final + 1 : final;
}

/** Parameters, intermediates, one final character; anything else aborts the sequence and is looked at again. */
function afterControlSequence(text: string, start: number): number {
  const final = skip(text, skip(text, start, 0x30, 0x3f), 0x20, 0x2f);
  const code = text.charCodeAt(final);
  return code >= 0x40 && code <= 0x7e ? final + 1 : final;
}

function afterString(text: string, start: number): number {
  STRING_END.lastIndex = start;
  const end = STRING_END.exec(text);
  if (end === null) return start;
  const code = text.charCodeAt(end.index);
  if (code === BEL || code === ST || code === CAN || code === SUB) return end.index + 1;
  if (code === ESC && text[end.index + 1] === "\\") return end.index + 2;
  return start;
}

function skip(text: string, start: number, from: number, to: number): number {
  let position = start;
  for (;;) {
    const code = text.charCodeAt(position);
    if (!(code >= from && code <= to)) return position;
    position += 1;
  }
}
