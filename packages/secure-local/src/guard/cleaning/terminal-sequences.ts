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
const LINE_BREAKS: ReadonlySet<number> = new Set([0x0d, 0x0b, 0x0c, 0x85]);

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const NEXT_CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** What ends the search for a string's end: a terminator, or a character no terminal string of one line contains. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const STRING_END = /[\x07\n\x18\x1a\x1b\x80-\x9f]/g;

/**
 * Returns `text` without C0 and C1 controls other than `\n` and `\t`, and without the sequences they open; CRLF, CR, VT, FF
 * and NEL become `\n`. A string sequence (OSC, DCS, ...) without an end on its line loses only its opener, so that a stray
 * byte cannot swallow the text after it. Linear in the length of the text.
 */
export function stripTerminalSequences(text: string): string {
  let out = "";
  let position = 0;
  for (;;) {
    NEXT_CONTROL.lastIndex = position;
    const found = NEXT_CONTROL.exec(text);
    if (found === null) return out + text.slice(position);
    const code = text.charCodeAt(found.index);
    out += text.slice(position, found.index);
    if (LINE_BREAKS.has(code)) {
      if (code !== 0x0d || text.charCodeAt(found.index + 1) !== 0x0a) out += "\n";
      position = found.index + 1;
    } else {
      position = afterControl(text, found.index, code);
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
