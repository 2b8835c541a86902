// The only database power of a tool: reading the databases the policy names, and filling new tables where it says so.

export type Cell = string | number | boolean | null | { readonly base64: string; readonly bytes: number };

export interface QueryRows {
  readonly database: string;
  /** All different. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Whether there is more than the limits allow. */
  readonly truncated: boolean;
  /** The most rows that the policy gives of this database. */
  readonly mostRows: number;
}

export interface QueryOptions {
  /** May be left out where the policy names only one. */
  readonly database?: string | undefined;
  readonly sql: string;
  /** Most rows; the policy may allow fewer. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface TableColumn {
  readonly name: string;
  readonly type: "INTEGER" | "REAL" | "TEXT";
}

/** One value of a row. */
export type CellValue = string | number | null;

export interface ImportOptions {
  readonly database?: string | undefined;
  readonly table: string;
  readonly columns: readonly TableColumn[];
  /** Replace a table of that name. Default: refuse. */
  readonly replace: boolean;
  /** Values of whole rows, one after the other. */
  readonly batches: AsyncIterable<readonly CellValue[]>;
  readonly signal: AbortSignal;
}

export interface SchemaColumn {
  readonly name: string;
  readonly type: string;
}

export interface SchemaTable {
  readonly name: string;
  readonly kind: "table" | "view";
  readonly columns: readonly SchemaColumn[];
}

export interface DatabaseInfo {
  readonly name: string;
  readonly kind: "sqlite" | "postgresql";
  readonly readOnly: boolean;
}

/** @throws DatabaseError from every method for everything but an abort, whose reason is thrown as it is. */
export interface Databases {
  list(): readonly DatabaseInfo[];
  /** One statement that only reads. */
  query(options: QueryOptions): Promise<QueryRows>;
  /** Tables and views of a database, by name. */
  schema(database: string, signal: AbortSignal): Promise<readonly SchemaTable[]>;
  /**
   * Calls `changed` when the schema is another one than before, or only what it says of one table; returns what ends that.
   * SQLite only: of a server nothing is heard.
   */
  watchSchema(database: string, table: string | undefined, changed: () => void): () => void;
  /** A new table with all of the rows, or none: until it resolves nobody sees any of it. SQLite only. */
  importTable(options: ImportOptions): Promise<{ readonly database: string }>;
}

// The error of a statement that was refused or failed: what happened, never where a database lies or how to get in.

type DatabaseFailure =
  /** No such database, or one of several has to be named. */
  | "unknown"
  /** A rule or a built-in check refuses it. */
  | "denied"
  /** The database says that the statement is wrong. */
  | "statement"
  | "timeout"
  | "busy"
  | "unreachable";

/** `message` is a sentence fit for the model and the user. */
export class DatabaseError extends Error {
  readonly code: DatabaseFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: DatabaseFailure, message: string, rule?: string) {
    super(message);
    this.name = "DatabaseError";
    this.code = code;
    this.rule = rule;
  }
}

/** What a statement that took too long is answered with: which key gives it longer. */
export function stoppedText(database: string, timeoutMs: number): string {
  return `The statement was stopped after ${timeoutMs / 1_000} seconds. The policy gives it longer with databases.${database}.timeout.`;
}

export const READ_ONLY_RULE = "built-in rule: statements only read";

// Limits of one statement and of what it answers.

/** Characters of one cell; a model needs no more to know what it is. */
export const MAX_CELL = 2_000;
/** Characters of all cells: about 50,000 tokens. */
export const MAX_ANSWER = 200_000;

export interface StatementLimits {
  /** Rows. */
  readonly limit: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}
