// Writes a page's tree as Markdown, walking it with a stack of its own.
import {
  linkTarget,
  linkWords,
  type PageElement,
  type PageNode,
  plainLines,
  plainWords,
  TAIL,
  wordsOf,
} from "./page-tree.js";

// Writes Markdown piece by piece: blocks, prefixes of quotes and lists, inline text, code and tables.

const SPACES = /[ \t\r\n\f\v]+/g;
/** What `SPACES` would change. */
const WIDE_SPACE = /[\t\r\n\f\v]| {2}/;
/** Quotes and lists within each other; deeper ones are shown at this depth. */
const MAX_PREFIXES = 12;
/** Characters of a link: longer ones are parts of the page that lead somewhere, shown as what they are. */
const MAX_LINK_TEXT = 10_000;
/** Backticks in a row in code: with more it is shown as words, since what is around it would be as long. */
const MAX_RUN = 100;
/** Wider tables nobody reads. */
const MAX_COLUMNS = 40;

interface Table {
  readonly rows: string[][];
  /** What was written before the table, kept while cells are written. */
  readonly outer: string[];
}

/** Every method that opens something returns what closes it. */
class MarkdownWriter {
  readonly #blocks: string[] = [];
  /** The text of the block under way, none of them empty. In pieces: pages put a hundred thousand links into one. */
  #pieces: string[] = [];
  readonly #prefixes: { first: string; rest: string; used: boolean }[] = [];
  readonly #lists: { number: number | undefined }[] = [];
  readonly #tables: Table[] = [];
  /** What is open of each kind: a link in a link, bold in bold mean nothing. */
  readonly #wraps = new Set<string>();
  /** The last words as the page has them, and how many pieces there were with them. */
  #tail = "";
  #tailAt = 0;
  #preformatted = 0;
  #language = "";
  #loose = true;

  text(text: string): void {
    if (this.#preformatted > 0) return this.#push(text);
    const words = WIDE_SPACE.test(text) ? text.replace(SPACES, " ") : text;
    // Behind a mark the words in it do not count, and the mark does.
    const tail = this.#pieces.length === this.#tailAt ? this.#tail : (this.#pieces.at(-1)?.at(-1) ?? "");
    this.#words(plainWords(words, tail));
    this.#tail = (tail + words).slice(-TAIL);
    this.#tailAt = this.#pieces.length;
  }

  /** Words that are Markdown already. */
  #words(plain: string): void {
    const last = this.#pieces.at(-1)?.at(-1) ?? " ";
    const piece = plain.startsWith(" ") && (last === " " || last === "\n") ? plain.slice(1) : plain;
    // What follows a bracket of the text must not become its link.
    this.#push(last === "]" && /^[(:[]/.test(piece) ? `\\${piece}` : piece);
  }

