// Cleans one text before it reaches a model, a terminal or the log.
import { replaceKnown } from "../../audit/known-secrets.js";
import { redactOutput } from "../../audit/redact-output.js";
import type { HiddenUnicode } from "../../policy/sandbox-policy.js";
import { replaceHidden } from "./hidden-characters.js";
import { capBytes } from "./size-cap.js";
import { stripTerminalSequences } from "./terminal-sequences.js";

/** What is done to a text. */
export interface CleanRules {
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
}

/** One text: 1 MiB is about 250,000 tokens, more than a model can use. A result: four of them. */
export const DEFAULT_CLEAN_LIMITS: CleanLimits = { textBytes: 1_048_576, resultBytes: 4_194_304 };

/** Longest single line `cleanLine` returns: what fits a terminal screen without hiding the lines around it. */
const LINE_BYTES = 4_096;

// Nearly every text is printable ASCII: one look proves that there is nothing to do.
const NOT_PLAIN = /[^\t\n\x20-\x7e]/;
// Written as a range: a class by its name makes every start look up Unicode's tables.
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const ALL_LONE_SURROGATES = /[\ud800-\udfff]/gu;
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
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
  let cleaned = capBytes(text, most);
  if (NOT_PLAIN.test(cleaned)) {
    if (LONE_SURROGATE.test(cleaned)) cleaned = cleaned.replace(ALL_LONE_SURROGATES, "\uFFFD");
    if (CONTROL.test(cleaned)) cleaned = stripTerminalSequences(cleaned);
    cleaned = withoutHidden(cleaned, rules.hidden);
  }
  const redacted = rules.secrets === true ? redactOutput(cleaned) : replaceKnown(cleaned);
  // What stands for a short secret is longer than it.
  return redacted === cleaned ? cleaned : capBytes(redacted, most);
}

function withoutHidden(text: string, hidden: HiddenUnicode = "strip"): string {
  if (hidden === "show") return replaceHidden(text, shown);
  const cleaned = replaceHidden(text);
  // Odd line breaks and blanks are no secret messages.
  if (hidden === "refuse" && cleaned !== text && cleaned !== text.replace(ODD_BREAKS, "\n").replace(ODD_BLANKS, " "))
    throw new HiddenTextError();
  return cleaned;
}

const ODD_BREAKS = /[\u2028\u2029]/g;
const ODD_BLANKS = /\u2800/g;

function shown(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Returns `text` cleaned and on one line (breaks shown as `\n`), so that no log line or message can be forged with it. */
export function cleanLine(text: string): string {
  return cleanText(text, { textBytes: LINE_BYTES }).replace(LINE_BREAKS, "\\n").replace(TABS, " ");
}
