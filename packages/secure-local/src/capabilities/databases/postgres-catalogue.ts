// Asks a PostgreSQL server what the names of a statement stand for there, and refuses what could run code that is on no list:
// functions that hide behind listed names, operators, casts, types, views and dotted names.
import type { FunctionNames } from "../../policy/policy.js";
import { DatabaseError, READ_ONLY_RULE } from "./databases.js";
import {
  BUILT_IN_FUNCTIONS,
  EXTENSION_FUNCTIONS,
  HARMLESS_VOLATILE,
  IMPLICIT_OPERATORS,
  isRefusedRelation,
  KNOWN_EXTENSIONS,
  type PostgresStatement,
  type SqlName,
} from "./postgres-statement.js";
import type { PostgresConnection } from "./postgres-connection.js";

/** Rows of the server's catalogue that one statement may lead to; more is no statement anybody wrote. */
const MAX_REACHED = 20_000;

/** The settings of a connection that its own look-ups must not depend on. */
export interface SearchPath {
  /** As it was set. */
  readonly text: string;
  /** Its schemas, as a list of the server's, `pg_catalog` among them. */
  readonly schemas: string;
}

/** Written so that nothing a schema holds can be taken for what is meant. */
const PATH_SQL =
  "SELECT pg_catalog.current_setting('search_path'), CAST(pg_catalog.current_schemas(true) AS pg_catalog.text)";
const ROLE_SQL = `SELECT 1 FROM pg_roles r WHERE r.rolname = current_user AND r.rolsuper
  UNION ALL SELECT 1 FROM pg_roles r WHERE r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
    AND (pg_has_role(current_user, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER'))
  UNION ALL SELECT 1 FROM pg_roles r WHERE r.rolname = session_user AND r.rolsuper LIMIT 1`;

/**
 * Everything a statement can reach, one row each: how, schema, name, whether it is volatile, its extension, whether it belongs to the
 * system. A name after a dot counts as a call and as a type, unless every table it can be asked of has such a column. A text beside
 * a row, an array or a range is made into one without its type being named, so the types of what is read count too.
 *
 * Where a truth value, a number of rows or a position is wanted, what is assigned becomes one, not only what is implied; and what is
 * shown as JSON goes by a cast to it that nobody wrote.
 *
 * Ranges, sorting, grouping and joining call what operator classes name: those of types that are met, of the indexes and partitions
 * of what is read, and of operators that are named. Operators that no statement writes out count for own types only where such a
 * type is met, or something that is met becomes one by itself.
 */
