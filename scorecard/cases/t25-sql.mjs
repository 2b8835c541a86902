// T25: statements through `query_database` on an SQLite file and on a real PostgreSQL server: nothing is changed, nothing reached.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { session, wasDenied, wasRefused, wasServed } from "../support/session.mjs";

/** What only the server's catalogue can tell takes a connection and a look-up, and others use the processors. */
export const goal = { id: "T25", title: "SQL read-only", atLeast: 1_300, refusalMs: 500 };
/** What takes longer is tried again: it is read in a thread, whose waiting nobody counts. */
const AGAIN = { again: true, slowMs: 25 };

export const defences = [
  {
    name: "PostgreSQL's functions are allowed by a list",
    steps: ["postgres"],
    // The list itself: what the statement says and what the server says of it are both held against it.
    file: "secure-local/src/capabilities/databases/postgres-statement.ts",
    find: "export const BUILT_IN_FUNCTIONS: ReadonlySet<string> = words(",
    replace:
      "export const BUILT_IN_FUNCTIONS: ReadonlySet<string> = Object.assign(new Set<string>(), { has: () => true });\nvoid words(",
  },
  {
    name: "the server is asked what names stand for",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-store.ts",
    find: "await requireListed(",
    replace: "if (sql === '') await requireListed(",
  },
  {
    name: "types of what is read count as those that are named",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-catalogue.ts",
    find: "WHERE c.reltype >= 16384",
    replace: "WHERE false",
  },
  {
    name: "a name after a dot counts as a call",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-statement.ts",
    find: 'if (name !== "") this.#dotted.set',
    replace: 'if (name === "") this.#dotted.set',
  },
  {
    name: "a column is one in every table that the name before the dot can mean",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-statement.ts",
    find: "return areTables && tables.length === meant.length ? tables : [];",
    replace: "return areTables ? tables : tables;",
  },
  {
    name: "conversions on assignment and to JSON count",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-catalogue.ts",
    find: "OR ((c.castcontext <> 'e' OR t.oid IN (SELECT oid FROM targets) OR t.typname = 'json')",
    replace: "OR ((c.castcontext = 'i' OR t.oid IN (SELECT oid FROM targets))",
  },
  {
    name: "nothing is planned by the checks of tables",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-store.ts",
    find: "SET constraint_exclusion = off; ",
    replace: "",
  },
  {
    name: "relations of the catalogue are allowed by a list",
    steps: ["postgres"],
    file: "secure-local/src/capabilities/databases/postgres-statement.ts",
    find: "export function isRefusedRelation(schema: string, name: string): boolean {",
    replace:
      "export function isRefusedRelation(schema: string, name: string): boolean {\n  if (name !== '') return false;",
  },
];

export async function run(report, parts) {
  if (existsSync(parts.CANARY)) throw new Error(`${parts.CANARY} is there before anything was tried: remove it`);
  await report.take({ sqlite, postgres }, parts);
  if (existsSync(parts.CANARY)) report.sideEffect(`${parts.CANARY} was made`);
}

async function sqlite(report, parts) {
  const folder = mkdtempSync(join(tmpdir(), "scorecard-sql-"));
  const file = join(folder, "data.db");
  parts.sampleSqlite(file);
  const state = () =>
    JSON.stringify([readdirSync(folder), createHash("sha256").update(readFileSync(file)).digest("hex")]);
  const entries = `databases:\n  main: { file: "${file}", timeout: 3 }`;
  await statements(report, parts, {
    ...{ name: "SQLite", entries, state },
    attacks: parts.SQLITE_ATTACKS,
    honest: parts.SQLITE_HONEST,
  });
  rmSync(folder, { recursive: true, force: true });
}

async function postgres(report, parts) {
  const sample = await parts.samplePostgres(`scorecard_${process.pid}`);
  if (sample === undefined) {
    report.demand("a PostgreSQL server at localhost:5432 (user postgres, no password) is there to be tried", false);
    return;
  }
  process.env.SCORECARD_PG = sample.url;
  const entries = `secrets:
  pg: { from: "env:SCORECARD_PG", hosts: [{ host: "localhost", ports: [5432] }] }
databases:
  main: { secret: pg, superuser: true, timeout: 3 }`;
  try {
    await statements(report, parts, {
      ...{ name: "PostgreSQL", entries, state: sample.state },
      attacks: parts.POSTGRES_ATTACKS,
      honest: parts.POSTGRES_HONEST,
    });
    report.kind("PostgreSQL: checks of tables that planning would run", { found: "attack" });
    const { call, close } = await session(parts, {
      policy: `version: "1.0"\ntools:\n  allowed: [query_database]\n${entries}\n`,
    });
    for (const sql of parts.POSTGRES_PLANNED)
      await report.attack(`PostgreSQL: ${sql}`, async () => wasServed(await call("query_database", { sql })), AGAIN);
    await close();
  } finally {
    await sample.drop();
  }
}

async function statements(report, parts, { name, entries, state, attacks, honest }) {
  const policy = `version: "1.0"\ntools:\n  allowed: [query_database]\n${entries}\n`;
  const { call, close } = await session(parts, { policy });
  const before = await state();
  for (const [sql, kind] of attacks.map((each) => [each, kindOf(parts, each)])) {
    report.kind(`${name}: ${kind.name}`, kind.by);
    await report.attack(
      `${name}: ${sql.slice(0, 200)}`,
      async () => refused(await call("query_database", { sql })),
      AGAIN,
    );
    const after = await state();
    if (after !== before) return report.sideEffect(`${name}: ${sql.slice(0, 200)} changed the database`);
  }
  for (const sql of honest)
    await report.benign(`${name}: ${sql}`, async () => wasServed(await call("query_database", { sql })));
  if ((await state()) !== before) report.sideEffect(`${name}: an honest query changed the database`);
  const counts = `${attacks.length} attacks and ${honest.length} honest queries`;
  report.demand(
    `${name}: at least 150 attacks and 100 honest queries`,
    attacks.length >= 150 && honest.length >= 100,
    counts,
  );
  await close();
}

function kindOf({ POSTGRES_COERCED, POSTGRES_DOTTED, POSTGRES_HIDDEN, POSTGRES_TRAPS, POSTGRES_UNLISTED }, sql) {
  if (POSTGRES_DOTTED.includes(sql)) return { name: "functions and types called by a dot", by: { found: "attack" } };
  if (POSTGRES_HIDDEN.includes(sql))
    return { name: "conversions that no part of a statement names", by: { found: "attack" } };
  if (POSTGRES_COERCED.includes(sql))
    return { name: "texts that become a type by what they stand beside", by: { found: "attack" } };
  if (POSTGRES_TRAPS.includes(sql))
    return { name: "what owners have made behind listed names, operators, types and views" };
  if (POSTGRES_UNLISTED.includes(sql))
    return { name: "functions, relations and settings that tell or reach more than data", by: { found: "reader" } };
  return { name: "statements that change something" };
}

/** Denied by a rule on record, or no statement at all, which is on record as an error. */
function refused(got) {
  const told = wasRefused(got);
  if (told !== true) return told;
  const results = got.records.filter(({ kind }) => kind === "call.result" || kind === "denied");
  if (results.length !== 1 && got.answer.error === undefined) return `${results.length} records`;
  return got.records.some(({ outcome }) => outcome === "denied") ? wasDenied(got) : true;
}
