// Reads an HTML page into a small tree, only what a reader would see, bounded whatever the page does, and its texts
// into Markdown's.
import type { Pace } from "../tool.js";

/** An element, or a text of its parent. */
export type PageNode = PageElement | string;

export interface PageElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: PageNode[];
  /** Characters of text in it, and how many of them are in links. */
  textLength: number;
  linkLength: number;
}

export interface Page {
  readonly title: string;
  /** What relative links are relative to. */
  readonly base: string | undefined;
  readonly root: PageElement;
  /** The page was nested too deeply, or too large, to be read to its end. */
  readonly cut: boolean;
}

/** Elements that nest deeper become part of the one above them: no reader can tell. */
const MAX_TREE_DEPTH = 256;
/** Broken pages leave thousands open, none this many. */
const MAX_OPEN_TAGS = 30_000;
/**
 * What all the stages have to do for one page, from the parser to the Markdown: bounded here, where it is known first, and
 * counted and not timed, so that a busy machine leaves out nothing. An element counts once and one that Markdown marks
 * twice, as its marks cost as much again: a page of 2 MiB with 25 characters an element, or 50 a link. Larger ones are lists
 * that nobody reads to their end.
 */
const MAX_WORK = 80_000;
const MARKED: ReadonlySet<string> = new Set(
  "a b blockquote code del em h1 h2 h3 h4 h5 h6 i img kbd li pre s samp strong td th tt".split(" "),
);
/** The parser gives a text of its own for each entity and each stray `<`; a page of nothing but entities has fewer. */
const MAX_TEXTS = 500_000;
/** The parser searches all open tags for each tag that opens or closes nothing: so many looks take a tenth of a second. */
const MAX_SEARCHED = 50_000_000;
/** Milliseconds for one page of at most 2 MiB, which takes 100. */
const MAX_PARSE_MS = 3_000;
/** Characters parsed before others get a turn, and before the looks are counted. */
const SLICE = 4_096;
const MAX_TITLE = 300;
/** Nothing in these is text for people. */
const UNSEEN: ReadonlySet<string> = new Set(
  "script style noscript template svg math iframe object embed canvas audio video map select option datalist textarea button dialog frameset".split(
    " ",
  ),
);
const KEPT_ATTRIBUTES = ["href", "alt", "class", "role", "start", "id", "lang"] as const;
/** Classes by which pages hide what they keep for other than eyes. */
const HIDDEN_CLASS = /(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-text|screen-reader-only|off-?screen)(?:\s|$)/i;
/** Nobody reads letters of so many pixels, or at so small a part of their strength. */
const UNREADABLE_PX = 2;
const UNREADABLE_PART = 0.05;
/** So many pixels to a side are out of every window. */
const FAR_PX = 500;
const ASIDE: readonly string[] = [
  "left",
  "right",
  "top",
  "bottom",
  "text-indent",
  "margin-left",
  "margin-top",
  "inset",
];
/** Pixels of the units that lengths are written in most, roughly. */
const PIXELS: Readonly<Record<string, number>> = { px: 1, pt: 1.3, em: 16, rem: 16, vw: 12, vh: 8, "%": 10 };

/** The HTML parser is loaded by the first page. Throws nothing but the reason of an abort. */
export async function readPage(html: string, pace: Pace): Promise<Page> {
  const { Parser } = await import("htmlparser2");
  const builder = new TreeBuilder();
  const parser = new Parser({
    onopentag: (name, attributes) => builder.open(name, attributes),
    ontext: (text) => builder.text(text),
    onclosetag: (name) => builder.close(name),
  });
  for (let at = 0; at < html.length && !builder.full; at += SLICE) {
    await pace.step(at, () => "reading the page");
    if (pace.elapsedMs > MAX_PARSE_MS) builder.full = true;
    else builder.searching(html.slice(at, at + SLICE), (part) => parser.write(part));
  }
  if (!builder.full) parser.end();
  return builder.page();
}

