// Reads a file of comma-separated values from beginning to end and says how far it is.
import type { OpenFile } from "../../capabilities/files/files.js";
import type { CellValue, TableColumn } from "../../capabilities/databases/databases.js";
import type { ToolPowers } from "../tool.js";
import { CsvError, CsvParser, detectDelimiter } from "./csv-parser.js";
import { cellValue, columnNames, columnTypes } from "./table-shape.js";

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
