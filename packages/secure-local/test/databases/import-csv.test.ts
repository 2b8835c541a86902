// Importing CSV files: what becomes of them, and that nothing is ever half done.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import {
  CsvError,
  CsvParser,
  cellValue,
  columnNames,
  columnTypes,
  detectDelimiter,
  tableName,
} from "../../src/tools/import-csv/csv-source.js";
import { importCsv, type ImportCsvArguments } from "../../src/tools/query-database/query-database.js";
import type { ToolPowers } from "../../src/tools/tool.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { powers, wordsOf } from "../tools/powers.js";
import "./plain-wasm.js";

/** Many batches of them. */
const ROWS = repeated(6_000, 60_000);

const parsed = (text: string, cut: number, delimiter = ","): string[][] => {
  const parser = new CsvParser(delimiter);
  const rows: string[][] = [];
  for (let at = 0; at < text.length; at += cut) rows.push(...parser.push(text.slice(at, at + cut)));
  return [...rows, ...parser.end()];
};

describe("CSV", () => {
  it.each([
    [
      "a,b\n1,2\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "a,b\r\n1,2",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    ["a\rb\r\n\r\nc\n", [["a"], ["b"], ["c"]]],
    [
      '"a","b ""c"""\n"x\r\ny",","',
      [
        ["a", 'b "c"'],
        ["x\r\ny", ","],
      ],
    ],
    [
      ",\n,,\n",
      [
        ["", ""],
        ["", "", ""],
      ],
    ],
    ['""\n', [[""]]],
    ['"",\n', [["", ""]]],
    ['a b"c,d\n', [['a b"c', "d"]]],
    ["a,\n", [["a", ""]]],
    ["", []],
    ["\n\n", []],
  ])("%j, however it is cut", (text, expected) => {
    for (const cut of [1, 2, 3, 1_000]) expect(parsed(text, cut), String(cut)).toEqual(expected);
  });

  it("finds the delimiter, and says in which line something is wrong", () => {
    expect(["a,b", "a;b;c,d", "a\tb", "a|b|c", '"a,b,c";d', "a"].map(detectDelimiter)).toEqual([
      ",",
      ";",
      "\t",
      "|",
      ";",
      ",",
    ]);
    expect(() => parsed('a\n"b"c', 100)).toThrow('Line 2: "c" follows a closing quotation mark');
    expect(() => parsed('a\n"b\n\nc', 1)).toThrow("Line 4: a quotation mark is not closed");
    expect(() => parsed("x".repeat(1_100_000), 65_536)).toThrow(CsvError);
    expect(() => parsed(",".repeat(2_001), 65_536)).toThrow("more than 2000 fields");
  });

  it("names and types columns", () => {
    expect(columnNames(["id", "First name", "first_name", "", "Größe (cm)", '"; DROP', "id"])).toEqual([
      "id",
      "First_name",
      "first_name_2",
      "column_4",
      "Größe_cm",
      "DROP",
      "id_2",
    ]);
    expect(["/a/My data-2.csv", "/2026.csv", "/sqlite_x.csv", "/!.csv"].map(tableName)).toEqual([
      "My_data_2",
      "t_2026",
      "t_sqlite_x",
      "imported",
    ]);
    const rows = [
      ["1", "1.5", "007", "", "x"],
      ["-2", "3", "1", "", "1"],
      ["", "1e3", "", "", ""],
    ];
    expect(columnTypes(5, rows)).toEqual(["INTEGER", "REAL", "TEXT", "TEXT", "TEXT"]);
    expect([
      cellValue("", "INTEGER"),
      cellValue("x", "INTEGER"),
      cellValue("9007199254740993", "INTEGER"),
      cellValue(".5", "REAL"),
    ]).toEqual([null, "x", "9007199254740993", 0.5]);
  });
});

describe("import_csv", () => {
  let folder: string;
  let given: Pick<ToolPowers, "databases" | "files">;
  let close: () => void;
  const signal = new AbortController().signal;
  const rowsOf = async (sql: string) => (await given.databases.query({ sql, limit: 10, signal })).rows;
  const run = async (args: Omit<ImportCsvArguments, "file"> & { file?: string }, more: Partial<ToolPowers> = {}) =>
    await importCsv.run({ file: join(folder, "data.csv"), ...args }, powers({ ...given, ...more }));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "import-test-"));
    const policy = await parsePolicy(
      `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"] }\ndatabases: { main: { file: "${folder}/main.db", read_only: false } }\n`,
      { file: "policy.yaml" },
    );
    const system = new FileSystem(() => policy);
    const databases = new PolicyDatabases(() => policy);
    given = { databases, files: system.files() };
    close = () => (system.close(), databases.close());
  });
  afterAll(async () => {
    close();
    await rm(folder, { recursive: true });
  });

  it("makes a table with its types, reports each hundredth, and leaves other tables alone", async () => {
    const lines = Array.from({ length: ROWS }, (_, index) => `${index},"name, ${index}",${index / 4},`);
    await writeFile(join(folder, "data.csv"), `\ufeffid,Full name,value,empty\r\n${lines.join("\r\n")}\r\n`);
    const reports: number[] = [];
    const progress = (done: number, total?: number): Promise<void> => (
      reports.push((done * 100) / (total ?? 1)),
      Promise.resolve()
    );
    expect(await run({}, { progress })).toMatchObject({
      structured: {
        database: "main",
        table: "data",
        rows: ROWS,
        columns: [
          { name: "id", type: "INTEGER" },
          { name: "Full_name", type: "TEXT" },
          { name: "value", type: "REAL" },
          { name: "empty", type: "TEXT" },
        ],
      },
    });
    expect(reports.map((done) => Math.floor(done))).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(reports).toEqual([...reports].sort((a, b) => a - b));
    expect(reports.at(-1)).toBe(100);
    expect(await rowsOf("SELECT count(*), sum(id), max(value), min(Full_name) FROM data")).toEqual([
      [ROWS, (ROWS * (ROWS - 1)) / 2, (ROWS - 1) / 4, "name, 0"],
    ]);
    expect(wordsOf(await run({}))).toContain('there is a table "data" already; replace: true');
    await writeFile(join(folder, "data.csv"), "a;b\n1;2\n");
    expect(await run({ table: "other" })).toMatchObject({ structured: { rows: 1 } });
    expect(await run({ table: "OTHER", replace: true })).toMatchObject({ structured: { rows: 1 } });
    expect(await rowsOf("SELECT name FROM sqlite_schema ORDER BY 1")).toEqual([["OTHER"], ["data"]]);
  });

  it("leaves nothing of what is wrong or cancelled", async () => {
    const before = await rowsOf("SELECT name FROM sqlite_schema ORDER BY 1");
    const lines = Array.from({ length: ROWS }, (_, index) => `${index},x`).join("\n");
    for (const [rest, expected] of [
      ["\n1,2,3", `Nothing was imported. Line ${ROWS + 2}: a row has 3 fields, and the first line 2.`],
      ['\n"1', `Line ${ROWS + 2}: a quotation mark is not closed`],
    ] as const) {
      await writeFile(join(folder, "data.csv"), `a,b\n${lines}${rest}`);
      expect(wordsOf(await run({ table: "wrong" }))).toContain(expected);
    }
    await writeFile(join(folder, "data.csv"), Buffer.from(`a,b\n${lines}\n\xff`, "latin1"));
    expect(wordsOf(await run({ table: "wrong" }))).toContain("no valid UTF-8");
    await writeFile(join(folder, "data.csv"), "");
    expect(wordsOf(await run({ table: "wrong" }))).toContain("the file is empty");
    await writeFile(join(folder, "data.csv"), `a,b\n${lines}`);
    const cancel = new AbortController();
    const half = (done: number, total = 1): Promise<void> => {
      if (done > total / 2) cancel.abort(new Error("no longer wanted"));
      return Promise.resolve();
    };
    await expect(run({ table: "half" }, { signal: cancel.signal, progress: half })).rejects.toThrow("no longer wanted");
    expect(await rowsOf("SELECT name FROM sqlite_schema ORDER BY 1")).toEqual(before);
    expect((await readdir(folder)).sort()).toEqual(["data.csv", "main.db"]);
  });

  it("removes what a process that was killed has left, and says what it may not do", async () => {
    await writeFile(join(folder, ".mcp-secure-local-copy-999999999-0123456789abcdef.tmp"), "left over");
    await writeFile(join(folder, "data.csv"), "a\n1\n");
    expect(await run({ table: "after" })).toMatchObject({ structured: { rows: 1 } });
    expect((await readdir(folder)).sort()).toEqual(["data.csv", "main.db"]);
    expect(wordsOf(await run({ file: "/etc/passwd" }))).toMatch(/^Denied\./);
    const closed = await parsePolicy(`version: "1.0"\ndatabases: { main: { file: "${folder}/main.db" } }\n`, {
      file: "policy.yaml",
    });
    const databases = new PolicyDatabases(() => closed);
    expect(await run({ database: "main" }, { databases })).toMatchObject({
      rule: expect.stringContaining("databases: main, line 2") as string,
    });
    databases.close();
    const other = await parsePolicy(
      'version: "1.0"\nsecrets: { k: { from: "env:K", hosts: [] } }\ndatabases: { far: { secret: k } }\n',
      { file: "policy.yaml" },
    );
    const far = new PolicyDatabases(() => other);
    expect(wordsOf(await run({ database: "far" }, { databases: far }))).toContain("no SQLite database");
    far.close();
  });
});