const NO_ATTRIBUTES: Readonly<Record<string, string>> = Object.freeze({});

function element(name: string, attributes = NO_ATTRIBUTES): PageElement {
  return { name, attributes, children: [], textLength: 0, linkLength: 0 };
}

class TreeBuilder {
  full = false;
  readonly #root = element("body");
  /** Elements of the tree that are open, outermost first. */
  readonly #path: PageElement[] = [this.#root];
  /** For each open tag whether it is in the path: those that are unseen or nest too deeply are not. */
  readonly #open: boolean[] = [];
  /** How many tags were open when what is being left out began. */
  #unseenSince: number | undefined;
  #inTitle = false;
  #links = 0;
  #work = 0;
  #texts = 0;
  /** Tags that opened or closed something, and looks at open tags for those that did not. */
  #effects = 0;
  #searched = 0;
  #title = "";
  #base: string | undefined;

  /** Has a part of the page parsed, and counts what that cost. */
  searching(part: string, parse: (part: string) => void): void {
    const effects = this.#effects;
    parse(part);
    const idle = Math.max(0, tagsIn(part) - (this.#effects - effects));
    this.#searched += idle * this.#open.length;
    if (this.#searched > MAX_SEARCHED) this.full = true;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.full) return;
    this.#effects += 1;
    this.#work += MARKED.has(name) ? 2 : 1;
    if (this.#open.length >= MAX_OPEN_TAGS || this.#work > MAX_WORK) this.full = true;
    if (name === "title" && this.#title === "") this.#inTitle = true;
    if (name === "base") this.#base ??= attributes["href"];
    const skipped = this.#unseenSince !== undefined || this.#path.length >= MAX_TREE_DEPTH;
    if (this.#unseenSince === undefined && isUnseen(name, attributes)) this.#unseenSince = this.#open.length;
    const kept = !skipped && this.#unseenSince === undefined;
    this.#open.push(kept);
    if (!kept) return;
    const node = element(name, keptOf(attributes));
    this.#path.at(-1)?.children.push(node);
    this.#path.push(node);
    if (name === "a") this.#links += 1;
  }

  text(text: string): void {
    if (this.full) return;
    if (++this.#texts > MAX_TEXTS) this.full = true;
    if (this.#inTitle) this.#title = (this.#title + text).slice(0, MAX_TITLE);
    if (this.#unseenSince !== undefined || this.#inTitle) return;
    const { children } = this.#path.at(-1) as PageElement;
    const last = children.length - 1;
    // Entities come as texts of their own.
    if (typeof children[last] === "string") children[last] += text;
    else children.push(text);
    const seen = text.trim().length;
    const into = this.#path.at(-1) as PageElement;
    into.textLength += seen;
    if (this.#links > 0) into.linkLength += seen;
  }

  close(name: string): void {
    if (this.full) return;
    this.#effects += 1;
    if (name === "title") this.#inTitle = false;
    const kept = this.#open.pop();
    if (this.#unseenSince === this.#open.length) this.#unseenSince = undefined;
    if (kept === true) this.#leave();
  }

  page(): Page {
    while (this.#path.length > 1) this.#leave();
    return { title: this.#title.replace(/\s+/g, " ").trim(), base: this.#base, root: this.#root, cut: this.full };
  }

  #leave(): void {
    const left = this.#path.pop() as PageElement;
    const above = this.#path.at(-1) as PageElement;
    above.textLength += left.textLength;
    above.linkLength += left.linkLength;
    if (left.name === "a") this.#links -= 1;
  }
}

function isUnseen(name: string, attributes: Readonly<Record<string, string>>): boolean {
  if (UNSEEN.has(name) || attributes["aria-hidden"] === "true") return true;
  if (["hidden", "inert", "popover"].some((each) => each in attributes)) return true;
  const { class: classes = "", style = "" } = attributes;
  if (classes !== "" && HIDDEN_CLASS.test(classes)) return true;
  return style !== "" && isHiding(declarationsIn(style));
}

/** The declarations of an element's own style by their names, as a browser reads them: without comments, escapes resolved. */
function declarationsIn(style: string): ReadonlyMap<string, string> {
  const text = style
    .split("/*")
    .map((part, index) => (index === 0 ? part : part.slice(part.includes("*/") ? part.indexOf("*/") + 2 : part.length)))
    .join("")
    .replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_, hex?: string, as = "") =>
      hex === undefined ? String(as) : String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0xfffd)),
    )
    .toLowerCase();
  const declarations = text.split(";").map((each): [string, string] => {
    const colon = each.indexOf(":");
    const value = each.slice(colon + 1).trim();
    return [each.slice(0, Math.max(0, colon)).trim(), (value.split("!", 1)[0] ?? "").trim()];
  });
  return new Map(declarations);
}

/** Whether an element with this style of its own is seen by nobody. What style sheets say is not known here. */
function isHiding(style: ReadonlyMap<string, string>): boolean {
  const of = (name: string): string => style.get(name) ?? "";
  if (of("display") === "none" || ["hidden", "collapse"].includes(of("visibility"))) return true;
  if (of("content-visibility") === "hidden" || of("color") === "transparent") return true;
  if (isFaint(of("opacity")) || isFaint(within(of("filter"), "opacity")) || isFaint(alphaOf(of("color")))) return true;
  const size = style.has("font-size") ? of("font-size") : (of("font").match(/[\d.]+(?=\D|$)[a-z%]*/)?.[0] ?? "");
  if (size !== "" && Math.abs(pixels(size)) < UNREADABLE_PX) return true;
  if (
    ASIDE.some((each) =>
      of(each)
        .split(/\s+/)
        .some((length) => pixels(length) <= -FAR_PX),
    )
  )
    return true;
  const scale = Number.parseFloat(within(of("transform"), "scale") || of("scale") || "1");
  if (scale < UNREADABLE_PART || pixels(of("zoom")) < UNREADABLE_PART) return true;
  if (
    /^(?:rect\(\s*[01](?:px)?[\s,]|inset\(\s*(?:50|100)%|(?:circle|ellipse)\(\s*0)/.test(of("clip") || of("clip-path"))
  )
    return true;
  const isCut = ["hidden", "clip"].includes(of("overflow"));
  return isCut && ["width", "height", "max-width", "max-height"].some((each) => pixels(of(each)) <= 1);
}

/** What stands between the brackets of a function in a value. */
function within(value: string, name: string): string {
  const at = value.indexOf(`${name}(`);
  return at < 0 ? "" : (value.slice(at + name.length + 1).split(")", 1)[0] ?? "").trim();
}

function alphaOf(color: string): string {
  const parts = (within(color, "rgba") || within(color, "hsla")).split(/[\s,/]+/);
  return parts.length === 4 ? (parts[3] ?? "") : "";
}

/** A number or percentage that leaves nothing to see; a value that is none does not. */
function isFaint(value: string): boolean {
  const part = Number.parseFloat(value) / (value.endsWith("%") ? 100 : 1);
  return part < UNREADABLE_PART;
}

/** NaN for what is no length. */
function pixels(length: string): number {
  const value = Number.parseFloat(length);
  const unit = /^[-+\d.]+([a-z%]+)/.exec(length)?.[1] ?? "px";
  return value * (PIXELS[unit] ?? 1);
}

function keptOf(attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let kept: Record<string, string> | undefined;
  for (const name of KEPT_ATTRIBUTES) {
    const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    if (value !== undefined) (kept ??= {})[name] = value;
  }
  return kept ?? NO_ATTRIBUTES;
}

/** What looks like the beginning of a tag. */
function tagsIn(part: string): number {
  let count = 0;
  for (let at = part.indexOf("<"); at >= 0; at = part.indexOf("<", at + 1)) count += 1;
  return count;
}

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
