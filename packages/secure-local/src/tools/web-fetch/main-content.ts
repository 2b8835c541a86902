// Chooses the part of a page that it was written for, and drops what surrounds it.
import type { PageElement, PageNode } from "./page-tree.js";

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
  const parts = [...elementsOf(root)];
  const mains = parts.filter(({ name, attributes }) => name === "main" || attributes["role"] === "main");
  const articles = parts.filter(({ name, attributes }) => name === "article" || attributes["role"] === "article");
  const chosen = [mains, articles].find((found) => found.length === 1 && isEnough(found[0] as PageElement, root))?.[0];
  const kept = chosen ?? root;
  dropSurroundings(kept, chosen === undefined);
  return kept;
}

function isEnough({ textLength }: PageElement, root: PageElement): boolean {
  return textLength >= LEAST_SHARE * root.textLength || textLength >= LEAST_TEXT * 5;
}

/** Without recursion: pages nest as they like. */
function* elementsOf(root: PageElement): Iterable<PageElement> {
  const waiting: PageElement[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (const child of node.children) if (typeof child !== "string") waiting.push(child);
  }
}

function dropSurroundings(kept: PageElement, wholePage: boolean): void {
  for (const element of elementsOf(kept)) {
    const { children } = element;
    const staying = children.filter((child) => !isAround(child, kept, wholePage));
    if (staying.length < children.length) children.splice(0, children.length, ...staying);
  }
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
