// Reads a file of comma-separated values from beginning to end (its rows, the shape of its table, how far it is) into a
// new table.
import type { CellValue, TableColumn } from "../../capabilities/databases/databases.js";
import type { OpenFile } from "../../capabilities/files/files.js";
import type { ToolAnswer, ToolPowers } from "../tool.js";

/** Characters of one field, and fields of one row (SQLite's own limit). */
const MAX_FIELD = 1_048_576;
const MAX_FIELDS = 2_000;
const DELIMITERS: readonly string[] = [",", ";", "\t", "|"];
const QUOTE = 34;
const LF = 10;
const CR = 13;

/** What is wrong, and in which line. */
export class CsvError extends Error {
  constructor(what: string, line: number) {
    super(`Line ${line}: ${what}.`);
    this.name = "CsvError";
  }
}

/** The character that separates most fields in the first line, outside quotes; a comma where none does. */
export function detectDelimiter(text: string): string {
  const counts = new Map(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let quoted = false;
  for (const char of text) {
    if (char === '"') quoted = !quoted;
    else if (!quoted && (char === "\n" || char === "\r")) break;
    else if (!quoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}

export class CsvParser {
  readonly #delimiter: string;
  #code: number;
  #rows: string[][] = [];
  #row: string[] = [];
  /** What is known of the field under way. */
  #field = "";
  #state: "start" | "plain" | "quoted" | "closed" = "start";
  #afterReturn = false;
  #line = 1;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
    this.#code = delimiter.charCodeAt(0);
  }

  /** The line the last row ended in. */
  get line(): number {
    return this.#line;
  }

  /** Rows that are whole now; empty lines are none. @throws CsvError */
  push(text: string): string[][] {
    this.#rows = [];
    for (let at = 0; at < text.length;) {
      if (this.#state === "quoted") at = this.#inQuotes(text, at);
      else if (this.#state === "closed") at = this.#afterQuotes(text, at);
      else at = this.#outside(text, at);
    }
    return this.#rows;
  }

  /** The rest. @throws CsvError when a quotation mark is not closed */
  end(): string[][] {
    this.#rows = [];
    if (this.#state === "quoted")
      throw new CsvError("a quotation mark is not closed before the end of the file", this.#line);
    if (this.#state !== "start" || this.#row.length > 0) this.#endRow();
    return this.#rows;
  }

  #outside(text: string, from: number): number {
    let at = from;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === LF && this.#afterReturn) {
        this.#afterReturn = false;
        return at + 1;
      }
      this.#afterReturn = false;
      if (code === QUOTE && at === from && this.#state === "start") {
        this.#state = "quoted";
        return at + 1;
      }
      if (code === this.#code || code === LF || code === CR) {
        this.#add(text.slice(from, at));
        this.#separate(code);
        return at + 1;
      }
    }
    this.#add(text.slice(from, at));
    this.#state = "plain";
    return at;
  }

  #inQuotes(text: string, from: number): number {
    const quote = text.indexOf('"', from);
    const to = quote < 0 ? text.length : quote;
    const part = text.slice(from, to);
    this.#add(part);
    for (let at = part.indexOf("\n"); at >= 0; at = part.indexOf("\n", at + 1)) this.#line += 1;
    if (quote >= 0) this.#state = "closed";
    return to + (quote < 0 ? 0 : 1);
  }

  #afterQuotes(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      this.#add('"');
      this.#state = "quoted";
    } else if (code === this.#code || code === LF || code === CR) this.#separate(code);
    else
      throw new CsvError(
        `"${text[at]}" follows a closing quotation mark; expected ${JSON.stringify(this.#delimiter)}`,
        this.#line,
      );
    return at + 1;
  }

  #add(part: string): void {
    this.#field = this.#field === "" ? part : this.#field + part;
    if (this.#field.length > MAX_FIELD)
      throw new CsvError(`a field is longer than ${MAX_FIELD} characters`, this.#line);
  }

  #separate(code: number): void {
    const empty = this.#row.length === 0 && this.#field === "" && this.#state !== "closed";
    if (code === this.#code) this.#endField();
    else {
      if (!empty) this.#endRow();
      this.#state = "start";
      this.#line += 1;
      this.#afterReturn = code === CR;
    }
  }

  #endField(): void {
    if (this.#row.length >= MAX_FIELDS) throw new CsvError(`there are more than ${MAX_FIELDS} fields`, this.#line);
    this.#row.push(this.#field);
    this.#field = "";
    this.#state = "start";
  }

  #endRow(): void {
    this.#endField();
    this.#rows.push(this.#row);
    this.#row = [];
  }
}

const MAX_NAME = 60;
const WHOLE = /^-?(?:0|[1-9]\d{0,15})$/;
const NUMBER = /^-?(?:0|[1-9]\d{0,15})?(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/;

/** Letters, digits and underscores; no two alike. */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set<string>();
  return header.map((title, index) => {
    const plain = plainName(title) || `column_${index + 1}`;
    let name = plain;
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${plain}_${count}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** The name of a table for a file. */
export function tableName(path: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/\.(?:csv|tsv|txt)$/i, "");
  const plain = plainName(file) || "imported";
  return /^(?:sqlite_|\d)/i.test(plain) ? `t_${plain}` : plain;
}

function plainName(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "")
    .slice(0, MAX_NAME);
}

/** What all values of a column are that are not empty. */
export function columnTypes(width: number, rows: readonly (readonly string[])[]): TableColumn["type"][] {
  return Array.from({ length: width }, (_, index) => {
    const values = rows.map((row) => row[index] ?? "").filter((value) => value !== "");
    if (values.length === 0) return "TEXT";
    if (values.every(isWhole)) return "INTEGER";
    return values.every(isNumber) ? "REAL" : "TEXT";
  });
}

/** A value as its column wants it; one that does not fit stays the text it is. */
export function cellValue(text: string, type: TableColumn["type"]): CellValue {
  if (type === "TEXT") return text;
  if (text === "") return null;
  return (type === "INTEGER" ? isWhole(text) : isNumber(text)) ? Number(text) : text;
}

/** Numbers that begin with zeros are numbers of houses and telephones. */
function isWhole(text: string): boolean {
  return WHOLE.test(text) && Number.isSafeInteger(Number(text));
}

function isNumber(text: string): boolean {
  return NUMBER.test(text) && /\d/.test(text) && Number.isFinite(Number(text));
}

/** Bytes read at once: a hundredth of the file within these. */
const LEAST_CHUNK = 16_384;
const MOST_CHUNK = 262_144;
/** Rows looked at to find the types of columns. */
const SAMPLE_ROWS = 1_000;
/** Values sent to the database at once; fewer where a hundredth of the file ends, so that what is reported has been sent. */
const BATCH_VALUES = 20_000;

/** Rows that were read together, and where in the file these bytes begin and end. */
interface RowChunk {
  readonly rows: readonly (readonly string[])[];
  readonly from: number;
  readonly to: number;
}

export class CsvSource {
  columns: readonly TableColumn[] = [];
  rows = 0;
  readonly #file: OpenFile;
  readonly #powers: Pick<ToolPowers, "progress" | "signal">;
  readonly #chunks: AsyncGenerator<string[][]>;
  #sample: RowChunk = { rows: [], from: 0, to: 0 };
  #parser: CsvParser | undefined;
  #position = 0;
  #percent = 0;

  constructor(file: OpenFile, powers: Pick<ToolPowers, "progress" | "signal">) {
    this.#file = file;
    this.#powers = powers;
    this.#chunks = this.#read();
  }

  /** Reads as much as the columns can be told from. @throws CsvError */
  async begin(): Promise<void> {
    const sample: string[][] = [];
    while (sample.length <= SAMPLE_ROWS) {
      const { value, done } = await this.#chunks.next();
      if (done === true) break;
      sample.push(...value);
    }
    const [header, ...rows] = sample;
    if (header === undefined) throw new CsvError("the file is empty", 1);
    this.#sample = { rows, from: 0, to: this.#position };
    const types = columnTypes(header.length, rows.slice(0, SAMPLE_ROWS));
    this.columns = columnNames(header).map((name, index) => ({ name, type: types[index] ?? "TEXT" }));
  }

  /** Values of whole rows. @throws CsvError */
  async *batches(): AsyncGenerator<readonly CellValue[]> {
    let values: CellValue[] = [];
    for (let chunk: RowChunk | undefined = this.#sample; chunk !== undefined; chunk = await this.#nextChunk(chunk.to)) {
      for (const [index, row] of chunk.rows.entries()) {
        this.#add(row, values);
        const percent = this.#percentAfter(chunk, index);
        if (values.length < BATCH_VALUES && percent === this.#percent) continue;
        yield values;
        values = [];
        await this.#report(percent);
      }
    }
    if (values.length > 0) yield values;
    await this.#report(100);
  }

  async #nextChunk(from: number): Promise<RowChunk | undefined> {
    const { done, value: rows } = await this.#chunks.next();
    return done === true ? undefined : { rows, from, to: this.#position };
  }

  /** Hundredths of the file up to the end of a row: rows that were read together are taken to be equally long. */
  #percentAfter({ rows, from, to }: RowChunk, index: number): number {
    const position = from + ((to - from) * (index + 1)) / rows.length;
    return Math.max(this.#percent, Math.min(100, Math.floor((position * 100) / this.#file.size)));
  }

  #add(row: readonly string[], into: CellValue[]): void {
    const { columns } = this;
    if (row.length > columns.length)
      throw new CsvError(
        `a row has ${row.length} fields, and the first line ${columns.length}`,
        this.#parser?.line ?? 0,
      );
    for (const [index, { type }] of columns.entries()) {
      const text = row[index];
      into.push(text === undefined ? null : cellValue(text, type));
    }
    this.rows += 1;
  }

  /** Once for each hundredth in which a row ends. */
  async #report(percent: number): Promise<void> {
    if (percent === this.#percent) return;
    this.#percent = percent;
    const { size } = this.#file;
    await this.#powers.progress(Math.ceil((percent * size) / 100), size, `Imported ${this.rows} rows (${percent} %)`);
  }

  async *#read(): AsyncGenerator<string[][]> {
    const bytes = new Uint8Array(Math.min(Math.max(Math.ceil(this.#file.size / 100), LEAST_CHUNK), MOST_CHUNK));
    let decoder = new TextDecoder("utf-8", { fatal: true });
    for (;;) {
      this.#powers.signal.throwIfAborted();
      const count = await this.#file.read(bytes, this.#position);
      if (count === 0) break;
      if (this.#position === 0) decoder = new TextDecoder(encodingOf(bytes), { fatal: true });
      this.#position += count;
      const text = decoded(() => decoder.decode(bytes.subarray(0, count), { stream: true }));
      this.#parser ??= new CsvParser(detectDelimiter(text));
      yield this.#parser.push(text);
    }
    const rest = decoded(() => decoder.decode());
    if (this.#parser !== undefined) yield [...this.#parser.push(rest), ...this.#parser.end()];
  }
}

function encodingOf(start: Uint8Array): string {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  return start[0] === 0xfe && start[1] === 0xff ? "utf-16be" : "utf-8";
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new CsvError("the file is no valid UTF-8; save it as UTF-8 first", 1);
  }
}

// Fills a new table from a CSV file for `import_csv`.

/** The file, and the table it becomes. */
interface Wanted {
  readonly file: string;
  readonly table?: string;
  readonly database?: string;
  readonly replace?: boolean;
}

/** As much as a copy of the database and the time for it allow. */
const MAX_FILE_BYTES: number = 2 * 1024 * 1024 * 1024;

/** The answer; `failed` for a file that is too long or no CSV. Errors of files and databases are the caller's. */
export async function importFile(wanted: Wanted, powers: ToolPowers): Promise<ToolAnswer> {
  try {
    return await imported(wanted, powers);
  } catch (error) {
    if (error instanceof CsvError) return { failed: `Nothing was imported. ${error.message}` };
    throw error;
  }
}

async function imported(args: Wanted, powers: ToolPowers): Promise<ToolAnswer> {
  const { databases, files, signal } = powers;
  const file = await files.open(args.file);
  try {
    if (file.size > MAX_FILE_BYTES)
      return { failed: `"${args.file}" has ${file.size} bytes; at most ${MAX_FILE_BYTES} are imported.` };
    const source = new CsvSource(file, powers);
    await source.begin();
    const { columns } = source;
    const table = args.table ?? tableName(file.path);
    const { replace = false, database: wanted } = args;
    const made = { database: wanted, table, columns, replace, batches: source.batches(), signal };
    const { database } = await databases.importTable(made);
    const structured = { database, table, file: file.path, rows: source.rows, columns };
    const names = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
    return { structured, text: `Imported ${source.rows} rows into the table "${table}" of ${database} (${names}).` };
  } finally {
    file.close();
  }
}
