// Writes the characters that steer a terminal or that nobody sees as \uXXXX: JSON stays the same JSON, other text shows them.

import { StringDecoder } from "node:string_decoder";
import { Transform } from "node:stream";

/**
 * A text without any of these characters needs no closer look, and a start does not wait for Unicode's tables; printable
 * ASCII, tabs and line ends are what nearly every text consists of.
 */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const MAY_BE_UNSEEN = /[^\t\n\x20-\x7e]/;
let unseen: RegExp | undefined;

/**
 * The text with C0 (tab and line feed excepted), DEL, C1, direction-changing, invisible, tag, filler and private-use
 * characters, separators of lines and lone surrogates as `\uXXXX`, one for each UTF-16 unit. JSON that is given comes back
 * as the same value in printed form: outside of strings it has none of them.
 */
export function escapeUnseen(text: string): string {
  if (!MAY_BE_UNSEEN.test(text)) return text;
  // Made when it is first needed: classes of Unicode cost a start more than everything else here.
  unseen ??=
    // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
    /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029\u{1D159}\u2800]/gu;
  return text.replace(unseen, escaped);
}

function escaped(character: string): string {
  let units = "";
  for (let at = 0; at < character.length; at += 1)
    units += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  return units;
}

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const COLOURS = /\u001b\[[\d;]*m/g;

/** Without the sequences that only colour a text: honest programs write them too. */
export function withoutColours(text: string): string {
  return text.replace(COLOURS, "");
}

/** Passes on what a program of a stranger writes, as it may be shown on a terminal: without colours, and all else that steers it escaped. */
export function unseenEscaped(): Transform {
  const decoder = new StringDecoder("utf8");
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(undefined, escapeUnseen(withoutColours(decoder.write(chunk))));
    },
    flush(done) {
      done(undefined, decoder.end());
    },
  });
}
