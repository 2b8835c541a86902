// Querying SQLite files: what is answered, what is refused, and that nothing is changed.
import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, utimesSync } from "node:fs";
import { link, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { runTask } from "../../src/capabilities/databases/sql-worker.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { queryDatabase } from "../../src/tools/query-database/query-database.js";
import { powers, wordsOf } from "../tools/powers.js";
import { SQLITE_HONEST } from "./honest-queries.js";
import { CANARY, sampleSqlite } from "./sample-databases.js";
import { SQLITE_ATTACKS } from "./sql-attacks.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import "./plain-wasm.js";

let folder: string;
let file: string;
let databases: PolicyDatabases;
const signal = new AbortController().signal;

const databasesFor = async (entries: string, rest = ""): Promise<PolicyDatabases> => {
  const policy = await parsePolicy(`version: "1.0"\n${rest}databases:\n${entries}`, { file: "policy.yaml" });
  return new PolicyDatabases(() => policy);
};
const digest = (): string => createHash("sha256").update(readFileSync(file)).digest("hex");
const query = (sql: string, limit = 100, database?: string) => databases.query({ sql, limit, signal, database });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sqlite-test-"));
  file = join(folder, "data.db");
  sampleSqlite(file);
  databases = await databasesFor(`  main: { file: "${file}", row_limit: 50, timeout: 5 }\n`);
});
afterAll(async () => {
  databases.close();
  await rm(folder, { recursive: true });
});

describe("SQLite", () => {
  it("refuses attacks and keeps every byte of the file", async () => {
    expect(SQLITE_ATTACKS.length).toBeGreaterThanOrEqual(150);
    const before = digest();
    const through: string[] = [];
    for (const sql of sampled(SQLITE_ATTACKS, 4))
      await query(sql).then(
        () => through.push(sql),
        () => undefined,
      );
    expect(through).toEqual([]);
    expect(digest()).toBe(before);
    expect(existsSync(CANARY)).toBe(false);
  });

  it("says of a change, in front of a query or behind one, that it is a change", async () => {
    for (const verb of [
      "INSERT INTO people",
      "REPLACE INTO people",
      "UPDATE people SET name = 1",
      "DELETE FROM people",
    ])
      for (const sql of [verb, `WITH x AS (SELECT 1) ${verb}`])
        await expect(query(sql), sql).rejects.toThrow(/would change the database|only queries/i);
  });

  it("has a second wall: SQLite itself says what a statement would do", async () => {
    const task = { task: "query", file, explain: true, limit: 1, cellLimit: 9, totalLimit: 99 };
    for (const sql of [
      "DELETE FROM people",
      "CREATE TABLE x (a)",
      "VACUUM",
      "PRAGMA user_version = 7",
      "BEGIN",
      "REINDEX",
    ]) {
      const ended = runTask({ ...task, sql }, { timeoutMs: 5_000, signal });
      await expect(ended, sql).rejects.toThrow("The statement would change the database.");
    }
  });

  it("runs no function that is not on the list of those that calculate, however it is spelt or reached", async () => {
    for (const call of ["sqlite_compileoption_get(1)", "sqlite_source_id()", "fts5_source_id()", "last_insert_rowid()"])
      for (const sql of [
        `SELECT ${call}`,
        `SELECT ${call.replace(/^\w+/, '"$&"').toUpperCase()}`,
        `SELECT 1 FROM people WHERE ${call} IS NULL`,
        `SELECT max(${call}) FROM people`,
      ])
        await expect(query(sql), sql).rejects.toMatchObject({
          code: "denied",
          message: expect.stringMatching("not on the list"),
        });
  });

  it("answers honest queries", { timeout: 60_000 }, async () => {
    expect(SQLITE_HONEST.length).toBeGreaterThanOrEqual(100);
    const refused: string[] = [];
    const one = async (sql: string): Promise<void> => {
      await query(sql).catch((error: unknown) => refused.push(`${sql}: ${String(error)}`));
    };
    // Each starts a program of its own; a long run asks them all.
    const asked = sampled(SQLITE_HONEST, 8);
    for (let at = 0; at < asked.length; at += 2) await Promise.all(asked.slice(at, at + 2).map(one));
    expect(refused).toEqual([]);
  });

  it("writes cells so that nothing is lost or too long", async () => {
    const sql =
      "SELECT id, id, 9007199254740993 AS big, x'00ff' AS bytes, 1e999 AS much, NULL AS none, printf('%.*c', 5000, 'x') AS long FROM people ORDER BY people.id";
    const { columns, rows, truncated } = await query(sql, 1);
    expect(columns).toEqual(["id", "id:1", "big", "bytes", "much", "none", "long"]);
    expect(truncated).toBe(true);
    const [row = []] = rows;
    expect(row.slice(0, 6)).toEqual([1, 1, "9007199254740993", { base64: "AP8=", bytes: 2 }, "Infinity", null]);
    expect(row[6]).toMatch(/^x{2000}… \(5000 characters in all\)$/);
    expect(
      (await query("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n", 1_000)).rows
        .length,
    ).toBe(50);
  });

  it("stops what takes too long, too much, or is cancelled", async () => {
    const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    const hurried = await databasesFor(`  main: { file: "${file}", timeout: 0.5 }\n`);
    await expect(hurried.query({ sql: endless, limit: 1, signal })).rejects.toMatchObject({ code: "timeout" });
    await expect(
      hurried.query({ sql: "SELECT length(zeroblob(900000000) || 'x')", limit: 1, signal }),
    ).rejects.toMatchObject({
      code: expect.stringMatching(/statement|timeout/) as string,
    });
    hurried.close();
    const cancel = new AbortController();
    const running = databases.query({ sql: endless, limit: 1, signal: cancel.signal });
    cancel.abort(new Error("no longer wanted"));
    await expect(running).rejects.toThrow("no longer wanted");
  });

  it("tells the tables and columns", async () => {
    expect(await databases.schema("main", signal)).toMatchObject([
      { name: "adults", kind: "view", columns: [{ name: "id" }, { name: "name" }, { name: "age" }] },
      {
        name: "orders",
        kind: "table",
        columns: [{ name: "id", type: "INTEGER" }, {}, { name: "total", type: "REAL" }, {}],
      },
      { name: "people", kind: "table" },
    ]);
  });

  it("tells the others where a view cannot be used", async () => {
    const broken = join(folder, "broken.db");
    sampleSqlite(broken);
    const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as typeof import("node-sqlite3-wasm");
    const made = new Database(broken);
    made.exec("CREATE VIEW bad AS SELECT load_extension('x'); CREATE VIEW gone AS SELECT * FROM nowhere");
    made.close();
    const odd = await databasesFor(`  main: { file: "${broken}" }\n`);
    expect(await odd.schema("main", signal)).toMatchObject([
      { name: "adults", columns: [{ name: "id" }, {}, {}] },
      { name: "bad", kind: "view" },
      { name: "gone", kind: "view", columns: [] },
      { name: "orders", columns: [{}, {}, {}, {}] },
      { name: "people", columns: [{}, {}, {}] },
    ]);
    odd.close();
  });

  it("opens the file the policy names and no other", async () => {
    const other = join(folder, "other.db");
    await symlink("/etc/passwd", other);
    await link(file, join(folder, "hard.db"));
    await rm(join(folder, "hard.db"));
    const odd = await databasesFor(
      `  one: { file: "${file}" }\n  two: { file: "${other}" }\n  gone: { file: "${folder}/gone.db" }\n`,
    );
    const asked = (database: string | undefined) => odd.query({ sql: "SELECT 1", limit: 1, signal, database });
    await expect(asked(undefined)).rejects.toMatchObject({
      code: "unknown",
      message: expect.stringContaining("one, two, gone") as string,
    });
    await expect(asked("three")).rejects.toMatchObject({ code: "unknown" });
    await expect(asked("two")).rejects.toMatchObject({ code: "denied" });
    await expect(asked("gone")).rejects.toMatchObject({ code: "unreachable" });
    expect((await asked("one")).rows).toEqual([[1]]);
    odd.close();
    const denied = await databasesFor(
      `  one: { file: "${file}" }\n`,
      `filesystem: { denied_paths: ["${folder}/**"] }\n`,
    );
    await expect(denied.query({ sql: "SELECT 1", limit: 1, signal })).rejects.toMatchObject({
      code: "denied",
      rule: expect.stringContaining("denied_paths") as string,
    });
    denied.close();
  });

  it("reads a file with an empty write-ahead log, and says when the log is not empty", async () => {
    const logged = join(folder, "logged.db");
    const bytes = readFileSync(file);
    bytes[18] = bytes[19] = 2;
    await writeFile(logged, bytes);
    const store = await databasesFor(`  log: { file: "${logged}" }\n`);
    expect((await store.query({ sql: "SELECT count(*) FROM people", limit: 1, signal })).rows).toEqual([[3]]);
    await writeFile(`${logged}-wal`, "x");
    await expect(store.query({ sql: "SELECT 1", limit: 1, signal })).rejects.toMatchObject({ code: "busy" });
    store.close();
  });
});