  #push(piece: string): void {
    if (piece !== "") this.#pieces.push(piece);
  }

  block(): () => void {
    this.#flush();
    return () => this.#flush();
  }

  heading(level: number): () => void {
    this.#flush();
    return () => {
      const title = this.#take().replaceAll("\n", " ").trim();
      if (title !== "") this.#pieces.push(this.#tables.length > 0 ? title : `${"#".repeat(level)} ${title}`);
      this.#flush(true);
    };
  }

  lineBreak(): void {
    this.#pieces.push(this.#tables.length > 0 ? " " : "\n");
  }

  rule(): void {
    this.#flush();
    if (this.#tables.length === 0) this.#emit("---");
  }

  wrap(mark: string): () => void {
    return this.#inline(mark, (inner) => `${mark}${inner}${mark}`);
  }

  link(href: string | undefined): () => void {
    if (href === undefined) return () => undefined;
    return this.#inline("link", (inner) => linked(inner, href));
  }

  code(language: string): () => void {
    if (this.#preformatted > 0) {
      this.#language ||= language;
      return () => undefined;
    }
    return this.#inline("code", (text) => {
      const inner = wordsOf(text).replace(/\n/g, " ");
      const run = longestRun(inner);
      if (run > MAX_RUN) return text;
      const fence = "`".repeat(run + 1);
      return inner.includes("`") ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
    });
  }

  preformatted(language: string): () => void {
    if (this.#tables.length > 0) return this.code("");
    if (this.#preformatted === 0) {
      this.#flush();
      this.#language = language;
    }
    this.#preformatted += 1;
    return () => {
      this.#preformatted -= 1;
      if (this.#preformatted > 0) return;
      const code = this.#take().replace(/\r\n?/g, "\n").replace(/^\n/, "").trimEnd();
      const run = longestRun(code);
      const fence = "`".repeat(Math.max(3, run + 1));
      if (run > MAX_RUN) this.#emit(plainLines(plainWords(code)));
      else if (code !== "") this.#emit(`${fence}${this.#language}\n${code}\n${fence}`);
    };
  }

  quote(): () => void {
    return this.#prefixed("> ", "> ");
  }

  list(start: number | undefined): () => void {
    this.#flush();
    this.#lists.push({ number: start });
    return () => {
      this.#flush();
      this.#lists.pop();
      if (this.#lists.length === 0) this.#loose = true;
    };
  }

  item(): () => void {
    const list = this.#lists.at(-1);
    const mark = list?.number === undefined ? "- " : `${list.number++}. `;
    const close = this.#prefixed(mark, " ".repeat(mark.length));
    this.#loose = false;
    return close;
  }

  table(): () => void {
    this.#flush();
    this.#tables.push({ rows: [], outer: this.#pieces });
    this.#pieces = [];
    return () => {
      const { rows, outer } = this.#tables.pop() as Table;
      const stray = plainLines(this.#take().replace(SPACES, " ").trim());
      this.#pieces = outer;
      const inner = this.#tables.length > 0;
      for (const text of [stray, tableText(rows, inner)]) {
        if (text === "") continue;
        if (inner) this.#words(` ${text} `);
        else this.#emit(text);
      }
    };
  }

  row(): () => void {
    this.#tables.at(-1)?.rows.push([]);
    return () => undefined;
  }

  cell(): () => void {
    const table = this.#tables.at(-1);
    if (table === undefined) return this.block();
    const before = this.#pieces;
    this.#pieces = [];
    return () => {
      const text = this.#take().replace(SPACES, " ").trim();
      this.#pieces = before;
      if (table.rows.length === 0) table.rows.push([]);
      const row = table.rows.at(-1) as string[];
      if (row.length < MAX_COLUMNS) row.push(text);
    };
  }

  finish(): string {
    this.#flush();
    return this.#blocks.join("");
  }

  #inline(kind: string, wrapped: (inner: string) => string): () => void {
    if (this.#wraps.has(kind)) return () => undefined;
    this.#wraps.add(kind);
    const { pieces, blocks, at } = { pieces: this.#pieces, blocks: this.#blocks.length, at: this.#pieces.length };
    return () => {
      this.#wraps.delete(kind);
      // A block inside ended the one it began in: then what follows that is wrapped.
      const same = this.#pieces === pieces && this.#blocks.length === blocks;
      const text = this.#cutFrom(same ? at : 0);
      const inner = text.trim();
      if (kind === "link") this.#noImage();
      if (inner === "" || this.#preformatted > 0) return this.#push(text);
      if (text.startsWith(" ")) this.#pieces.push(" ");
      this.#pieces.push(wrapped(inner));
      if (text.endsWith(" ")) this.#pieces.push(" ");
      // What follows stands behind the mark, and not behind the words in it.
      this.#tailAt = -1;
    };
  }

  /** An exclamation mark before a link would make an image of it. */
  #noImage(): void {
    const last = this.#pieces.at(-1);
    if (last?.endsWith("!")) this.#pieces[this.#pieces.length - 1] = `${last.slice(0, -1)}\\!`;
  }

  /** What has been written of the block under way, which is empty then. */
  #take(): string {
    this.#tailAt = -1;
    return this.#cutFrom(0);
  }

  /** The array stays the same: who opened something knows by it whether that is still open. */
  #cutFrom(at: number): string {
    const pieces = this.#pieces;
    const text = pieces.length - at === 1 ? (pieces[at] as string) : pieces.slice(at).join("");
    pieces.length = at;
    return text;
  }

  #prefixed(first: string, rest: string): () => void {
    this.#flush();
    const deep = this.#prefixes.length >= MAX_PREFIXES || this.#tables.length > 0;
    if (!deep) this.#prefixes.push({ first, rest, used: false });
    return () => {
      this.#flush();
      if (!deep) this.#prefixes.pop();
    };
  }

  /** In a cell and in preformatted text no block can begin. */
  #flush(heading = false): void {
    if (this.#preformatted > 0) {
      if (this.#pieces.length > 0 && !this.#pieces.at(-1)?.endsWith("\n")) this.#pieces.push("\n");
    } else if (this.#tables.length > 0) {
      if (this.#pieces.length > 0) this.#pieces.push(" ");
    } else if (this.#pieces.length > 0) {
      const text = this.#take()
        .replace(/\n{3,}/g, "\n\n")
        .trim();
      if (text !== "") this.#emit(heading ? text : plainLines(text));
    }
  }

  #emit(text: string): void {
    let [first, rest] = ["", ""];
    for (const prefix of this.#prefixes) {
      first += prefix.used ? prefix.rest : prefix.first;
      rest += prefix.rest;
      prefix.used = true;
    }
    const gap = this.#blocks.length === 0 ? "" : this.#loose ? "\n\n" : "\n";
    const prefixed = (line: string, at: number): string => ((at === 0 ? first : rest) + line).trimEnd();
    this.#blocks.push(gap + (text.includes("\n") ? text.split("\n").map(prefixed).join("\n") : prefixed(text, 0)));
  }
}

function linked(text: string, href: string): string {
  if (text.length > MAX_LINK_TEXT) return text;
  return `[${linkWords(text)}](${linkTarget(href)})`;
}

function longestRun(code: string): number {
  let longest = 0;
  for (let from = code.indexOf("`"); from >= 0;) {
    let end = from + 1;
    while (code[end] === "`") end += 1;
    longest = Math.max(longest, end - from);
    from = code.indexOf("`", end);
  }
  return longest;
}

/** An element being written: the next child, and what ends it. */
interface Step {
  readonly element: PageElement;
  next: number;
  readonly end: () => void;
}

const HEADINGS: ReadonlyMap<string, number> = new Map([1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, level]));
const BLOCKS: ReadonlySet<string> = new Set(
  "address article aside body center dd details div dl dt fieldset figcaption figure footer form header hgroup legend main nav p section summary caption".split(
    " ",
  ),
);
const EMPHASIS: ReadonlyMap<string, string> = new Map([
  ["b", "**"],
  ["strong", "**"],
  ["i", "*"],
  ["em", "*"],
  ["del", "~~"],
  ["s", "~~"],
]);
const MAX_URL = 2_000;
/** Links that are resolved; further ones are shown as their text. Pages of 2 MiB that somebody reads have some thousands. */
const MAX_LINKS = 20_000;

