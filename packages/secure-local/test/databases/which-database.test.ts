// Which database a call means, what is said where that is none, and what is asked of a catalogue that has too much in it.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ImportOptions } from "../../src/capabilities/databases/databases.js";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { requireListed } from "../../src/capabilities/databases/postgres-catalogue.js";
import type { PostgresConnection } from "../../src/capabilities/databases/postgres-connection.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { FunctionNames } from "../../src/policy/policy.js";
import "./plain-wasm.js";

const folder = mkdtempSync(join(tmpdir(), "which-database-"));
afterAll(() => rmSync(folder, { recursive: true }));
const signal = new AbortController().signal;
const entry = (name: string, more = ""): string => `  ${name}: { file: "${folder}/${name}.db"${more} }\n`;
const FILLABLE = ", read_only: false";

async function databasesOf(...entries: string[]): Promise<PolicyDatabases> {
  const sections = entries.length === 0 ? "" : `databases:\n${entries.join("")}`;
  const policy = await parsePolicy(`version: "1.0"\n${sections}`, { file: "policy.yaml", environment: {} });
  return new PolicyDatabases(() => policy);
}

const query = (databases: PolicyDatabases, database?: string): Promise<unknown> =>
  databases.query({ ...(database === undefined ? {} : { database }), sql: "SELECT 1 AS one", limit: 10, signal });
/** What is filled in is looked at before any of it is read. */
const fill = (databases: PolicyDatabases, database?: string): Promise<unknown> =>
  databases.importTable({ database } as unknown as ImportOptions);

describe("a statement without a name of a database", () => {
  it("is for the only one", async () => {
    await expect(query(await databasesOf(entry("notes")))).rejects.toMatchObject({
      code: "unreachable",
      message: 'The database "notes" cannot be used: its file does not exist.',
    });
  });

  it("is told why a file is none, and never that it was changed when it was not", async () => {
    mkdirSync(join(folder, "folder.db"));
    const error: unknown = await query(await databasesOf(entry("folder"))).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "unreachable" });
    expect(String(error)).not.toContain("changed");
  });

  it("is told to name one of several", async () => {
    const databases = await databasesOf(entry("notes"), entry("sales"));
    await expect(query(databases)).rejects.toMatchObject({
      code: "unknown",
      message: "There are several databases, name one: notes, sales.",
    });
  });

  it("is told where there is none", async () => {
    await expect(query(await databasesOf())).rejects.toMatchObject({
      code: "unknown",
      message: "No database fits; the policy names none.",
    });
  });
});

it("a name that is not there is told with those that are, and cut where it is long", async () => {
  const databases = await databasesOf(entry("notes"), entry("sales"));
  await expect(query(databases, "x".repeat(500))).rejects.toMatchObject({
    message: `There is no database "${"x".repeat(100)}"; there is notes, sales.`,
  });
  await expect(query(await databasesOf(), "x")).rejects.toMatchObject({
    message: 'There is no database "x"; the policy names none.',
  });
});

describe("an import", () => {
  it("into a database that may only be read is refused by its line", async () => {
    const databases = await databasesOf(entry("notes"), entry("sales"));
    await expect(fill(databases, "sales")).rejects.toMatchObject({
      code: "denied",
      message: 'The policy lets the database "sales" only be read (read_only).',
      rule: "databases: sales, line 4",
    });
  });

  it("without a name is for the only one that may be filled", async () => {
    await expect(fill(await databasesOf(entry("a"), entry("b")))).rejects.toMatchObject({
      message: "No database fits; the policy names none.",
    });
    await expect(fill(await databasesOf(entry("a", FILLABLE), entry("b", FILLABLE), entry("c")))).rejects.toMatchObject(
      {
        message: "There are several databases, name one: a, b.",
      },
    );
  });
});

it("a statement that leads to more than can be looked at is refused, though nothing of what was looked at is", async () => {
  const statement = { relations: [], functions: [], dotted: [], operators: [], types: [] };
  const answering = (more: boolean): PostgresConnection =>
    ({ query: () => Promise.resolve({ rows: [], more }) }) as unknown as PostgresConnection;
  const terms = { path: { text: "", schemas: "{}" }, functions: new FunctionNames([]), key: "databases.a.functions" };
  const listed = (more: boolean): Promise<void> => requireListed(answering(more), statement, terms);
  await expect(listed(false)).resolves.toBeUndefined();
  await expect(listed(true)).rejects.toMatchObject({ code: "denied" });
});
