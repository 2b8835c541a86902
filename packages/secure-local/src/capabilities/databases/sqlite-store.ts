// Queries and fills the SQLite files that a policy names.
import type { DatabasePolicy, Policy } from "../../policy/policy.js";
import { grantedPolicy } from "../../policy/granted-policy.js";
import { HostMatcher, RangeMatcher } from "../../policy/host-matcher.js";
import { PathMatcher } from "../../policy/path-matcher.js";
import type { PatternRule } from "../../policy/faults.js";
import { isExchangeable } from "../files/bases.js";
import { FileError, type Files } from "../files/files.js";
import { FileSystem } from "../files/file-system.js";
import {
  type Cell,
  type CellValue,
  DatabaseError,
  type ImportOptions,
  MAX_ANSWER,
  MAX_CELL,
  READ_ONLY_RULE,
  stoppedText,
  type SchemaColumn,
  type SchemaTable,
  type StatementLimits,
} from "./databases.js";
import { runTask, SqlWorker, type WorkerLimits } from "./sql-worker.js";

interface SqliteDatabase {
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
  WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`;
const VIEWS_SQL = "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name";
/** Views that are looked at one by one where one of them is broken: each takes a thread. */
const MAX_VIEWS_APART = 50;
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
    const read = async (kinds: string): Promise<SchemaTable[]> => {
      const statement = { sql: `${SCHEMA_SQL} AND ${kinds} ORDER BY t.name, c.cid`, explain: false };
      return tablesOf((await this.#read(database, { ...limits, limit: MAX_SCHEMA_ROWS }, statement)).rows);
    };
    try {
      return await read("true");
    } catch (error) {
      // A view that cannot be used, as of a function that is not there, must not hide all the others.
      if (!(error instanceof DatabaseError) || error.code !== "statement") throw error;
    }
    const views = await this.#read(database, { ...limits, limit: MAX_SCHEMA_ROWS }, { sql: VIEWS_SQL, explain: false });
    const names = views.rows.flatMap(([name]) => (typeof name === "string" ? [name] : []));
    const found = await read("t.type <> 'view'");
    for (const name of names.slice(0, MAX_VIEWS_APART))
      found.push(
        ...(await read(`t.name = '${name.replaceAll("'", "''")}'`).catch(() => [
          { name, kind: "view" as const, columns: [] },
        ])),
      );
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
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

  async importTable(database: SqliteDatabase, options: ImportOptions): Promise<void> {
    const { policy, file } = database;
    const { table, columns, replace, batches, signal } = options;
    await this.#guarded(database, async () => {
      await requireQuiet(this.#files.files(), file, policy.name);
      const work = (copy: string): Promise<void> => {
        const data = { task: "receiveRows", file: copy, table, columns, replace };
        return fill(new SqlWorker(data), batches, { timeoutMs: BATCH_TIMEOUT_MS, signal });
      };
      await this.#files.rebuild(file, work, signal);
    });
  }

  #read(database: SqliteDatabase, limits: StatementLimits, statement: { sql: string; explain: boolean }) {
    const { file } = database;
    const { name } = database.policy;
    const { limit, timeoutMs, signal } = limits;
    const task = { task: "query", ...statement, limit, cellLimit: MAX_CELL, totalLimit: MAX_ANSWER };
    return this.#guarded(database, async () => {
      const files = this.#files.files();
      const late = (error: unknown): never => {
        const stopped = error instanceof DatabaseError && error.code === "timeout";
        throw stopped ? new DatabaseError("timeout", stoppedText(name, timeoutMs)) : error;
      };
      for (let tries = 1; ; tries += 1) {
        await requireQuiet(files, file, name);
        const opened = await files.open(file);
        try {
          const rows = await runTask<FoundRows>({ ...task, file: opened.handlePath }, { timeoutMs, signal }).catch(
            late,
          );
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

  async #guarded<T>({ policy: { name }, file }: SqliteDatabase, work: () => Promise<T>): Promise<T> {
    try {
      if (isExchangeable(file)) throw exchangeable(name);
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

/** Whoever exchanged the link would choose the database, and what lies beside it. */
function exchangeable(name: string): DatabaseError {
  const words = "its file lies behind a link that a program of the policy may exchange; name where that leads";
  return new DatabaseError("denied", `The database "${name}" is not opened: ${words}.`, `databases.${name}.file`);
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

// Tells when a schema is another one than before: whatever else changes in the file of a database is nobody's business.

/** Reads what is compared; undefined where it cannot be read now. */
type ReadSchema = (signal: AbortSignal) => Promise<string | undefined>;

export class SchemaWatch {
  readonly #read: ReadSchema;
  readonly #changed: () => void;
  readonly #over = new AbortController();
  #known: string | undefined;
  #looking = false;
  #again = false;

  constructor(read: ReadSchema, changed: () => void) {
    this.#read = read;
    this.#changed = changed;
    void this.#look(false);
  }

  /** Something has happened to the file. Of what happens while it is read the end counts. */
  touched(): void {
    void this.#look(true);
  }

  stop(): void {
    this.#over.abort();
  }

  async #look(tells: boolean): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    const { signal } = this.#over;
    const now = await this.#read(signal).catch(() => undefined);
    this.#looking = false;
    if (signal.aborted) return;
    // A file that cannot be read for a moment has not changed.
    const isOther = now !== undefined && now !== this.#known;
    if (isOther) {
      this.#known = now;
      if (tells) this.#changed();
    }
    if (!this.#again) return;
    this.#again = false;
    await this.#look(true);
  }
}

// Looks at an SQLite statement before anything runs it: one statement, beginning like a query, calling nothing dangerous.

interface Token {
  readonly kind: "word" | "name" | "sign" | "other";
  /** Lower case for words and names. */
  readonly text: string;
}

/** Longer statements are programs. */
const MAX_SQL_LENGTH = 20_000;
const TOKEN =
  /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|\d[\w.]*|[^]/y;
const QUERIES: ReadonlySet<string> = new Set(["select", "values", "with"]);
const CHANGES: ReadonlySet<string> = new Set(["insert", "update", "delete", "replace"]);
const REFUSED_CALLS: ReadonlySet<string> = new Set(
  "load_extension readfile writefile edit fts3_tokenizer eval zipfile fsdir sqlite_dbpage sqlite_log".split(" "),
);
/** Pragmas that can be read as tables and tell of the schema alone. */
const READABLE_PRAGMAS: ReadonlySet<string> = new Set(
  "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list"
    .split(" ")
    .map((name) => `pragma_${name}`),
);

interface ReadStatement {
  /** Without the semicolon at its end. */
  readonly sql: string;
  /** It asks how another statement would be run. */
  readonly explain: boolean;
}

/** The statement, or a sentence that says why it is refused. */
function readStatement(text: string): ReadStatement | string {
  if (text.length > MAX_SQL_LENGTH)
    return `The statement has ${text.length} characters; at most ${MAX_SQL_LENGTH} are allowed.`;
  if (text.includes("\0")) return "The statement holds a NUL character.";
  const tokens: Token[] = [];
  let end = 0;
  for (const { token, from } of tokensOf(text)) {
    if (token === undefined) return "A quotation mark or comment in the statement is not closed.";
    if (token.text === ";" && token.kind === "sign") {
      end ||= from;
      continue;
    }
    if (end > 0) return "Only one statement is allowed.";
    tokens.push(token);
  }
  const explain = isWord(tokens[0], "explain");
  if (explain) tokens.splice(0, isWord(tokens[1], "query") && isWord(tokens[2], "plan") ? 3 : 1);
  const fault = faultOf(tokens);
  return fault ?? { sql: end > 0 ? text.slice(0, end) : text, explain };
}

function* tokensOf(text: string): Iterable<{ readonly token: Token | undefined; readonly from: number }> {
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null && match[0] !== ""; match = TOKEN.exec(text)) {
    const [all] = match;
    const from = match.index;
    TOKEN.lastIndex = from + all.length;
    if (/^(?:\s|--)/.test(all)) continue;
    if (all.startsWith("/*")) {
      if (!all.endsWith("*/") || all.length < 4) yield { token: undefined, from };
      continue;
    }
    if (/^['"`[]$/.test(all)) yield { token: undefined, from };
    const name = match[1] ?? match[2] ?? match[3];
    if (name !== undefined) yield { token: { kind: "name", text: name.toLowerCase() }, from };
    else if (match[4] !== undefined) yield { token: { kind: "word", text: all.toLowerCase() }, from };
    else yield { token: { kind: all.length === 1 ? "sign" : "other", text: all }, from };
    TOKEN.lastIndex = from + all.length;
  }
}

function isWord(token: Token | undefined, text: string): boolean {
  return token?.kind === "word" && token.text === text;
}

function faultOf(tokens: readonly Token[]): string | undefined {
  const [first] = tokens;
  if (first === undefined) return "The statement is empty.";
  if (first.kind !== "word" || !QUERIES.has(first.text))
    return "Only queries are allowed: begin with SELECT, VALUES, WITH or EXPLAIN.";
  let depth = 0;
  let verb: string | undefined;
  for (const [index, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === "sign" && text === "(") depth += 1;
    if (kind === "sign" && text === ")") depth -= 1;
    if (depth < 0) return "The parentheses of the statement do not match.";
    if (verb === undefined && depth === 0 && kind === "word") verb = verbAt(text, tokens[index + 1]);
    if ((kind === "word" || kind === "name") && isRefusedName(text, tokens[index + 1]))
      return `The statement uses ${text.slice(0, 60)}, which is not allowed.`;
  }
  if (depth !== 0) return "The parentheses of the statement do not match.";
  if (verb === undefined || CHANGES.has(verb)) return "The statement would change the database.";
  return undefined;
}

/** What a statement does stands outside all parentheses, behind the queries it names. */
function verbAt(word: string, next: Token | undefined): string | undefined {
  if (word === "replace") return isWord(next, "into") ? word : undefined;
  return word === "select" || word === "values" || CHANGES.has(word) ? word : undefined;
}

function isRefusedName(name: string, next: Token | undefined): boolean {
  if (name.startsWith("pragma_")) return !READABLE_PRAGMAS.has(name);
  return REFUSED_CALLS.has(name) && next?.text === "(";
}
