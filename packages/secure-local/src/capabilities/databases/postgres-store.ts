// Queries the PostgreSQL servers that a policy names.
import type { Socket } from "node:net";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Buffer } from "node:buffer";
import { READ_AT_ONCE } from "../../audit/owned-files.js";
import { deniedAddress } from "../../policy/host-matcher.js";
import type { DatabasePolicy, Policy, SecretPolicy } from "../../policy/policy.js";
import { dial, resolveAllowed, resolveBySystem } from "../resolve.js";
import { type DecideEgress, type EgressTarget, parseIp } from "../egress-target.js";
import { FetchError } from "../refusals.js";
import {
  type Cell,
  DatabaseError,
  MAX_ANSWER,
  MAX_CELL,
  READ_ONLY_RULE,
  stoppedText,
  type SchemaTable,
  type StatementLimits,
} from "./databases.js";
import { callersPath, isPowerful, ownPath, requireListed, type SearchPath } from "./postgres-catalogue.js";
import { type FoundTexts, PostgresConnection, type PostgresUrl, parsePostgresUrl } from "./postgres-connection.js";
import { checkPostgres } from "./postgres-statement.js";
import { type FoundRows, tablesOf } from "./sqlite-store.js";
import { SqlWorker, type WorkerLimits } from "./sql-worker.js";

/** Milliseconds after the server's own timeout before the connection is given up. */
const GRACE_MS = 2_000;
const CONNECT_MS = 10_000;
const CANCEL_TRIES = 4;
const CANCEL_GAP_MS = 150;
const MAX_SCHEMA_ROWS = 20_000;
const SCHEMA_SQL = `SELECT CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
    CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY 1, a.attnum`;

export class PostgresStore {
  readonly #policy: () => Policy;
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(policy: () => Policy, environment: Readonly<Record<string, string | undefined>>) {
    this.#policy = policy;
    this.#environment = environment;
  }

