// Reads an HTML page into a small tree: only what a reader would see, bounded whatever the page does.
import type { Pace } from "../files/pace.js";

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
const HIDDEN_STYLE =
  /(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)|font-size\s*:\s*0)/i;

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
  if (UNSEEN.has(name) || "hidden" in attributes || attributes["aria-hidden"] === "true") return true;
  return HIDDEN_STYLE.test((attributes["style"] ?? "").slice(0, 1_000));
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
