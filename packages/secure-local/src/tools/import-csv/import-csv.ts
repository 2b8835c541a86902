// The tool `import_csv`: a new table of an SQLite database, filled from a file; whole or not at all.
import { databaseAnswer } from "../query-database/query-database.js";
import { fileAnswer, PATH_OUT, pathSchema } from "../files/file-schemas.js";
import type { BuiltinTool } from "../tool.js";

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
    const { importFile } = await import("./import-file.js"); // what reads CSV: most sessions import none
    return await databaseAnswer(() => fileAnswer(() => importFile(args, powers)));
  },
};
