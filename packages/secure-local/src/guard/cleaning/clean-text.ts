// Cleans one text before it reaches a model, a terminal or the log.
import { replaceHidden } from "./hidden-characters.js";
import { capBytes } from "./size-cap.js";
import { stripTerminalSequences } from "./terminal-sequences.js";

/** How much text one answer may carry; all sizes are UTF-8 bytes, never below 64. */
export interface CleanLimits {
  /** Bytes of one text, the note about what was removed included. */
  readonly textBytes: number;
  /** Bytes of all texts of one result together; a text that finds the budget spent is cut to 64 bytes. */
  readonly resultBytes: number;
}

/** One text: 1 MiB is about 250,000 tokens, more than a model can use. A result: four of them. */
export const DEFAULT_CLEAN_LIMITS: CleanLimits = { textBytes: 1_048_576, resultBytes: 4_194_304 };

/** Longest single line `cleanLine` returns: what fits a terminal screen without hiding the lines around it. */
const LINE_BYTES = 4_096;

// Nearly every text is printable ASCII: one look proves that there is nothing to do.
const NOT_PLAIN = /[^\t\n\x20-\x7e]/;
const LONE_SURROGATE = /\p{Cs}/u;
const ALL_LONE_SURROGATES = /\p{Cs}/gu;
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const LINE_BREAKS = /\n/g;
const TABS = /\t/g;

/**
 * Returns `text` without anything that acts on its reader unseen: cut to the size limit, lone surrogates replaced by
 * U+FFFD, line breaks of every kind as `\n`, control characters and terminal sequences removed, hidden characters removed
 * (emoji sequences, flags and the joiners that Persian, Arabic and Indic words need are kept).
 *
 * The same string comes back when there is nothing to do; cleaning a cleaned text changes nothing.
 */
export function cleanText(text: string, limits: Pick<CleanLimits, "textBytes"> = DEFAULT_CLEAN_LIMITS): string {
  let cleaned = capBytes(text, limits.textBytes);
  if (!NOT_PLAIN.test(cleaned)) return cleaned;
  if (LONE_SURROGATE.test(cleaned)) cleaned = cleaned.replace(ALL_LONE_SURROGATES, "\uFFFD");
  if (CONTROL.test(cleaned)) cleaned = stripTerminalSequences(cleaned);
  return replaceHidden(cleaned);
}

/** Returns `text` cleaned and on one line (breaks shown as `\n`), so that no log line or message can be forged with it. */
export function cleanLine(text: string): string {
  return cleanText(text, { textBytes: LINE_BYTES }).replace(LINE_BREAKS, "\\n").replace(TABS, " ");
}