/** Where a link of the page leads; undefined for what is shown as text. */
type Resolve = (href: string | undefined) => string | undefined;

/** `base`: what relative links are resolved by; only http(s) and mail links are kept as links. */
export function toMarkdown(root: PageElement, base: string): string {
  const out = new MarkdownWriter();
  let links = 0;
  const resolve: Resolve = (href) => (++links > MAX_LINKS ? undefined : absolute(href, base));
  const above: Step[] = [];
  let step: Step | undefined = begin(root, out, resolve);
  while (step !== undefined) {
    const child: PageNode | undefined = step.element.children[step.next];
    step.next += 1;
    if (child === undefined) {
      step.end();
      step = above.pop();
    } else if (typeof child === "string") out.text(child);
    else {
      above.push(step);
      step = begin(child, out, resolve);
    }
  }
  return out.finish();
}

function begin(element: PageElement, out: MarkdownWriter, resolve: Resolve): Step {
  return { element, next: 0, end: opened(element, out, resolve) };
}

const NOTHING = (): void => undefined;

function opened({ name, attributes }: PageElement, out: MarkdownWriter, resolve: Resolve): () => void {
  const level = HEADINGS.get(name);
  if (level !== undefined) return out.heading(level);
  const mark = EMPHASIS.get(name);
  if (mark !== undefined) return out.wrap(mark);
  if (BLOCKS.has(name)) return out.block();
  switch (name) {
    case "img":
      return shownImage(attributes["alt"], out);
    case "a":
      return out.link(resolve(attributes["href"]));
    case "pre":
      return out.preformatted(language(attributes["class"]));
    case "code":
    case "kbd":
    case "samp":
    case "tt":
      return out.code(language(attributes["class"]));
    case "ol":
      return out.list(wholeNumber(attributes["start"]));
    default:
      return OPENERS.get(name)?.(out) ?? NOTHING;
  }
}

const OPENERS: ReadonlyMap<string, (out: MarkdownWriter) => (() => void) | void> = new Map([
  ["br", (out) => out.lineBreak()],
  ["hr", (out) => out.rule()],
  ["blockquote", (out) => out.quote()],
  ["ul", (out) => out.list(undefined)],
  ["menu", (out) => out.list(undefined)],
  ["li", (out) => out.item()],
  ["table", (out) => out.table()],
  ["tr", (out) => out.row()],
  ["td", (out) => out.cell()],
  ["th", (out) => out.cell()],
] satisfies [string, (out: MarkdownWriter) => (() => void) | void][]);