const REACHED_SQL = `WITH RECURSIVE
  called AS (SELECT * FROM unnest($1::text[], $2::text[]) AS a(schema, name)),
  asked AS (SELECT * FROM unnest($6::text[], $7::text[]) AS a(schema, name)),
  path AS (SELECT unnest($8::text[]) AS schema),
  dotted AS (SELECT DISTINCT d.name FROM unnest($3::text[], $10::text[], $11::text[]) AS d(name, schema, relation)
    WHERE NOT coalesce((SELECT bool_and(EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = d.name AND NOT a.attisdropped))
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = d.relation AND (n.nspname = d.schema OR (d.schema = '' AND n.nspname IN (SELECT schema FROM path)))), false)),
  named(name) AS (SELECT unnest($5::text[]) UNION SELECT name FROM dotted),
  targets(oid) AS (
    SELECT t.oid FROM pg_type t WHERE t.typname IN (SELECT name FROM named)
    UNION
    SELECT next.oid FROM targets s JOIN pg_type t ON t.oid = s.oid, LATERAL (
      SELECT t.typelem UNION ALL SELECT t.typbasetype
      UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0) AS next(oid)
    WHERE next.oid <> 0),
  relations(oid) AS (
    SELECT c.oid FROM asked a JOIN pg_class c ON c.relname = a.name JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = a.schema OR (a.schema = '' AND n.nspname IN (SELECT schema FROM path))
    UNION
    SELECT m.id[1]::oid FROM relations v JOIN pg_class c ON c.oid = v.oid AND c.relkind = 'v'
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      JOIN pg_rewrite w ON w.ev_class = v.oid, regexp_matches(w.ev_action::text, ':relid ([1-9][0-9]*)', 'g') AS m(id)),
  types(oid) AS (
    SELECT t.oid FROM pg_type t WHERE t.typname IN (SELECT name FROM named) AND t.oid >= 16384
    UNION SELECT c.reltype FROM relations r JOIN pg_class c ON c.oid = r.oid WHERE c.reltype >= 16384
    UNION SELECT p.prorettype FROM (SELECT name FROM called UNION SELECT name FROM dotted) c JOIN pg_proc p ON p.proname = c.name
      WHERE p.prorettype >= 16384
    UNION
    SELECT next.oid FROM types s JOIN pg_type t ON t.oid = s.oid, LATERAL (
      SELECT t.typelem UNION ALL SELECT t.typbasetype UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
      UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0) AS next(oid)
    WHERE next.oid >= 16384),
  met(oid) AS (
    SELECT oid FROM types
    UNION SELECT a.atttypid FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0
    UNION SELECT r.oid FROM called c JOIN pg_proc p ON p.proname = c.name, unnest(p.proallargtypes || p.prorettype) AS r(oid)),
  shown(oid) AS (SELECT oid FROM met UNION SELECT t.oid FROM pg_type t WHERE t.typname IN (SELECT name FROM named)),
  compared(oid) AS (
    SELECT oid FROM shown
    UNION SELECT c.casttarget FROM pg_cast c JOIN shown v ON v.oid = c.castsource WHERE c.castcontext = 'i' AND c.oid >= 16384),
  classes(oid) AS (
    SELECT r.rngsubopc FROM pg_range r WHERE r.rngtypid IN (SELECT oid FROM types) OR r.rngmultitypid IN (SELECT oid FROM types)
    UNION SELECT c.oid FROM pg_opclass c WHERE c.opcdefault AND c.opcintype IN (SELECT oid FROM compared)
    UNION SELECT k.oid FROM relations r JOIN pg_index i ON i.indrelid = r.oid, unnest(i.indclass) AS k(oid)
    UNION SELECT k.oid FROM relations r JOIN pg_partitioned_table t ON t.partrelid = r.oid, unnest(t.partclass) AS k(oid)),
  families(oid) AS (
    SELECT c.opcfamily FROM classes k JOIN pg_opclass c ON c.oid = k.oid
    UNION SELECT f.oid FROM pg_opfamily f WHERE f.oid < 16384
    UNION SELECT a.amopfamily FROM pg_amop a JOIN pg_operator o ON o.oid = a.amopopr WHERE o.oprname = ANY ($4::text[]) AND o.oid >= 16384),
  trees(how, body) AS (
    SELECT 'view', w.ev_action::text FROM relations v JOIN pg_class c ON c.oid = v.oid AND c.relkind = 'v'
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname NOT IN ('pg_catalog', 'information_schema') JOIN pg_rewrite w ON w.ev_class = v.oid
    UNION ALL SELECT 'type', k.conbin::text FROM types s JOIN pg_constraint k ON k.contypid = s.oid),
  functions(how, oid) AS (
    SELECT 'call', p.oid FROM called a JOIN pg_proc p ON p.proname = a.name JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = a.schema OR (a.schema = '' AND n.nspname IN (SELECT schema FROM path))
    UNION
    SELECT 'dotted', p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname IN (SELECT schema FROM path)
      WHERE p.proname IN (SELECT name FROM dotted) AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1
    UNION
    SELECT 'operator', o.oprcode::oid FROM pg_operator o WHERE o.oprname = ANY ($4::text[]) AND o.oid >= 16384
      AND (o.oprname <> ALL ($9::text[]) OR (o.oprleft < 16384 AND o.oprright < 16384)
        OR o.oprleft IN (SELECT oid FROM compared) OR o.oprright IN (SELECT oid FROM compared))
    UNION
    SELECT 'class', a.amproc::oid FROM families f JOIN pg_amproc a ON a.amprocfamily = f.oid WHERE a.oid >= 16384
    UNION
    SELECT 'class', o.oprcode::oid FROM families f JOIN pg_amop a ON a.amopfamily = f.oid JOIN pg_operator o ON o.oid = a.amopopr
      WHERE a.oid >= 16384 AND o.oid >= 16384 AND f.oid >= 16384
    UNION
    SELECT 'type', r.rngcanonical::oid FROM types t JOIN pg_range r ON t.oid IN (r.rngtypid, r.rngmultitypid) WHERE r.rngcanonical <> 0
    UNION
    SELECT 'cast', c.castfunc FROM pg_cast c JOIN pg_type s ON s.oid = c.castsource JOIN pg_type t ON t.oid = c.casttarget
      WHERE c.oid >= 16384 AND c.castfunc <> 0 AND (
        ((c.castcontext = 'i' OR t.oid IN (SELECT oid FROM targets)) AND t.oid IN (SELECT oid FROM met))
        OR ((c.castcontext <> 'e' OR t.oid IN (SELECT oid FROM targets) OR t.typname = 'json')
          AND ((s.oid < 16384 AND t.oid < 16384) OR s.oid IN (SELECT oid FROM met))))
    UNION
    SELECT t.how, m.id[1]::oid FROM trees t, regexp_matches(t.body, ':(?:funcid|aggfnoid|winfnoid) ([1-9][0-9]*)', 'g') AS m(id)
    UNION
    SELECT t.how, o.oprcode::oid FROM trees t, regexp_matches(t.body, ':opno ([1-9][0-9]*)', 'g') AS m(id)
      JOIN pg_operator o ON o.oid = m.id[1]::oid WHERE o.oid >= 16384)
  SELECT DISTINCT f.how, n.nspname::text, p.proname::text, (p.provolatile = 'v')::text, coalesce(e.extname::text, ''),
      (n.nspname = 'pg_catalog' AND f.how NOT IN ('call', 'dotted') AND (EXISTS (SELECT 1 FROM pg_cast c WHERE c.castfunc = p.oid AND c.oid < 16384)
        OR EXISTS (SELECT 1 FROM pg_operator o WHERE o.oprcode = p.oid AND o.oid < 16384)
        OR EXISTS (SELECT 1 FROM pg_amproc a WHERE a.amproc = p.oid AND a.oid < 16384)))::text
    FROM functions f JOIN pg_proc p ON p.oid = f.oid JOIN pg_namespace n ON n.oid = p.pronamespace
    LEFT JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
    LEFT JOIN pg_extension e ON e.oid = d.refobjid
  UNION ALL
  SELECT 'relation', n.nspname::text, c.relname::text, 'false', '', 'false'
    FROM relations r JOIN pg_class c ON c.oid = r.oid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname LIKE 'pg\\_%' OR n.nspname = 'information_schema'`;

