// Runs SQL where it can do no harm and can be ended at any time: a thread of its own, with SQLite and the parser of
// PostgreSQL as WebAssembly. Bundled into a file of its own; one worker does one task and ends.
// oxlint-disable unicorn/require-post-message-target-origin -- a thread has one partner and no origin
"use strict";
const fs = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");

/** Bytes of WebAssembly memory: a statement that needs more fails. */
const MAX_MEMORY = 384 * 1024 * 1024;
/** Where a database's header says whether it keeps a write-ahead log (2) or not (1). */
const VERSION_AT = 18;
const WITH_LOG = 2;
/** What only statements that change something compile to. */
const CHANGING = new Set(
  "OpenWrite Vacuum JournalMode Checkpoint AutoCommit Savepoint CreateBtree Destroy DropTable DropIndex DropTrigger SetCookie ParseSchema VUpdate VCreate VDestroy VRename SqlExec LoadAnalysis IncrVacuum".split(
    " ",
  ),
);
const CALLS = new Set(["Function", "PureFunc", "AggStep", "AggStep1"]);
/** Functions that calculate, and nothing else. What SQLite has beside them, or gets one day, is refused. */
const ALLOWED_CALLS = new Set(
  `-> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws cos cosh count cume_dist current_date
   current_time current_timestamp date datetime degrees dense_rank exp first_value floor format glob group_concat hex highlight if ifnull iif instr
   json json_array json_array_insert json_array_length json_each json_error_position json_extract json_group_array json_group_object json_insert
   json_object json_patch json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array
   jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace
   jsonb_set julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim match max median min mod nth_value ntile
   nullif octet_length percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank regexp
   replace round row_number rtrim sign sin sinh snippet soundex sqlite_version sqrt strftime string_agg substr substring subtype sum tan tanh
   time timediff total total_changes trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob`.split(
    /\s+/,
  ),
);
const MAX_STATEMENT_VALUES = 2_000;

/** What SQLite calls the file: its messages reach the caller. */
const SHOWN = require("node:path").resolve("/database");

class Refused extends Error {}

const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function limited(pages) {
  if (this.buffer.byteLength + pages * 65_536 > MAX_MEMORY) throw new RangeError("no more memory");
  return grow.call(this, pages);
};

/** Compiling SQLite takes four times as long as a small query: threads hand on what the first has compiled. */
function shareCompiled() {
  const { Module } = WebAssembly;
  WebAssembly.Module = function compiled(bytes) {
    if (workerData.compiled !== undefined) return workerData.compiled;
    const made = new Module(bytes);
    parentPort.postMessage({ compiled: made });
    return made;
  };
}

/**
 * From here on SQLite reaches one file. Its own locks are folders beside the file, which no other program knows, so
 * there are none; a database with a write-ahead log that is empty is read as one without.
 */
function wallIn(file, writable) {
  const { openSync, readSync, writeSync, constants } = fs;
  const none = () => {
    throw Object.assign(new Error("no such file"), { code: "ENOENT" });
  };
  const files = new Set();
  fs.openSync = (path) => {
    if (path !== SHOWN) none();
    const fd = openSync(file, writable ? constants.O_RDWR : constants.O_RDONLY);
    files.add(fd);
    return fd;
  };
  fs.accessSync = (path) => (path === SHOWN ? undefined : none());
  fs.mkdirSync = () => undefined;
  fs.rmdirSync = () => undefined;
  fs.unlinkSync = none;
  fs.readSync = (fd, into, offset, length, position) => {
    const count = readSync(fd, into, offset, length, position);
    for (const at of [VERSION_AT, VERSION_AT + 1]) {
      const index = at - Number(position);
      if (index >= 0 && index < count && into[offset + index] === WITH_LOG) into[offset + index] = 1;
    }
    return count;
  };
  fs.writeSync = (fd, ...rest) => (writable && files.has(fd) ? writeSync(fd, ...rest) : none());
  if (!writable) fs.ftruncateSync = none;
}

function open(file, writable) {
  shareCompiled();
  const { Database } = require("node-sqlite3-wasm");
  wallIn(file, writable);
  const database = new Database(SHOWN, { readOnly: !writable, fileMustExist: !writable });
  database.exec("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY");
  if (!writable) database.exec("PRAGMA query_only=ON");
  return database;
}

