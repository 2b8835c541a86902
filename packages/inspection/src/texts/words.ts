// Cuts a text into sentences of words, as the phrases of the rules look at them.

/** One word: lower case, without punctuation around it. Paths, addresses and names stay whole. */
export interface Word {
  readonly text: string;
  /** It stands between quotation marks. */
  readonly quoted: boolean;
  /** A comma, colon or dash follows. */
  readonly pause: boolean;
}

export type Sentence = readonly Word[];

const CHUNK = /\S+/g;
const LEADING: ReadonlySet<string> = new Set("([{<\"'`*_#>•|-→✅❌⚠");
const TRAILING: ReadonlySet<string> = new Set(")]}>\"'`*_,.;:!?…|-");
const QUOTE = /["'`]/;
const PAUSE = /[,:—–-]/;
const STOP = /[.!?;…]/;
const ABBREVIATIONS: ReadonlySet<string> = new Set(["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no."]);
const BULLET = /^(?:[-*•#]|\d{1,3}[.)])/;
const ALTERNATIVES = /^[a-z']+(?:\/[a-z']+)+$/;
/** No honest quotation is longer; an open quotation mark must not quote the rest of the text. */
const LONGEST_QUOTE = 40;

/** @param text Normalised: see `readings`. */
export function sentencesOf(text: string): Sentence[] {
  const sentences: Word[][] = [];
  let current: Word[] = [];
  let quoted = 0;
  let end = 0;
  const close = (): void => {
    if (current.length > 0) sentences.push(current);
    current = [];
  };
  for (const { 0: chunk, index } of text.matchAll(CHUNK)) {
    const gap = text.slice(end, index);
    end = index + chunk.length;
    if (gap.includes("\n") && (gap.indexOf("\n") !== gap.lastIndexOf("\n") || BULLET.test(chunk))) close();
    const { head, body, tail } = peeled(chunk);
    if (QUOTE.test(head)) quoted = LONGEST_QUOTE;
    const pause = PAUSE.test(tail) || body === "—" || body === "–";
    for (const part of parts(body)) current.push({ text: part, quoted: quoted > 0, pause });
    quoted = QUOTE.test(tail) ? 0 : Math.max(0, quoted - 1);
    if (STOP.test(tail) && !ABBREVIATIONS.has(body + tail)) close();
  }
  close();
  return sentences;
}

/** A path keeps the tilde or dot it begins with. */
function peeled(chunk: string): { readonly head: string; readonly body: string; readonly tail: string } {
  let start = 0;
  let end = chunk.length;
  while (start < end && LEADING.has(chunk[start] as string)) start += 1;
  while (end > start && TRAILING.has(chunk[end - 1] as string)) end -= 1;
  return { head: chunk.slice(0, start), body: chunk.slice(start, end), tail: chunk.slice(end) };
}

/** Alternatives such as read/write count as two words; paths and addresses do not. */
function parts(body: string): string[] {
  if (body === "") return [];
  return ALTERNATIVES.test(body) ? body.split("/") : [body];
}