  async query(entry: DatabasePolicy, sql: string, limits: StatementLimits): Promise<FoundRows> {
    if (sql.includes("\0")) throw new DatabaseError("denied", "The statement holds a NUL character.", READ_ONLY_RULE);
    const checked = checkPostgres(await parsePostgres(sql, limits), entry.functions);
    const key = `databases.${entry.name}.functions`;
    if (typeof checked === "string") {
      const remedy = checked.startsWith("The function") ? ` ${key} can name it.` : "";
      throw new DatabaseError("denied", checked + remedy, READ_ONLY_RULE);
    }
    return this.#with(entry, limits, async (connection, path) => {
      await requireListed(connection, checked, { path, functions: entry.functions, key });
      await callersPath(connection, path);
      return shownRows(await connection.query(sql, [], limits.limit + 1), limits.limit);
    });
  }

  async schema(entry: DatabasePolicy, limits: StatementLimits): Promise<SchemaTable[]> {
    const { rows } = await this.#with(entry, limits, (connection) => connection.query(SCHEMA_SQL, [], MAX_SCHEMA_ROWS));
    return tablesOf(rows);
  }

  /** A transaction that only reads, on a connection of its own, rolled back and closed at the end. */
  async #with<T>(
    entry: DatabasePolicy,
    { timeoutMs, signal }: StatementLimits,
    work: (connection: PostgresConnection, path: SearchPath) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const url = await this.#url(entry);
    const decide = this.#decideFor(entry);
    const connect = (): Promise<Socket> => connected(url, decide);
    const late = AbortSignal.timeout(CONNECT_MS + timeoutMs + GRACE_MS);
    const stop = AbortSignal.any([signal, late]);
    const connection = await opened(connect, url, entry.name);
    const cancel = (): void => void stopStatement(connection, connect);
    stop.addEventListener("abort", cancel, { once: true });
    try {
      stop.throwIfAborted();
      await connection.run(
        `SET default_transaction_read_only = on; SET constraint_exclusion = off; SET standard_conforming_strings = on; SET statement_timeout = ${timeoutMs}; SET lock_timeout = ${timeoutMs}; SET idle_in_transaction_session_timeout = ${timeoutMs + GRACE_MS}`,
      );
      await connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const path = await ownPath(connection);
      if (!entry.superuser && (await isPowerful(connection))) throw tooPowerful(entry);
      const result = await work(connection, path);
      await connection.run("ROLLBACK");
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) throw new DatabaseError("timeout", stoppedText(entry.name, timeoutMs));
      if (error instanceof DatabaseError) throw error;
      throw new DatabaseError(
        "unreachable",
        `The connection to "${entry.name}" broke off: ${(error as Error).message}.`,
      );
    } finally {
      stop.removeEventListener("abort", cancel);
      connection.close();
    }
  }

  #secret({ store }: DatabasePolicy): SecretPolicy | undefined {
    return store.kind === "postgresql" ? this.#policy().secrets.get(store.secret) : undefined;
  }

  async #url(entry: DatabasePolicy): Promise<PostgresUrl> {
    const { name } = entry;
    const secret = this.#secret(entry);
    if (secret === undefined)
      throw new DatabaseError("denied", `The secret of the database "${name}" is not in the policy.`);
    const { from } = secret;
    const text =
      from.kind === "env"
        ? this.#environment[from.name]
        : await readFile(from.path, { encoding: "utf8", flag: READ_AT_ONCE }).catch(() => undefined);
    if (text === undefined || text.trim() === "")
      throw new DatabaseError(
        "unreachable",
        `The secret of the database "${name}" has no value: ${from.kind === "env" ? `the variable ${from.name} is not set where this program was started` : `its file ${from.path} is missing or empty`}.`,
      );
    const url = parsePostgresUrl(text);
    if (typeof url === "string")
      throw new DatabaseError("unreachable", `The secret of the database "${name}" cannot be used: ${url}.`);
    if (secret.hosts.find(url.host, url.port) === undefined) {
      const { text: rule, line } = secret.rule;
      const place = line === undefined ? rule : `${rule}, line ${line}`;
      throw new DatabaseError("denied", `The server of the database "${name}" is none of the secret's hosts.`, place);
    }
    return url;
  }

  /** The hosts of the secret are the permission; everybody's denials count as well. */
  #decideFor(entry: DatabasePolicy): DecideEgress {
    return ({ host, port }, address) => {
      const { network } = this.#policy();
      const named = this.#secret(entry)?.hosts.find(host, port);
      const at = address ?? host;
      const denied =
        network.offline ??
        network.blockedPorts.get(port) ??
        deniedAddress(network.deniedEndpoints, host, port) ??
        deniedAddress(network.deniedEndpoints, at, port) ??
        (parseIp(host) === undefined ? network.dnsRefused : undefined);
      const { text, line } = denied ?? named ?? { text: "default deny" };
      return { allowed: denied === undefined && named !== undefined, rule: text, line, allowPrivate: true };
    };
  }
}

async function connected(url: PostgresUrl, decide: DecideEgress): Promise<Socket> {
  const { host, port } = url;
  const target: EgressTarget = {
    scheme: "http",
    host,
    port,
    literal: parseIp(host) !== undefined,
    url: new URL("http://database/"),
  };
  const addresses = await resolveAllowed(target, decide, resolveBySystem);
  return dial(target, addresses, AbortSignal.timeout(CONNECT_MS));
}

/** What it says of a failure has neither the host nor the user. */
async function opened(connect: () => Promise<Socket>, url: PostgresUrl, name: string): Promise<PostgresConnection> {
  let socket: Socket | undefined;
  try {
    socket = await connect();
    const late = setTimeout(() => socket?.destroy(), CONNECT_MS);
    try {
      return await PostgresConnection.open(socket, url);
    } finally {
      clearTimeout(late);
    }
  } catch (error) {
    socket?.destroy();
    if (error instanceof FetchError && error.code === "denied")
      throw new DatabaseError(
        "denied",
        `The policy does not allow connections to the server of "${name}".`,
        error.rule,
      );
    const why =
      error instanceof FetchError || (error as { readonly code?: string }).code
        ? "no connection"
        : (error as Error).message;
    throw new DatabaseError("unreachable", `The database "${name}" cannot be reached: ${why}.`);
  }
}