/** SQLite itself says what a statement would do: its program is looked through before it runs. */
function check(database, sql) {
  for (const { opcode, p2, p4 } of database.all(`EXPLAIN ${sql}`)) {
    if (CHANGING.has(opcode) || (opcode === "Transaction" && p2 !== 0))
      throw new Refused("The statement would change the database.");
    const called = String(p4).replace(/\(.*/, "").toLowerCase();
    if (CALLS.has(opcode) && !ALLOWED_CALLS.has(called))
      throw new Refused(`The function ${called} is not on the list of those that only read.`);
  }
}

function query({ file, sql, explain, limit, cellLimit, totalLimit }) {
  const database = open(file, false);
  check(database, explain ? sql.replace(/^[^]*?explain(?:\s+query\s+plan)?/i, "") : sql);
  // Columns of one name get different ones in a subquery.
  const statement = database.prepare(explain ? sql : `SELECT * FROM (\n${sql}\n) LIMIT ${limit + 1}`);
  const columns = statement._getColumnNames();
  const rows = [];
  let total = 0;
  let truncated = false;
  for (const row of statement.iterate()) {
    const cells = columns.map((name) => cellOf(row[name], cellLimit));
    total += cells.reduce((sum, cell) => sum + sizeOf(cell), 0);
    truncated = rows.length === limit || total > totalLimit;
    if (truncated) break;
    rows.push(cells);
  }
  return { columns, rows, truncated };
}

function cellOf(value, limit) {
  if (value === undefined) return null;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value === "string" && value.length > limit)
    return `${value.slice(0, limit)}… (${value.length} characters in all)`;
  if (value instanceof Uint8Array) {
    const shown = value.subarray(0, Math.floor((limit * 3) / 4));
    return {
      base64: Buffer.from(shown.buffer, shown.byteOffset, shown.length).toString("base64"),
      bytes: value.length,
    };
  }
  return value;
}

function sizeOf(cell) {
  return typeof cell === "string" ? cell.length : cell?.base64 === undefined ? 8 : cell.base64.length;
}

function quoted(name) {
  return `"${name.replace(/"/g, '""')}"`;
}

/** Receives batches of rows, answers each, and ends with `{ done: true }`. The file is a copy nobody else knows. */
function receiveRows({ file, table, columns, replace }) {
  const database = open(file, true);
  const withLog = headerOf();
  // The copy takes the database's place only when it is whole, so it needs no journal.
  database.exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536");
  if (replace) database.exec(`DROP TABLE IF EXISTS ${quoted(table)}`);
  else if (database.get("SELECT 1 FROM sqlite_schema WHERE lower(name) = lower(?)", [table]) !== null)
    throw new Error(`there is a table "${table}" already; replace: true puts the new one in its place`);
  const definitions = columns.map(({ name, type }) => `${quoted(name)} ${type}`);
  database.exec(`BEGIN; CREATE TABLE ${quoted(table)} (${definitions.join(", ")})`);
  const width = columns.length;
  const most = Math.max(1, Math.floor(MAX_STATEMENT_VALUES / width));
  const insert = (count) => {
    const one = `(${Array(width).fill("?").join()})`;
    return database.prepare(`INSERT INTO ${quoted(table)} VALUES ${Array(count).fill(one).join()}`);
  };
  const many = insert(most);
  const single = insert(1);
  parentPort.on("message", (message) =>
    answering(() => {
      const { values } = message;
      const step = most * width;
      let at = 0;
      for (; at + step <= values.length; at += step) many.run(values.slice(at, at + step));
      for (; at < values.length; at += width) single.run(values.slice(at, at + width));
      if (!message.done) return { taken: true };
      many.finalize();
      single.finalize();
      database.exec("COMMIT");
      database.close();
      if (withLog) setHeader();
      return { finished: true };
    }),
  );
  return { ready: true };
}

function headerOf() {
  const fd = fs.openSync(SHOWN);
  const bytes = Buffer.alloc(1);
  try {
    // The wall shows every file as one without a log, so the number is read past it.
    return fs.readvSync(fd, [bytes], VERSION_AT) === 1 && bytes[0] === WITH_LOG;
  } finally {
    fs.closeSync(fd);
  }
}

function setHeader() {
  const fd = fs.openSync(SHOWN);
  fs.writeSync(fd, Uint8Array.of(WITH_LOG, WITH_LOG), 0, 2, VERSION_AT);
  fs.closeSync(fd);
}

/** Parses one statement after the other. A parser whose stack has overflowed may be in any state, and is not used again. */
function parser() {
  const { parse } = require("libpg-query");
  parentPort.on("message", ({ sql }) =>
    answering(async () => {
      try {
        return { tree: await parse(sql) };
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof WebAssembly.RuntimeError)) throw error;
        throw new Refused("The statement is nested too deeply.");
      }
    }),
  );
}

const TASKS = { query, receiveRows, parser };

async function answering(work) {
  try {
    const answer = await work();
    if (answer !== undefined) parentPort.postMessage(answer);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    parentPort.postMessage({ failed: message, refused: error instanceof Refused });
  }
}

void answering(() => TASKS[workerData.task](workerData));
