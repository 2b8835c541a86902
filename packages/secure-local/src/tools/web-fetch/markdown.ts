// Writes a page's tree as Markdown, walking it with a stack of its own.
import { MarkdownWriter } from "./markdown-writer.js";
import type { PageElement } from "./page-tree.js";

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
  const steps: Step[] = [begin(root, out, resolve)];
  for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
    const child = step.element.children[step.next];
    step.next += 1;
    if (child === undefined) {
      steps.pop();
      step.end();
    } else if (typeof child === "string") out.text(child);
    else steps.push(begin(child, out, resolve));
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
