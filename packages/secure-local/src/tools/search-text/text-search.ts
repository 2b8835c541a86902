// One search of `search_text` through the lines of files, until everything is searched or the answer is full.
import { beforeItIsCut } from "../../capabilities/known-secrets.js";
import { FileError, globTest, shownName } from "../../capabilities/files/files.js";
import { decodeText, fileAnswer } from "../files/file-schemas.js";
import { Pace, type ToolAnswer, type ToolPowers, visit } from "../tool.js";

/** What is looked for, and where. */
interface Wanted {
  readonly query: string;
  readonly path?: string;
  readonly include?: string;
  readonly regex?: boolean;
  readonly case_sensitive?: boolean;
  readonly limit?: number;
}

const DEFAULT_RESULTS = 100;
/** Larger files are data, not text for people. */
const MAX_FILE_BYTES: number = 2 * 1024 * 1024;
const MAX_BYTES: number = 256 * 1024 * 1024;
/** Milliseconds; what was found until then is the answer. */
const TIME_LIMIT_MS = 20_000;
const SHOWN_OF_LINE = 400;

interface Match {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

/** The answer; `failed` for a glob or an expression that cannot be used, and for files that cannot be reached. */
export async function searchContents(wanted: Wanted, powers: ToolPowers): Promise<ToolAnswer> {
  const { query, regex = false, case_sensitive: exact = true, include = "**" } = wanted;
  const fits = globTest(include);
  if (typeof fits === "string") return { failed: `The pattern of include cannot be used: ${fits}.` };
  const test = regex ? await expressionTest(query, exact) : literalTest(query, exact);
  if (typeof test === "string") return { failed: `The regular expression cannot be used: ${test}.` };
  return fileAnswer(async () =>
    tell(await new Search(powers, test, wanted.limit ?? DEFAULT_RESULTS).run(wanted.path, fits)),
  );
}

/** One search under way. */
class Search {
  readonly #powers: ToolPowers;
  readonly #test: LineTest;
  readonly #limit: number;
  readonly #pace: Pace;
  readonly matches: Match[] = [];
  files = 0;
  truncated = false;
  #bytes = 0;

  constructor(powers: ToolPowers, test: LineTest, limit: number) {
    this.#powers = powers;
    this.#test = test;
    this.#limit = limit;
    this.#pace = new Pace(powers);
  }

  async run(path: string | undefined, fits: (path: string) => boolean): Promise<this> {
    const { files, signal } = this.#powers;
    const only = path === undefined ? undefined : await files.info(path);
    if (only?.kind === "file") {
      await this.#file(only.path);
      return this;
    }
    for await (const { entry, relative } of visit(files, path, signal)) {
      await this.#step();
      if (this.truncated) break;
      if (entry.kind === "file" && entry.size <= MAX_FILE_BYTES && fits(relative)) await this.#file(entry.path);
    }
    return this;
  }

  async #file(path: string): Promise<void> {
    const { files, signal } = this.#powers;
    const read = await files.read(path, { maxBytes: MAX_FILE_BYTES, signal }).catch(passedOver);
    if (read === undefined) return;
    this.files += 1;
    this.#bytes += read.size;
    const decoded = decodeText(read.bytes);
    if (decoded === undefined) return;
    let number = 0;
    for (const line of decoded.text.split("\n")) {
      number += 1;
      if (number % LINES_A_STEP === 0 || line.length > LONG_LINE) await this.#step();
      const at = this.#test(line);
      if (at >= 0 && !this.truncated)
        this.#add({ path: read.path, line: number, column: at + 1, text: await shown(line, at) });
      if (this.truncated) return;
    }
  }

  #add(match: Match): void {
    if (this.matches.length === this.#limit) this.truncated = true;
    else this.matches.push(match);
  }

  async #step(): Promise<void> {
    await this.#pace.step(this.files, () => `${this.files} files searched, ${this.matches.length} lines found`);
    if (this.#bytes > MAX_BYTES || this.#pace.elapsedMs > TIME_LIMIT_MS) this.truncated = true;
  }
}

const LINES_A_STEP = 64;
/** An expression can take tens of milliseconds for such a line. */
const LONG_LINE = 1_000;

/** What vanished or may not be read is not searched; aborts and faults of ours are no such thing. */
function passedOver(error: unknown): undefined {
  if (error instanceof FileError) return undefined;
  throw error;
}

/** The part of a line around what was found. */
async function shown(line: string, at: number): Promise<string> {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (whole.length <= SHOWN_OF_LINE) return whole;
  const text = await beforeItIsCut(whole);
  const start = Math.max(0, Math.min(at - SHOWN_OF_LINE / 4, text.length - SHOWN_OF_LINE));
  const part = text.slice(start, start + SHOWN_OF_LINE);
  return `${start > 0 ? "... " : ""}${part}${start + SHOWN_OF_LINE < text.length ? " ..." : ""}`;
}

function tell({ matches, files, truncated }: Search): ToolAnswer {
  const lines = matches.map(({ path, line, text }) => `${shownName(path)}:${line}: ${text}`);
  if (lines.length === 0) lines.push(`Not found in ${files} files.`);
  if (truncated) lines.push("[there may be more; narrow the query, include or path]");
  return { structured: { matches, files, truncated }, text: lines.join("\n") };
}

// Finds a text or a regular expression in lines, in time that grows with the line alone.

/** Where it begins in a line, counted from 0; -1 when it is not there. */
export type LineTest = (line: string) => number;

/** Characters of a line an expression is tried on: longer ones are no text for people. */
const TRIED_OF_LINE = 4_000;
/** Steps of a compiled expression: with the length of the line they say how long one try can hold everybody up (0.2 s). */
const MAX_STEPS = 1_000;

export function literalTest(query: string, caseSensitive: boolean): LineTest {
  if (caseSensitive) return (line) => line.indexOf(query);
  const lower = query.toLowerCase();
  return (line) => line.toLowerCase().indexOf(lower);
}

/** RE2: no backtracking, so no pattern takes long. A sentence about what is wrong with a pattern it does not know. */
export async function expressionTest(source: string, caseSensitive: boolean): Promise<LineTest | string> {
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
    if (compiled.programSize() > MAX_STEPS) return "it repeats too much; use smaller counts in {}";
    return (line) => {
      const matcher = compiled.matcher(line.slice(0, TRIED_OF_LINE));
      return matcher.find() ? matcher.start() : -1;
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
