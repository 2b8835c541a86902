// Makes a fetched page into the answer of `web_fetch`: the part that is asked for, as readable text.
import type { PolicyResponse } from "../../capabilities/fetch.js";
import { Pace } from "../files/pace.js";
import type { ToolAnswer, ToolPowers } from "../tool.js";
import { bodyType, decodeBody } from "./decode-body.js";
import { indentedJson } from "./indented-json.js";
import { mainContent } from "./main-content.js";
import { toMarkdown } from "./markdown.js";
import { cutBefore, partOf, plainWords, shownAddress } from "./markdown-text.js";
import { readPage } from "./page-tree.js";

/** Which part of the content is wanted, in characters. */
interface Part {
  readonly start?: number;
  readonly max_length?: number;
}

/** About 5,000 tokens. */
const DEFAULT_LENGTH = 20_000;
const HTML: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);
const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json$/;
const TEXT_TYPE = /^(?:text\/[\w.+-]+|application\/(?:[\w.+-]*(?:xml|yaml|javascript|toml|x-ndjson|sql|graphql|rtf)))$/;

/** What was made of an answer. */
interface Readable {
  readonly format: "markdown" | "text" | "json";
  readonly title: string;
  readonly content: string;
  readonly cut: boolean;
}

/** The answer for a response; `failed` for one that is an error or no text. */
export async function pageAnswer(part: Part, response: PolicyResponse, powers: ToolPowers): Promise<ToolAnswer> {
  const { status, url } = response;
  if (status < 200 || status > 299) return { failed: `Fetch error: ${url} answered with status ${status}.` };
  const { mimeType } = bodyType(response.headers["content-type"]);
  const readable = await read(response, powers);
  if (readable === undefined) {
    const words = `is of the type ${mimeType} (${response.body.length} bytes)`;
    return { failed: `Fetch error: ${url} ${words}; only HTML, text and JSON can be read.` };
  }
  const { title, format, cut, content: whole } = readable;
  const { start: wanted = 0, max_length: length = DEFAULT_LENGTH } = part;
  const marked = format === "markdown";
  const start = marked ? cutBefore(whole, wanted) : wanted;
  if (start > 0 && start >= whole.length)
    return { failed: `The content of ${url} has ${whole.length} characters; start ${start} is behind its end.` };
  const end = partEnd(whole, start, { length, marked });
  const content = marked ? partOf(whole, start, end) : whole.slice(start, end);
  const next = end < whole.length ? { next: end } : {};
  const about = { url, status, mimeType, format, ...(title === "" ? {} : { title }) };
  return {
    structured: { ...about, content, start, totalLength: whole.length, ...next, untrusted: true },
    text: [
      `Page: ${shownAddress(url)}${title === "" ? "" : `\nTitle: ${plainWords(title)}`}`,
      content === "" ? "(no readable text)" : content,
      ...(end < whole.length ? [`[characters ${start} to ${end} of ${whole.length}; continue with start ${end}]`] : []),
      ...(cut ? ["[The page is nested too deeply or too large; the rest of it was left out.]"] : []),
    ].join("\n\n"),
  };
}

async function read({ headers, body, url }: PolicyResponse, powers: ToolPowers): Promise<Readable | undefined> {
  const type = bodyType(headers["content-type"]);
  const { mimeType } = type;
  if (HTML.has(mimeType)) {
    const page = await readPage(decodeBody(body, type), new Pace(powers));
    const content = toMarkdown(mainContent(page.root), baseOf(page.base, url));
    return { format: "markdown", title: page.title, content, cut: page.cut };
  }
  if (JSON_TYPE.test(mimeType))
    return { format: "json", title: "", content: indentedJson(decodeBody(body, type)), cut: false };
  if (!TEXT_TYPE.test(mimeType)) return undefined;
  const content = decodeBody(body, type);
  return content.includes("\0") ? undefined : { format: "text", title: "", content, cut: false };
}

function baseOf(base: string | undefined, url: string): string {
  try {
    return new URL(base ?? "", url).href;
  } catch {
    return url;
  }
}

/** Ends at the end of a line where one is near, and never within a character. */
function partEnd(
  text: string,
  start: number,
  { length, marked }: { readonly length: number; readonly marked: boolean },
): number {
  const most = start + length;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf("\n", most);
  const end = line > start + length * 0.8 ? line : most;
  const whole = /[\uD800-\uDBFF]/.test(text[end - 1] ?? "") ? end - 1 : end;
  const safe = marked ? cutBefore(text, whole) : whole;
  // What is longer than the part cannot be kept whole.
  return safe > start ? safe : whole;
}
