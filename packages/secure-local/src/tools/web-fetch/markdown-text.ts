// Writes a page's words so that Markdown shows them as they are: nothing in them becomes a link, image, HTML or heading.
//
// Of CommonMark and GitHub's extensions to it. What needs no mark gets none: ordinary pages stay as they were.

/**
 * In this order: a backslash that would count; what could begin code; a tag, a comment or an address in angle brackets; a
 * reference to a character; the end of a link's text; emphasis; struck text; and what GitHub takes for an address.
 */
const SPECIAL = new RegExp(
  [
    String.raw`\\(?=[!-/:-@[-\`{-~]|$)`,
    "`",
    "<(?=[A-Za-z/!?]|$)",
    "&(?=#|[A-Za-z][A-Za-z0-9]{0,31};|$)",
    String.raw`\](?=[(:[])`,
    String.raw`(?<![ ])\*|\*(?![ ])`,
    "(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])",
    "~(?=~|$)|(?<=~)~",
    "(?<=(?:https?|ftp|mailto|xmpp)):",
    String.raw`(?<=www)\.`,
    String.raw`(?<=\S)@(?=\S|$)`,
  ].join("|"),
  "gi",
);

/** Of words that stand right before others, what decides how those are read. */
export const TAIL = 8;

/** Characters that are written anew at a time: while a text is, the engine keeps a list of all that is exchanged in it. */
const AT_ONCE = 16_384;
/** A mark is told by no more characters behind it: the longest name of a reference. */
const LOOKED_AHEAD = 40;

/** What `SPECIAL` finds has one of these. Most words of a page have none, and a page has a hundred thousand short texts. */
const MAYBE_SPECIAL = /[\\`<&*_~@]|\][(:[]|(?:^|[pso]):|(?:^|w)\./i;

/** The text within a paragraph, right after `tail`; what begins its lines is seen to by `plainLines`. */
export function plainWords(text: string, tail = ""): string {
  if (!MAYBE_SPECIAL.test(text)) return text;
  const whole = `${tail}${text}`;
  if (whole.length <= AT_ONCE) {
    const known = tail.length;
    return whole.replace(SPECIAL, (found, at: number) => (at < known ? found : `\\${found}`)).slice(known);
  }
  const pieces: string[] = [];
  for (let from = tail.length; from < whole.length; from += AT_ONCE) {
    const before = Math.min(from, TAIL);
    const behind = Math.min(whole.length - from, AT_ONCE + LOOKED_AHEAD);
    const [first, last] = [before, before + Math.min(behind, AT_ONCE)];
    const escaped = (found: string, at: number): string => (at < first || at >= last ? found : `\\${found}`);
    const part = whole.slice(from - before, from + behind).replace(SPECIAL, escaped);
    pieces.push(part.slice(first, part.length - (before + behind - last)));
  }
  return pieces.join("");
}

/** What `plainWords` was given. */
export function wordsOf(text: string): string {
  if (!text.includes("\\")) return text;
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    let end = Math.min(from + AT_ONCE, text.length);
    // Not between a backslash and what it stands before.
    let slashes = 0;
    while (end - slashes > from && text[end - slashes - 1] === "\\") slashes += 1;
    end += slashes % 2;
    pieces.push(text.slice(from, end).replace(/\\([!-/:-@[-`{-~])/g, "$1"));
    from = end;
  }
  return pieces.join("");
}

/** As the text of a link, in which no address is looked for. */
export function linkWords(text: string): string {
  return text
    .replace(/\n/g, " ")
    .replace(/\\[!-/:-@[-`{-~]|[[\]]/g, (found) => (found.length === 1 ? `\\${found}` : unlinked(found)));
}

function unlinked(found: string): string {
  return /[:.@]/.test(found) ? (found[1] as string) : found;
}

/** A heading, a quote, a list, a rule or the line under a heading or a table's head; with what stands before the mark. */
const BEGINS =
  /^(?:#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|=+(?=\s*$)|[-*_](?=(?:\s*[-*_]){2,}\s*$)|-+(?=\s*$)|[|:](?=[\s|:-]*$)|-(?=[\s|:-]+$))/;
const NUMBERED = /^(\d{1,9})([.)])(?=\s|$)/;

/** What `BEGINS` and `NUMBERED` can find begins with one of these. */
const MAYBE_BEGINS = /^[#>\-+*=_|:\d]/;

/** Lines that none of begins a block of another kind. */
export function plainLines(text: string): string {
  return text.includes("\n") ? text.split("\n").map(plainLine).join("\n") : plainLine(text);
}

function plainLine(line: string): string {
  const words = line.trimStart();
  return MAYBE_BEGINS.test(words) ? words.replace(NUMBERED, "$1\\$2").replace(BEGINS, "\\$&") : words;
}

/** The address of a link, between its parentheses. */
export function linkTarget(href: string): string {
  return href
    .replace(/[()<>\s`|\\[\]*_~]/g, (char) => (/[*_~]/.test(char) ? char : encoded(char)))
    .replace(/&(?=#|[A-Za-z][A-Za-z0-9]*;)/g, "\\&");
}

/** An address among words. */
export function shownAddress(url: string): string {
  return url.replace(/[()<>\s`[\]\\]/g, encoded);
}

function encoded(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

const FENCE = /^(?:> |\d{1,6}\. |- | )*(`{3,})[\w+#.-]*$/;

/** A part of Markdown that is read as it is in the whole: code that was cut has its fences, and words begin no heading. */
export function partOf(markdown: string, start: number, end: number): string {
  const [first, last] = [fenceAt(markdown, start), fenceAt(markdown, end)];
  const part = markdown.slice(start, end);
  const within = start > 0 && markdown[start - 1] !== "\n" && first === "";
  const line = within ? part.search(/\n|$/) : 0;
  const before = first === "" ? plainLines(part.slice(0, line)) : `${first}\n`;
  return before + part.slice(line) + (last === "" ? "" : `\n${last}`);
}

/** The fence of the code that this place is in; empty when it is in none. */
function fenceAt(markdown: string, at: number): string {
  let open = "";
  for (let from = 0; from < at;) {
    const end = markdown.indexOf("\n", from);
    // The place is in this line: a fence that is cut is none.
    if (end < 0 || end >= at) break;
    const mark = FENCE.exec(markdown.slice(from, Math.min(end, from + 200)))?.[1];
    if (mark !== undefined && (open === "" || mark === open)) open = open === "" ? mark : "";
    from = end + 1;
  }
  return open;
}

/** The last place up to `at` where Markdown may be cut: not after a backslash, within code, or within a link. */
export function cutBefore(markdown: string, at: number): number {
  const line = markdown.lastIndexOf("\n", at - 1) + 1;
  if (at <= line || fenceAt(markdown, at) !== "") return at;
  const fence = FENCE.test(markdown.slice(line, endOfLine(markdown, at)));
  if (fence) return line;
  for (const { 0: whole, index } of markdown.slice(line, endOfLine(markdown, at)).matchAll(WHOLE)) {
    if (line + index >= at) break;
    if (line + index + whole.length > at) return line + index;
  }
  return at;
}

function endOfLine(markdown: string, at: number): number {
  const end = markdown.indexOf("\n", at);
  return end < 0 ? markdown.length : end;
}

/** What means something else in pieces: an escape, code, a link, an entity, the mark a line begins with. */
const WHOLE =
  /\\[!-/:-@[-`{-~]|(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)|\[(?:\\.|[^[\]\\\n])*\]\([^)\n]*\)|^(?:> |#+ |\d+\\?[.)] |[-+*] )+/g;
