// Fills a new table from a CSV file for `import_csv`.
import type { ToolAnswer, ToolPowers } from "../tool.js";
import { CsvError, CsvSource, tableName } from "./csv-source.js";

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