/** Has the names of our own statements mean what stands in `pg_catalog`, whatever the role's path; what they meant before. */
export async function ownPath(connection: PostgresConnection): Promise<SearchPath> {
  const { rows } = await connection.query(PATH_SQL, [], 1);
  // Compiling a look-up that only looks dear would take longer than running it.
  await connection.run("SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off");
  return { text: rows[0]?.[0] ?? "", schemas: rows[0]?.[1] ?? "{}" };
}

/** The path of the role again, for a statement of somebody's. */
export async function callersPath(connection: PostgresConnection, { text }: SearchPath): Promise<void> {
  await connection.query("SELECT pg_catalog.set_config('search_path', $1, true)", [text], 1);
}

/** Whether the role is a superuser, or may run programs on the server or read or write its files. */
export async function isPowerful(connection: PostgresConnection): Promise<boolean> {
  return (await connection.query(ROLE_SQL, [], 1)).rows.length > 0;
}

/** What the policy names more, and under which key. */
export interface CatalogueTerms {
  readonly path: SearchPath;
  readonly functions: FunctionNames;
  /** The key of the policy, as in `databases.sales.functions`. */
  readonly key: string;
}

/** @throws DatabaseError `denied` for what could run more than the lists and the policy allow */
export async function requireListed(
  connection: PostgresConnection,
  statement: PostgresStatement,
  { path, functions, key }: CatalogueTerms,
): Promise<void> {
  const split = (names: readonly SqlName[]): string[] => [
    arrayOf(names.map(({ schema }) => schema)),
    arrayOf(names.map(({ name }) => name)),
  ];
  // A row for each table that has to have the column, and one without a table where that shows nothing.
  const dotted = statement.dotted.flatMap(({ name, tables }) =>
    (tables.length > 0 ? tables : [{ schema: "", name: "" }]).map((table) => ({ name, table })),
  );
  const lists = [dotted.map(({ name }) => name), statement.operators, statement.types].map(arrayOf);
  const asked = [...split(statement.relations), path.schemas, arrayOf(IMPLICIT_OPERATORS)];
  const parameters = [...split(statement.functions), ...lists, ...asked, ...split(dotted.map(({ table }) => table))];
  const { rows, more } = await connection.query(REACHED_SQL, parameters, MAX_REACHED);
  if (more) throw new DatabaseError("denied", "The statement leads to too many parts of the database.", READ_ONLY_RULE);
  for (const [how = "", schema = "", name = "", volatile, extension, system] of rows.map((row) => row.map(String))) {
    if (how === "relation") {
      if (!isRefusedRelation(schema, name)) continue;
      throw new DatabaseError(
        "denied",
        `The relation ${schema}.${name} may not be read, by a view neither.`,
        READ_ONLY_RULE,
      );
    }
    const reached = { how, schema, name, volatile: volatile === "true", extension, system: system === "true" };
    if (functions.names({ schema, name }) || isListed(reached)) continue;
    const by = VIA[how] ?? "The statement calls";
    throw new DatabaseError(
      "denied",
      `${by} the function ${schema}.${name}, which is not on the list of those that only read; ${key} can name it.`,
      READ_ONLY_RULE,
    );
  }
}