describe("query_database", () => {
  it("answers from a file that stays as it is while it is read, and gives up where it never does", async () => {
    const busy = join(folder, "busy.db");
    await writeFile(busy, readFileSync(file));
    const store = await databasesFor(`  busy: { file: "${busy}" }\n`);
    let time = 1;
    const touching = setInterval(() => utimesSync(busy, time, (time += 1)), 1);
    const asked = store.query({ sql: "SELECT count(*) FROM people", limit: 1, signal });
    await expect(asked).rejects.toMatchObject({ code: "busy", message: expect.stringContaining("keeps writing") });
    clearInterval(touching);
    expect((await store.query({ sql: "SELECT count(*) FROM people", limit: 1, signal })).rows).toEqual([[3]]);
    for (const suffix of ["-wal", "-journal"]) {
      await writeFile(busy + suffix, "x");
      await expect(store.query({ sql: "SELECT 1", limit: 1, signal })).rejects.toMatchObject({
        code: "busy",
        message: expect.stringContaining(suffix),
      });
      await writeFile(busy + suffix, "");
    }
    store.close();
  });

  it("answers with data and a table", async () => {
    const answer = await queryDatabase.run({ sql: "SELECT id, name FROM people WHERE id < 3" }, powers({ databases }));
    expect(answer).toEqual({
      structured: {
        database: "main",
        columns: ["id", "name"],
        rows: [
          [1, "Ada"],
          [2, "Bob"],
        ],
        rowCount: 2,
        truncated: false,
      },
      text: "id | name\n---+-----\n1  | Ada\n2  | Bob\n(2 rows)",
    });
    expect(
      wordsOf(await queryDatabase.run({ sql: "SELECT id FROM people", limit: 1 }, powers({ databases }))),
    ).toContain("there are more");
  });

  it("says what is wrong and which rule refused", async () => {
    expect(await queryDatabase.run({ sql: "DROP TABLE people" }, powers({ databases }))).toEqual({
      failed: "Denied. Only queries are allowed: begin with SELECT, VALUES, WITH or EXPLAIN.",
      rule: "built-in rule: statements only read",
    });
    expect(await queryDatabase.run({ sql: "SELECT * FROM nobody" }, powers({ databases }))).toEqual({
      failed: "Database error: no such table: nobody",
    });
  });
});
