// The tools of databases: `query_database` runs one statement that reads, `import_csv` fills a new table; how their
// answers and errors are told.
import { type Cell, DatabaseError, type QueryRows } from "../../capabilities/databases/databases.js";
import { fileAnswer, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

/** Runs the work; a DatabaseError becomes a failed answer with its rule, anything else is thrown on. */
async function databaseAnswer(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const { code, message, rule } = error;
    const failed =
      code === "denied" ? `Denied. ${message}` : code === "statement" ? `Database error: ${message}` : message;
    return rule === undefined ? { failed } : { failed, rule };
  }
}

interface QueryDatabaseArguments {
  readonly sql: string;
  readonly limit?: number;
  readonly database?: string;
}

/** As the protocol's own example has it. */
const DEFAULT_ROWS = 100;
const MAX_ROWS = 100_000;
const MAX_SQL = 20_000;

export const queryDatabase: BuiltinTool<QueryDatabaseArguments> = {
  name: "query_database",
  title: "Query a database",
  description:
    "Execute a read-only SQL query (SELECT, VALUES, WITH or EXPLAIN; one statement) against an SQLite file or a PostgreSQL server the policy names. Tables and columns are in the resource db://NAME/schema.",
  category: "data",
  aliases: ["sql", "select", "sqlite", "postgres", "postgresql", "table"],
  input: {
    type: "object",
    properties: {
      sql: { type: "string", minLength: 1, maxLength: MAX_SQL, description: "The SQL query to execute" },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: MAX_ROWS,
        default: DEFAULT_ROWS,
        description: "Maximum rows to return",
      },
      database: {
        type: "string",
        maxLength: 100,
        description: "Name of the database; may be left out when there is only one",
      },
    },
    required: ["sql"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      database: { type: "string" },
      columns: { type: "array", items: { type: "string" } },
      rows: {
        type: "array",
        items: { type: "array" },
        description: "One list of cells a row. Integers beyond 2^53 and decimals are texts, bytes are {base64, bytes}",
      },
      rowCount: { type: "integer" },
      truncated: { type: "boolean", description: "Whether there are more rows" },
    },
    required: ["database", "columns", "rows", "rowCount", "truncated"],
  },
  waits: true,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ["databases"],
  run: ({ sql, limit = DEFAULT_ROWS, database }, { databases, signal }) =>
    databaseAnswer(async () => answer(await databases.query({ sql, limit, database, signal }), limit)),
};

function answer({ database, columns, rows, truncated, mostRows }: QueryRows, limit: number): ToolAnswer {
  const structured = { database, columns, rows, rowCount: rows.length, truncated };
  const further =
    limit < mostRows
      ? "; there are more, raise limit or narrow the query"
      : `; there are more, and the policy gives ${mostRows} at most (row_limit): narrow the query, or go on with OFFSET`;
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}${truncated ? further : ""}`;
  return { structured, text: columns.length === 0 ? `(${count})` : `${textTable(columns, rows)}\n(${count})` };
}

// Writes rows as a table of text that lines up.

/** Cells line up as far as they are no wider. */
const MAX_WIDTH = 80;

function textTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [columns, ...rows].map((row) => row.map(shown));
  const widths = columns.map((_, index) => widthOf(lines, index));
  const [head = [], ...body] = lines.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  return [head, widths.map((width) => "-".repeat(width)).join("-+-"), ...body].join("\n");
}

function shown(cell: Cell): string {
  if (cell === null) return "NULL";
  if (typeof cell === "object") return `<${cell.bytes} bytes>`;
  return String(cell).replace(/[\r\n\t]+/g, " ");
}

/** Found one by one: there may be more rows than a call takes arguments. */
function widthOf(lines: readonly (readonly string[])[], index: number): number {
  return lines.reduce((most, row) => Math.max(most, Math.min(row[index]?.length ?? 0, MAX_WIDTH)), 0);
}

// The tool `import_csv`: a new table of an SQLite database, filled from a file; whole or not at all.

export interface ImportCsvArguments {
  readonly file: string;
  readonly table?: string;
  readonly database?: string;
  readonly replace?: boolean;
}

export const importCsv: BuiltinTool<ImportCsvArguments> = {
  name: "import_csv",
  title: "Import a CSV file",
  description:
    "Import a file of comma-, semicolon-, tab- or bar-separated values (first line: names of columns) as a new table of an SQLite database. The table appears whole at the end, or not at all when something is wrong or the call is cancelled.",
  category: "data",
  aliases: ["load", "spreadsheet", "table", "sqlite", "tsv"],
  input: {
    type: "object",
    properties: {
      file: pathSchema("CSV file to import"),
      table: {
        type: "string",
        pattern: "^(?![sS][qQ][lL][iI][tT][eE]_)[A-Za-z_][A-Za-z0-9_]{0,62}$",
        description: "Name of the new table (default: from the file's name)",
      },
      database: {
        type: "string",
        maxLength: 100,
        description: "Name of the database; may be left out when only one can be filled",
      },
      replace: { type: "boolean", default: false, description: "Replace a table of that name" },
    },
    required: ["file"],
    additionalProperties: false,
  },
  output: {
    type: "object",
    properties: {
      database: { type: "string" },
      table: { type: "string" },
      file: PATH_OUT,
      rows: { type: "integer" },
      columns: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" }, type: { type: "string", enum: ["INTEGER", "REAL", "TEXT"] } },
          required: ["name", "type"],
        },
      },
    },
    required: ["database", "table", "file", "rows", "columns"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  needs: ["readable-files", "fillable-databases"],
  async run(args, powers) {
    const { importFile } = await import("../import-csv/csv-source.js"); // what reads CSV: most sessions import none
    return await databaseAnswer(() => fileAnswer(() => importFile(args, powers)));
  },
};
