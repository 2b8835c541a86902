// Text of a stranger made fit for an error or a log: what would steer a terminal is shown instead of obeyed.

// Controls (line ends included), invisible and direction-changing characters, lone surrogates.
const STEERING =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]|[\u{e0000}-\u{e007f}]/gu;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** One line of at most `most` characters (and a mark where it was cut), without characters that act on a terminal. */
export function visibleText(text: string, most: number): string {
  const cut = text.length > most;
  const shown = (cut ? text.slice(0, most) : text).replace(STEERING, escape);
  return cut ? `${shown}… (${text.length} characters)` : shown;
}

function escape(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) as number;
  if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}
