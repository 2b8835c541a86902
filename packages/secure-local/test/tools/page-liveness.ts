// Asks two parsers of Markdown what is live in a text: links, images, HTML and headings, and where they lead.
import { Parser } from "commonmark";
import MarkdownIt from "markdown-it";

const gfm = new MarkdownIt({ html: true, linkify: true });
// Neither CommonMark nor GitHub knows an address without its scheme but those that begin with www.
gfm.linkify.add("//", null);
const commonMark = new Parser();

/** Each live thing with its target, by CommonMark and by what GitHub adds to it. */
export function liveIn(markdown: string): string[] {
  return [...byCommonMark(markdown), ...byGfm(markdown)];
}

function byCommonMark(markdown: string): string[] {
  const found: string[] = [];
  const walker = commonMark.parse(markdown).walker();
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { type, destination, literal } = step.node;
    if (!step.entering) continue;
    if (type === "link" || type === "image") found.push(`${type} ${destination}`);
    if (type === "html_block" || type === "html_inline") found.push(`html ${literal}`);
    if (type === "heading") found.push("heading");
  }
  return found;
}

function byGfm(markdown: string): string[] {
  const found: string[] = [];
  for (const token of gfm.parse(markdown, {}).flatMap((block) => [block, ...(block.children ?? [])])) {
    if (token.type === "link_open") found.push(`link ${token.attrGet("href")}`);
    if (token.type === "image") found.push(`image ${token.attrGet("src")}`);
    if (token.type.startsWith("html_")) found.push(`html ${token.content}`);
    if (token.type === "heading_open") found.push("heading");
  }
  return found;
}

/** What each reader sees of a text, without spaces. */
export function lettersIn(markdown: string): string {
  const text: string[] = [];
  const walker = commonMark.parse(markdown).walker();
  for (let step = walker.next(); step !== null; step = walker.next())
    if (step.entering && step.node.literal !== null) text.push(step.node.literal);
  return text.join("").replace(/\s/g, "");
}

const entities = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
const lines = (text: string): string => entities(text).replace(/\n/g, "<br>");
const cut = (text: string, each: number): string =>
  [...(text.match(new RegExp(`[\\s\\S]{1,${each}}`, "g")) ?? [])].map((part) => `<span>${lines(part)}</span>`).join("");

/** Pages whose words are the text and which have no live thing of their own; what they are, and the page. */
export const FRAMES: Readonly<Record<string, (text: string) => string>> = {
  paragraph: (text) => `<p>${entities(text)}</p>`,
  lines: (text) => `<p>words<br>${lines(text)}</p>`,
  "letters each in an element": (text) => cut(text, 1),
  "words in pieces": (text) => cut(text, 3),
  "list item": (text) => `<ul><li>${lines(text)}<li>${entities(text)}</ul>`,
  quote: (text) => `<blockquote><ol><li>${lines(text)}</ol></blockquote>`,
  "table of data": (text) => `<table><tr><th>a<th>b<tr><td>${lines(text)}<td>${lines(text)}</table>`,
  "table of places": (text) => `<table><tr><td>${lines(text)}</table>`,
  "heading in a table": (text) => `<table><tr><td><h2>${lines(text)}</h2>words</table>`,
  emphasis: (text) => `<p><b>${lines(text)}</b><i>${entities(text)}</i><del>${entities(text)}</del></p>`,
  code: (text) => `<p>words <code>${lines(text)}</code> words <kbd>${entities(text)}</kbd></p>`,
  "code with a block in it": (text) => `<code>${lines(text)}<p>${lines(text)}</p>${entities(text)}</code>`,
  "preformatted code": (text) => `<pre><code>${entities(text)}</code></pre>`,
  "preformatted in a list": (text) => `<ul><li><pre>${entities(text)}</pre><li>${entities(text)}</ul>`,
  "preformatted in a table": (text) => `<table><tr><td><pre>${entities(text)}</pre><td>x<tr><td>y</table>`,
  "image's words": (text) => `<p>see <img alt="${entities(text)}"> there</p>`,
  "link to nowhere": (text) => `<p><a href="javascript:x">${lines(text)}</a><a href="#top">${entities(text)}</a></p>`,
  "raw text": (text) => `<xmp>${text.replace(/<\/xmp/gi, "")}</xmp>`,
};
