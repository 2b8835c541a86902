// Queries and fills the SQLite files that a policy names.
import type { DatabasePolicy } from "../../policy/data-policy.js";
import { grantedPolicy } from "../../policy/granted-policy.js";
import { HostMatcher } from "../../policy/host-matcher.js";
import { RangeMatcher } from "../../policy/address-range.js";
import { PathMatcher } from "../../policy/path-matcher.js";
import type { Policy } from "../../policy/policy.js";
import type { PatternRule } from "../../policy/rule.js";
import { FileError } from "../files/file-error.js";
import { FileSystem } from "../files/file-system.js";
import type { Files } from "../files/files.js";
import { DatabaseError, READ_ONLY_RULE } from "./database-error.js";
import type { Cell, CellValue, ImportOptions, SchemaColumn, SchemaTable } from "./databases.js";
import { type ReadSchema, SchemaWatch } from "./schema-watch.js";
import { runTask, SqlWorker, type WorkerLimits } from "./sql-worker.js";
import { readStatement } from "./sqlite-statement.js";
import { MAX_ANSWER, MAX_CELL, type StatementLimits } from "./statement-limits.js";

export interface SqliteDatabase {
  readonly policy: DatabasePolicy;
  readonly file: string;
}

export interface FoundRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly truncated: boolean;
}

/** Tries while another program keeps writing. */
const TRIES = 3;
const SCHEMA_SQL = `SELECT t.name AS tbl, t.type AS kind, c.name AS col, c.type AS type FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
  WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid`;
const MAX_SCHEMA_ROWS = 20_000;
const WRITING_SUFFIXES = ["-wal", "-journal"] as const;

export class SqliteStore {
  readonly #files: FileSystem;
  #granted: { readonly policy: Policy; readonly own: Policy } | undefined;

  /** `own`: files of the program's own, which no database is. */
  constructor(policy: () => Policy, own: readonly string[]) {
    this.#files = new FileSystem(() => this.#grantedBy(policy()), { own });
  }

  close(): void {
    this.#files.close();
  }

  async query(database: SqliteDatabase, text: string, limits: StatementLimits): Promise<FoundRows> {
    const statement = readStatement(text);
    if (typeof statement === "string") throw new DatabaseError("denied", statement, READ_ONLY_RULE);
    return this.#read(database, limits, statement);
  }

  async schema(database: SqliteDatabase, limits: StatementLimits): Promise<SchemaTable[]> {
    const { rows } = await this.#read(
      database,
      { ...limits, limit: MAX_SCHEMA_ROWS },
      { sql: SCHEMA_SQL, explain: false },
    );
    return tablesOf(rows);
  }

  /** `read` is asked at once, and whenever something has happened to the file. */
  watch(file: string, read: ReadSchema, changed: () => void): () => void {
    const watch = new SchemaWatch(read, changed);
    const stop = this.#files.watch(file, () => watch.touched());
    return () => {
      stop();
      watch.stop();
    };
  }

  async importTable({ policy, file }: SqliteDatabase, options: ImportOptions): Promise<void> {
    const { table, columns, replace, batches, signal } = options;
    await this.#guarded(policy.name, async () => {
      await requireQuiet(this.#files.files(), file, policy.name);
      const work = (copy: string): Promise<void> => {
        const data = { task: "receiveRows", file: copy, table, columns, replace };
        return fill(new SqlWorker(data), batches, { timeoutMs: BATCH_TIMEOUT_MS, signal });
      };
      await this.#files.rebuild(file, work, signal);
    });
  }

  #read(
    { policy: { name }, file }: SqliteDatabase,
    limits: StatementLimits,
    statement: { sql: string; explain: boolean },
  ) {
    const { limit, timeoutMs, signal } = limits;
    const task = { task: "query", ...statement, limit, cellLimit: MAX_CELL, totalLimit: MAX_ANSWER };
    return this.#guarded(name, async () => {
      const files = this.#files.files();
      for (let tries = 1; ; tries += 1) {
        await requireQuiet(files, file, name);
        const opened = await files.open(file);
        try {
          const rows = await runTask<FoundRows>({ ...task, file: opened.handlePath }, { timeoutMs, signal });
          const now = await files.info(file);
          if (now.modifiedMs === opened.modifiedMs && now.size === opened.size) return rows;
        } finally {
          opened.close();
        }
        if (tries === TRIES)
          throw new DatabaseError("busy", `Another program keeps writing to the database "${name}".`);
      }
    });
  }

  async #guarded<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FileError) throw unreachable(name, error);
      if (error instanceof DatabaseError && error.code === "denied" && error.rule === undefined)
        throw new DatabaseError("denied", error.message, READ_ONLY_RULE);
      throw error;
    }
  }

  /** The entry of a database grants its file and nothing else; what the policy denies to everybody stays denied. */
  #grantedBy(policy: Policy): Policy {
    if (this.#granted?.policy === policy) return this.#granted.own;
    const readable: PatternRule[] = [];
    const writable: PatternRule[] = [];
    for (const { store, rule, readOnly } of policy.databases.values()) {
      if (store.kind !== "sqlite") continue;
      for (const suffix of ["", ...WRITING_SUFFIXES]) readable.push({ pattern: store.file + suffix, rule });
      if (!readOnly) writable.push({ pattern: store.file, rule });
    }
    const filesystem = {
      ...policy.filesystem,
      allowed: new PathMatcher(writable, false),
      readable: new PathMatcher(readable, false),
    };
    const own = grantedPolicy(policy, { network: noNetwork(policy), filesystem });
    this.#granted = { policy, own };
    return own;
  }
}

