// Makes a fetched page into the answer of `web_fetch`: the part that is asked for, as readable text.
import { beforeItIsCut } from "../../capabilities/known-secrets.js";
import type { PolicyResponse } from "../../capabilities/fetch.js";
import { Pace, type ToolAnswer, type ToolPowers } from "../tool.js";
import { mainContent, toMarkdown } from "./markdown.js";
import { cutBefore, partOf, plainWords, readPage, shownAddress } from "./page-tree.js";

// Finds out what an answer is and turns its bytes into text.

export interface BodyType {
  /** Lower case, without parameters; `application/octet-stream` when the server says nothing. */
  readonly mimeType: string;
  readonly charset: string | undefined;
}

/** As far as browsers look for a declaration. */
const LOOKED_AT = 1_024;
const META_CHARSET = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;
const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

export function bodyType(header: string | string[] | undefined): BodyType {
  const value = (Array.isArray(header) ? header[0] : header)?.slice(0, 500) ?? "";
  const mimeType = /^\s*([\w.+-]+\/[\w.+-]+)/.exec(value)?.[1]?.toLowerCase() ?? "application/octet-stream";
  return { mimeType, charset: /;[ \t]{0,8}charset[ \t]{0,8}=[ \t]{0,8}"?[ \t]{0,8}([\w.:-]{1,40})/i.exec(value)?.[1] };
}

/** By byte order mark, header, declaration in the page, in this order; else UTF-8, and windows-1252 for what is none. */
export function decodeBody(bytes: Uint8Array, { mimeType, charset }: BodyType): string {
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0];
  const declared = mimeType.includes("html") || mimeType.includes("xml") ? declaredIn(bytes) : undefined;
  for (const label of [marked, charset, declared]) {
    const decoder = label === undefined ? undefined : decoderFor(label);
    if (decoder !== undefined) return decoder.decode(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return (decoderFor("windows-1252") ?? new TextDecoder()).decode(bytes);
  }
}

function declaredIn(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, LOOKED_AT));
  const label =
    META_CHARSET.exec(start)?.[1] ?? /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]{1,40})/.exec(start)?.[1];
  // What could be read byte by byte is not UTF-16, whatever it says.
  return label !== undefined && /^utf-?16/i.test(label) ? "utf-8" : label;
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

// Indents JSON for reading, where that does not make much more of it.

/** Characters of JSON that is indented: reading more of it costs too much for what it is worth. */
const MAX_INDENTED = 512 * 1024;
/** Levels of JSON that is indented: each line is as long as it is deep. */
const MAX_NESTING = 64;

/** A number that might be another one once it was read and written again. */
const INEXACT = /\d{16}|\d\.\d{14}|[\d.][eE]|-0/;
const STRING = /"(?:[^"\\]|\\.)*"/gs;

/** The text as it is when it is no JSON, too long, too deep, mostly indentation, or has a number that would not stay as it is. */
export function indentedJson(text: string): string {
  if (text.length > MAX_INDENTED || nestsDeeper(text, MAX_NESTING)) return text;
  if (INEXACT.test(text.replace(STRING, ""))) return text;
  try {
    const indented = JSON.stringify(JSON.parse(text), undefined, 2);
    return indented.length < text.length * 4 + 1_000 ? indented : text;
  } catch {
    return text;
  }
}

function nestsDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}

/** Where the string that begins at `start` has its closing quote. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

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
  const { title, format, cut } = readable;
  const whole = await beforeItIsCut(readable.content);
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