/** What an image says to those who do not see it. */
function shownImage(alt: string | undefined, out: MarkdownWriter): () => void {
  const words = alt?.replace(/\s+/g, " ").trim();
  if (words) out.text(`[image: ${words.slice(0, MAX_URL)}]`);
  return NOTHING;
}

function wholeNumber(text: string | undefined): number {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : 1;
}

function language(classes: string | undefined): string {
  return /(?:^|\s)(?:language|lang|highlight-source)-([\w+#.-]{1,30})/.exec((classes ?? "").slice(0, 500))?.[1] ?? "";
}

/** Undefined for what is no link to somewhere else: parts of the page, scripts, unreadable ones. */
function absolute(href: string | undefined, base: string): string | undefined {
  if (href === undefined || href.length > MAX_URL || href.startsWith("#")) return undefined;
  let url: URL;
  try {
    url = new URL(href, base);
  } catch {
    return undefined;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return undefined;
  return url.href;
}

// Chooses the part of a page that it was written for, and drops what surrounds it.

/** Below this share of a page's text a part is no main content, whatever it says of itself. */
const LEAST_SHARE = 0.15;
/** Shorter parts say too little to be all there is. */
const LEAST_TEXT = 200;
const AROUND: ReadonlySet<string> = new Set(["nav", "aside", "footer", "form", "menu"]);
const AROUND_ROLES: ReadonlySet<string> = new Set(["navigation", "banner", "contentinfo", "search", "complementary"]);
/** A list or box of links is a menu when more of it than this is links. */
const MENU_SHARE = 0.9;
const MENU_LINKS = 8;

/** What to show: `main`, else the only `article`, else the whole page; without its menus, and unchanged if nothing is left then. */
export function mainContent(root: PageElement): PageElement {
  const mains: PageElement[] = [];
  const articles: PageElement[] = [];
  forEachElement(root, (element) => {
    const { name, attributes } = element;
    if (name === "main" || attributes["role"] === "main") mains.push(element);
    if (name === "article" || attributes["role"] === "article") articles.push(element);
  });
  const chosen = [mains, articles].find((found) => found.length === 1 && isEnough(found[0] as PageElement, root))?.[0];
  const kept = chosen ?? root;
  dropSurroundings(kept, chosen === undefined);
  return kept;
}

function isEnough({ textLength }: PageElement, root: PageElement): boolean {
  return textLength >= LEAST_SHARE * root.textLength || textLength >= LEAST_TEXT * 5;
}

/** Without recursion: pages nest as they like. */
function forEachElement(root: PageElement, visit: (element: PageElement) => void): void {
  const waiting: PageElement[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visit(node);
    for (const child of node.children) if (typeof child !== "string") waiting.push(child);
  }
}

function dropSurroundings(kept: PageElement, wholePage: boolean): void {
  forEachElement(kept, ({ children }) => {
    let staying = 0;
    for (const child of children) if (!isAround(child, kept, wholePage)) children[staying++] = child;
    children.length = staying;
  });
}

function isAround(node: PageNode, { textLength: all }: PageElement, wholePage: boolean): boolean {
  if (typeof node === "string") return false;
  const { name, attributes, textLength, linkLength } = node;
  // Forms of some frameworks hold the whole page, and headers that of an article.
  if (textLength > all / 2) return false;
  if (AROUND.has(name) || AROUND_ROLES.has(attributes["role"] ?? "")) return true;
  if (!wholePage) return false;
  const menu = name === "ul" && linkLength > MENU_SHARE * textLength && node.children.length >= MENU_LINKS;
  return menu || (name === "header" && linkLength > textLength / 2);
}

// Writes rows of cells as a Markdown table; what is no table of data as lines.

/** `inner`: within another table, where only text has room. */
function tableText(rows: readonly (readonly string[])[], inner: boolean): string {
  const filled = rows.filter((row) => row.some((cell) => cell !== ""));
  const columns = filled.reduce((most, row) => Math.max(most, row.length), 0);
  if (inner) return filled.map((row) => row.filter((cell) => cell !== "").join(", ")).join("; ");
  // One column, or one row: the table is there for its place on the page.
  if (columns < 2 || filled.length < 2)
    return plainLines(filled.map((row) => row.filter((cell) => cell !== "").join("  \n")).join("\n\n"));
  const [head = [], ...body] = filled;
  // Only the head has to be complete: thousands of short rows under a wide one would make much of little.
  const full = Array.from({ length: columns }, (_, index) => head[index] ?? "");
  return [line(full), line(full.map(() => "---")), ...body.map(line)].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
