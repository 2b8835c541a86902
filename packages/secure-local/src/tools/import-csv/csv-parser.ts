// Reads comma-separated values (RFC 4180) piece by piece: quotes may begin in one piece and end in another.

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