/** Milliseconds for one batch of rows. */
const BATCH_TIMEOUT_MS = 60_000;

async function fill(
  worker: SqlWorker,
  batches: AsyncIterable<readonly CellValue[]>,
  limits: WorkerLimits,
): Promise<void> {
  try {
    await worker.ask(limits);
    const iterator = batches[Symbol.asyncIterator]();
    let next = await iterator.next();
    while (next.done !== true) {
      // The next batch is made while this one is taken.
      const following = iterator.next();
      following.catch(() => undefined);
      await worker.ask(limits, { values: next.value, done: false });
      next = await following;
    }
    await worker.ask(limits, { values: [], done: true });
  } finally {
    await worker.end();
  }
}

/** What another program has written and not yet put into the file itself cannot be seen from outside. */
async function requireQuiet(files: Files, file: string, name: string): Promise<void> {
  for (const suffix of WRITING_SUFFIXES) {
    const size = await files.info(file + suffix).then(
      (info) => info.size,
      () => 0,
    );
    if (size > 0)
      throw new DatabaseError(
        "busy",
        `Another program is using the database "${name}" and has changes of its own waiting (${suffix}); close it, or let it finish.`,
      );
  }
}

function unreachable(name: string, { code, rule }: FileError): DatabaseError {
  if (code === "denied")
    return new DatabaseError("denied", `The policy does not allow the file of the database "${name}".`, rule);
  const why =
    code === "not-found" ? "its file does not exist" : code === "changed" ? "its file was changed meanwhile" : code;
  return new DatabaseError("unreachable", `The database "${name}" cannot be used: ${why}.`, rule);
}

function noNetwork({ network }: Policy): Policy["network"] {
  return { ...network, allowedEndpoints: new HostMatcher([]), allowedRanges: new RangeMatcher([]) };
}

/** Rows of table, kind, column, type, in the order of tables. */
export function tablesOf(rows: readonly (readonly Cell[])[]): SchemaTable[] {
  const tables = new Map<string, { name: string; kind: "table" | "view"; columns: SchemaColumn[] }>();
  for (const [table, kind, column, type] of rows.map((row) => row.map(String))) {
    const name = table ?? "";
    const entry = tables.get(name) ?? {
      name,
      kind: kind?.toLowerCase().includes("view") ? "view" : "table",
      columns: [],
    };
    tables.set(name, entry);
    if (column !== undefined) entry.columns.push({ name: column, type: type ?? "" });
  }
  return [...tables.values()];
}