/** Asks the server to stop, then hangs up: without being asked it would go on until it has something to say. */
async function stopStatement(connection: PostgresConnection, connect: () => Promise<Socket>): Promise<void> {
  const request = connection.cancelRequest;
  connection.stop();
  if (request === undefined) return connection.destroy();
  try {
    // A request that overtakes its statement is lost.
    for (let tries = 0; tries < CANCEL_TRIES && connection.busy; tries += 1) {
      if (tries > 0) await sleep(CANCEL_GAP_MS);
      const socket = await connect();
      socket.resume();
      socket.end(request);
      await once(socket, "close");
    }
  } catch {
    // The server's own timeout ends the statement then.
  } finally {
    connection.destroy();
  }
}

function tooPowerful({ name }: DatabasePolicy): DatabaseError {
  return new DatabaseError(
    "denied",
    `The role of the database "${name}" is a superuser, or may run programs or reach files on the server, and no check of a statement makes up for that. Give it a role that may only read, or set databases.${name}.superuser to true.`,
    `databases.${name}.superuser`,
  );
}

function shownRows({ columns, rows, more }: FoundTexts, limit: number): FoundRows {
  const shown: Cell[][] = [];
  let total = 0;
  for (const row of rows.slice(0, limit)) {
    total += row.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
    if (total > MAX_ANSWER) break;
    shown.push(row.map((cell, index) => postgresCell(cell, columns[index]?.type ?? 0)));
  }
  return {
    columns: distinctNames(columns.map(({ name }) => name)),
    rows: shown,
    truncated: more || shown.length < rows.length,
  };
}

// Turns cells as PostgreSQL writes them into cells of an answer.

/** Object ids of types (PostgreSQL's pg_type.dat). */
const BOOL = 16;
const BYTEA = 17;
const WHOLE: ReadonlySet<number> = new Set([20, 21, 23, 26]);
const FLOAT: ReadonlySet<number> = new Set([700, 701]);

/** Whole numbers beyond 2^53 and decimals stay texts: as numbers they would be others. */
export function postgresCell(text: string | null, type: number): Cell {
  if (text === null) return null;
  if (type === BOOL) return text === "t";
  if (type === BYTEA && text.startsWith("\\x")) return bytesCell(text);
  if (WHOLE.has(type) && Number.isSafeInteger(Number(text))) return Number(text);
  if (FLOAT.has(type) && Number.isFinite(Number(text))) return Number(text);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}… (${text.length} characters in all)` : text;
}

function bytesCell(text: string): Cell {
  const shown = Math.floor((MAX_CELL * 3) / 4);
  return { base64: Buffer.from(text.slice(2, 2 + shown * 2), "hex").toString("base64"), bytes: (text.length - 2) / 2 };
}

/** Columns of one name get different ones. */
export function distinctNames(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let count = 1; seen.has(distinct); count += 1) distinct = `${name}:${count}`;
    seen.add(distinct);
    return distinct;
  });
}

// Has statements read by PostgreSQL's own parser, in a thread that a statement can at most take down with it.

/** Milliseconds a parser waits for its next statement: loading it takes a hundred. */
const IDLE_MS = 30_000;

let idle: { readonly worker: SqlWorker; readonly timer: NodeJS.Timeout } | undefined;

/** The tree, as libpg-query writes it. @throws DatabaseError for what is no SQL, the signal's reason */
export async function parsePostgres(sql: string, limits: WorkerLimits): Promise<unknown> {
  limits.signal.throwIfAborted();
  const worker = taken() ?? new SqlWorker({ task: "parser" });
  try {
    return (await worker.ask<{ readonly tree: unknown }>(limits, { sql })).tree;
  } catch (error) {
    // One that is nested too deeply may have left it in any state.
    if (error instanceof DatabaseError && error.code === "denied") await worker.end();
    throw error;
  } finally {
    if (!worker.ended) put(worker);
  }
}

function taken(): SqlWorker | undefined {
  const worker = idle?.worker;
  clearTimeout(idle?.timer);
  idle = undefined;
  worker?.keepsProcess(true);
  return worker?.ended === true ? undefined : worker;
}

function put(worker: SqlWorker): void {
  if (idle !== undefined) {
    void worker.end();
    return;
  }
  worker.keepsProcess(false);
  idle = { worker, timer: setTimeout(() => void taken()?.end(), IDLE_MS).unref() };
}