const VIA: Readonly<Record<string, string>> = {
  dotted: "A name after a dot, which is not sure to be a column's, can call",
  operator: "An operator of the statement calls",
  cast: "A conversion between types of the statement calls",
  view: "A view of the statement calls",
  type: "A type of the statement calls",
  class: "A way of comparing values (operator class) that the statement can use calls",
};

interface Reached extends SqlName {
  /** `call`, `dotted`, `operator`, `cast`, `class`, `view` or `type`. */
  readonly how: string;
  readonly volatile: boolean;
  /** Empty where no extension owns it. */
  readonly extension: string | undefined;
  /** Whether it stands behind an operator, a cast or an operator class that PostgreSQL came with: extensions build theirs on these. */
  readonly system: boolean;
}

function isListed({ how, schema, name, volatile, extension = "", system }: Reached): boolean {
  // Which setting it tells is only known where it is written as a call.
  if (how === "dotted" && name === "current_setting") return false;
  if (volatile && !HARMLESS_VOLATILE.has(name)) return false;
  if (schema === "pg_catalog") return system || BUILT_IN_FUNCTIONS.has(name);
  // Operators, casts and operator classes of extensions calculate; their functions may do more.
  if (how === "operator" || how === "cast" || how === "class") return extension !== "";
  if (!KNOWN_EXTENSIONS.has(extension)) return false;
  return (how !== "call" && how !== "dotted") || BUILT_IN_FUNCTIONS.has(name) || EXTENSION_FUNCTIONS.has(name);
}

function arrayOf(names: readonly string[]): string {
  return `{${names.map((name) => `"${name.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
