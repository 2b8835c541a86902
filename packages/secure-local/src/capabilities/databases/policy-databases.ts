// `Databases` under a policy: finds the database of a name and hands the statement to what knows its kind.
import type { DatabasePolicy, Policy } from "../../policy/policy.js";
import {
  DatabaseError,
  type DatabaseInfo,
  type Databases,
  type ImportOptions,
  type QueryOptions,
  type QueryRows,
  type SchemaTable,
} from "./databases.js";
import type { PostgresStore } from "./postgres-store.js";
import { SqliteStore } from "./sqlite-store.js";

export interface PolicyDatabasesOptions {
  /** Files of the program's own, which no database is. */
  readonly own?: readonly string[];
  /** Values of the environment that secrets may come from; those of this process when absent. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export class PolicyDatabases implements Databases {
  readonly #policy: () => Policy;
  readonly #sqlite: SqliteStore;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  #postgres: Promise<PostgresStore> | undefined;

  /** `policy` is asked at every operation. */
  constructor(policy: () => Policy, { own = [], environment = process.env }: PolicyDatabasesOptions = {}) {
    this.#policy = policy;
    this.#environment = environment;
    this.#sqlite = new SqliteStore(policy, own);
  }

  /** Closes what is kept open between calls. */
  close(): void {
    this.#sqlite.close();
  }

  list(): readonly DatabaseInfo[] {
    return [...this.#policy().databases.values()].map(({ name, store, readOnly }) => ({
      name,
      kind: store.kind,
      readOnly,
    }));
  }

  async query({ database, sql, limit, signal }: QueryOptions): Promise<QueryRows> {
    const entry = this.#entry(database);
    const { name, store, rowLimit, timeoutMs } = entry;
    const limits = { limit: Math.min(limit, rowLimit), timeoutMs, signal };
    const found =
      store.kind === "sqlite"
        ? await this.#sqlite.query({ policy: entry, file: store.file }, sql, limits)
        : await (await this.#server()).query(entry, sql, limits);
    return { database: name, mostRows: rowLimit, ...found };
  }

  async schema(database: string, signal: AbortSignal): Promise<readonly SchemaTable[]> {
    const entry = this.#entry(database);
    const { store, timeoutMs } = entry;
    const limits = { limit: 0, timeoutMs, signal };
    if (store.kind === "sqlite") return this.#sqlite.schema({ policy: entry, file: store.file }, limits);
    return (await this.#server()).schema(entry, limits);
  }

  watchSchema(database: string, table: string | undefined, changed: () => void): () => void {
    const store = this.#policy().databases.get(database)?.store;
    if (store?.kind !== "sqlite") return () => undefined;
    const read = async (signal: AbortSignal): Promise<string> => {
      const tables = await this.schema(database, signal);
      return JSON.stringify(table === undefined ? tables : (tables.find(({ name }) => name === table) ?? null));
    };
    return this.#sqlite.watch(store.file, read, changed);
  }

  async importTable(options: ImportOptions): Promise<{ readonly database: string }> {
    const entry = this.#entry(options.database, isFillable);
    const { name, store, readOnly, rule } = entry;
    if (store.kind !== "sqlite")
      throw new DatabaseError("denied", `"${name}" is no SQLite database; only those are filled.`);
    if (readOnly) {
      const place = rule.line === undefined ? rule.text : `${rule.text}, line ${rule.line}`;
      throw new DatabaseError("denied", `The policy lets the database "${name}" only be read (read_only).`, place);
    }
    await this.#sqlite.importTable({ policy: entry, file: store.file }, options);
    return { database: name };
  }

  #entry(name: string | undefined, fits: (entry: DatabasePolicy) => boolean = () => true): DatabasePolicy {
    const { databases } = this.#policy();
    const candidates = [...databases.values()].filter(fits);
    const entry = name === undefined ? candidates[0] : databases.get(name);
    if (entry !== undefined && (name !== undefined || candidates.length === 1)) return entry;
    const names = candidates.map((one) => one.name).join(", ");
    if (name === undefined && candidates.length > 1)
      throw new DatabaseError("unknown", `There are several databases, name one: ${names}.`);
    const which = name === undefined ? "No database fits" : `There is no database "${name.slice(0, 100)}"`;
    throw new DatabaseError("unknown", `${which}; ${names === "" ? "the policy names none" : `there is ${names}`}.`);
  }

  async #server(): Promise<PostgresStore> {
    this.#postgres ??= import("./postgres-store.js").then(
      (module) => new module.PostgresStore(this.#policy, this.#environment),
    );
    return this.#postgres;
  }
}

function isFillable({ store, readOnly }: DatabasePolicy): boolean {
  return store.kind === "sqlite" && !readOnly;
}
