// Writes Markdown piece by piece: blocks, prefixes of quotes and lists, inline text, code and tables.
import { tableText } from "./markdown-table.js";
import { linkTarget, linkWords, plainLines, plainWords, TAIL, wordsOf } from "./markdown-text.js";

const SPACES = /[ \t\r\n\f\v]+/g;
/** Quotes and lists within each other; deeper ones are shown at this depth. */
const MAX_PREFIXES = 12;
/** Characters of a link: longer ones are parts of the page that lead somewhere, shown as what they are. */
const MAX_LINK_TEXT = 10_000;
/** Wider tables nobody reads. */
const MAX_COLUMNS = 40;

interface Table {
  readonly rows: string[][];
  /** What was written before the table, kept while cells are written. */
  readonly outer: string[];
}

/** Every method that opens something returns what closes it. */
export class MarkdownWriter {
  readonly #blocks: string[] = [];
  /** The text of the block under way. In pieces: pages put a hundred thousand links into one. */
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
    if (this.#preformatted > 0) {
      this.#pieces.push(text);
      return;
    }
    const words = text.replace(SPACES, " ");
    const tail = this.#pieces.length === this.#tailAt ? this.#tail : "";
    this.#words(plainWords(words, tail));
    this.#tail = (tail + words).slice(-TAIL);
    this.#tailAt = this.#pieces.length;
  }

  /** Words that are Markdown already. */
  #words(plain: string): void {
    const last = this.#pieces.findLast((piece) => piece !== "")?.at(-1) ?? " ";
    const piece = plain.startsWith(" ") && (last === " " || last === "\n") ? plain.slice(1) : plain;
    // What follows a bracket of the text must not become its link.
    if (piece !== "") this.#pieces.push(last === "]" && /^[(:[]/.test(piece) ? `\\${piece}` : piece);
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
      const fence = "`".repeat(longestRun(inner) + 1);
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
      const fence = "`".repeat(Math.max(3, longestRun(code) + 1));
      if (code !== "") this.#emit(`${fence}${this.#language}\n${code}\n${fence}`);
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
      const text = this.#pieces.splice(same ? at : 0).join("");
      const inner = text.trim();
      if (kind === "link") this.#noImage();
      if (inner === "" || this.#preformatted > 0) this.#pieces.push(text);
      else this.#pieces.push(text.startsWith(" ") ? " " : "", wrapped(inner), text.endsWith(" ") ? " " : "");
    };
  }

  /** An exclamation mark before a link would make an image of it. */
  #noImage(): void {
    const at = this.#pieces.findLastIndex((piece) => piece !== "");
    const last = this.#pieces[at];
    if (last?.endsWith("!")) this.#pieces[at] = `${last.slice(0, -1)}\\!`;
  }

  /** What has been written of the block under way, which is empty then. */
  #take(): string {
    return this.#pieces.splice(0).join("");
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
    } else {
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
    this.#blocks.push(
      gap +
        text
          .split("\n")
          .map((line, at) => ((at === 0 ? first : rest) + line).trimEnd())
          .join("\n"),
    );
  }
}

function linked(text: string, href: string): string {
  if (text.length > MAX_LINK_TEXT) return text;
  return `[${linkWords(text)}](${linkTarget(href)})`;
}

function longestRun(code: string): number {
  let longest = 0;
  for (const [run] of code.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
