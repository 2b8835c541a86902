// The tables that honest queries and attacks are tried on, in SQLite and in a PostgreSQL server, and what is in them.
import { createRequire } from "node:module";
import { connect } from "node:net";
import { PostgresConnection, parsePostgresUrl } from "../../src/capabilities/databases/postgres-connection.js";

/** Where a server is looked for: as Debian starts one, letting everybody of this machine in. */
export const ADMIN = "postgresql://postgres@localhost:5432/postgres";
/** What no statement may make. */
export const CANARY = "/tmp/mcp-sql-canary";

const ROWS = `INSERT INTO people VALUES (1, 'Ada', 36), (2, 'Bob', NULL), (3, 'Zoë', 12);
  INSERT INTO orders VALUES (1, 1, 9.5, '2026-01-02'), (2, 1, 3, '2026-02-03')`;
const POSTGRES = `CREATE TABLE people (id integer PRIMARY KEY, name text, age integer);
  CREATE SEQUENCE people_seq; CREATE VIEW adults AS SELECT * FROM people WHERE age > 17;
  CREATE TABLE orders (id integer PRIMARY KEY, person integer REFERENCES people, total double precision, placed text);
  CREATE FUNCTION evil_function() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$;
  ${ROWS}`;
/** What owners of databases have made, and what a statement would run unseen: each leads to a function on no list. */
const TRAPS = `CREATE FUNCTION "SendMail"(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN pg_read_file('/etc/hostname'); END $$;
  CREATE FUNCTION peek(integer) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS $$ SELECT pg_read_file('/etc/hostname') $$;
  CREATE FUNCTION peek(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT pg_catalog.pg_read_file('/etc/hostname') $$;
  CREATE FUNCTION reverse(integer) RETURNS text LANGUAGE sql STABLE AS $$ SELECT pg_read_file('/etc/hostname') $$;
  CREATE FUNCTION peeked(people) RETURNS text LANGUAGE sql STABLE AS $$ SELECT pg_read_file('/etc/hostname') $$;
  CREATE FUNCTION peek_pair(integer, integer) RETURNS text LANGUAGE sql STABLE AS $$ SELECT pg_read_file('/etc/hostname') $$;
  CREATE OPERATOR #!# (FUNCTION = peek_pair, LEFTARG = integer, RIGHTARG = integer);
  CREATE TYPE shade AS ENUM ('dark', 'light'); CREATE TYPE pair AS (a integer, b text);
  CREATE FUNCTION peek_shade(shade) RETURNS integer LANGUAGE sql STABLE AS $$ SELECT length(pg_read_file('/etc/hostname')) $$;
  CREATE CAST (shade AS integer) WITH FUNCTION peek_shade(shade);
  CREATE DOMAIN peeking AS text CHECK (peek(VALUE) IS NOT NULL); CREATE DOMAIN short AS text CHECK (length(VALUE) < 9);
  CREATE TYPE holder AS (inside peeking); CREATE TYPE span AS RANGE (subtype = peeking);
  CREATE TABLE held (one holder, many peeking[], reach span, ones holder[]); CREATE VIEW held_view AS SELECT * FROM held;
  CREATE TABLE labels (label short, many short[]);
  CREATE VIEW peek_view AS SELECT peek(1) AS found; CREATE VIEW peek_view_again AS SELECT * FROM peek_view;
  CREATE VIEW operator_view AS SELECT id #!# id AS found FROM people; CREATE VIEW hash_view AS SELECT rolname, rolpassword FROM pg_authid;
  CREATE VIEW sleep_view AS SELECT pg_sleep(9) IS NULL AS slept;
  CREATE SCHEMA app; CREATE FUNCTION app.price(integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT $1::text $$;
  CREATE VIEW priced AS SELECT app.price(id) AS price FROM people;
  CREATE FUNCTION peek_order(integer, integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_read_file('/etc/hostname'); RETURN 0; END $$;
  CREATE OPERATOR CLASS peek_ops FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 peek_order(integer, integer);
  CREATE TYPE stretch AS RANGE (subtype = integer, subtype_opclass = peek_ops);
  CREATE OPERATOR <<< (FUNCTION = int4lt, LEFTARG = integer, RIGHTARG = integer);
  CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = integer, RIGHTARG = integer, HASHES, MERGES);
  CREATE OPERATOR CLASS peek_sort FOR TYPE integer USING btree AS OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 peek_order(integer, integer);
  CREATE TABLE sorted (at integer, reach stretch); CREATE INDEX ON sorted (at peek_ops); CREATE VIEW sorted_view AS SELECT * FROM sorted;
  CREATE TYPE couple AS (a integer, b text); CREATE FUNCTION peek_same(couple, couple) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN pg_read_file('/etc/hostname') IS NULL; END $$;
  CREATE OPERATOR = (FUNCTION = peek_same, LEFTARG = couple, RIGHTARG = couple); CREATE TABLE couples (one couple, two couple);
  CREATE FUNCTION peek_line(line, line) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_read_file('/etc/hostname'); RETURN 0; END $$;
  CREATE FUNCTION line_less(line, line) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false';
  CREATE OPERATOR <<<< (FUNCTION = line_less, LEFTARG = line, RIGHTARG = line);
  CREATE OPERATOR CLASS line_sort DEFAULT FOR TYPE line USING btree AS OPERATOR 1 <<<<, FUNCTION 1 peek_line(line, line);
  CREATE FUNCTION peek_more(text, integer DEFAULT length(pg_read_file('/etc/hostname'))) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$;
  CREATE FUNCTION peek_any(anyelement) RETURNS text LANGUAGE sql STABLE AS $$ SELECT pg_read_file('/etc/hostname') $$;
  CREATE FUNCTION peek_pair_state(integer, integer) RETURNS integer LANGUAGE sql STABLE AS $$ SELECT length(pg_read_file('/etc/hostname')) $$;
  CREATE AGGREGATE peek_all(integer) (SFUNC = peek_pair_state, STYPE = integer);
  CREATE DOMAIN whole AS integer; CREATE TYPE tinted AS (a integer);
  CREATE TABLE columned (peek text, peek_all integer, id integer); INSERT INTO columned VALUES ('a', 1, 2);
  CREATE TYPE mood AS ENUM ('good'); CREATE FUNCTION peek_mood(mood) RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT pg_read_file('/etc/hostname') IS NULL $$;
  CREATE CAST (mood AS boolean) WITH FUNCTION peek_mood(mood) AS ASSIGNMENT; CREATE TABLE moods (m mood);
  CREATE TYPE tint AS ENUM ('red'); CREATE FUNCTION peek_tint(tint) RETURNS json LANGUAGE sql STABLE AS $$ SELECT to_json(pg_read_file('/etc/hostname')) $$;
  CREATE CAST (tint AS json) WITH FUNCTION peek_tint(tint); CREATE TABLE tints (t tint);
  CREATE FUNCTION peek_check(integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'a check was run'; END $$;
  CREATE TABLE elder (a integer); CREATE TABLE younger (CHECK (peek_check(1))) INHERITS (elder);`;
/** Everything of the database that statements could have changed. */
const STATE = `SELECT (SELECT string_agg(p::text, ';' ORDER BY id) FROM people p), (SELECT string_agg(o::text, ';' ORDER BY id) FROM orders o),
  (SELECT string_agg(relname || relkind::text, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT last_value FROM people_seq), (SELECT count(*) FROM pg_largeobject_metadata)`;

/** Makes the database file. */
export function sampleSqlite(file: string): void {
  // It looks for its WebAssembly beside itself, so no bundle may swallow it.
  const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as typeof import("node-sqlite3-wasm");
  const database = new Database(file);
  database.exec(`CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
    CREATE INDEX people_age ON people (age); CREATE VIEW adults AS SELECT * FROM people WHERE age > 17;
    CREATE TABLE orders (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people, total REAL, placed TEXT);
    ${ROWS}`);
  database.close();
}

/** A database of its own on the server at `ADMIN`. */
export interface SamplePostgres {
  readonly url: string;
  /** For a role that may read the tables and nothing else. */
  readonly readerUrl: string;
  /** As the owner, allowed everything. */
  readonly admin: PostgresConnection;
  /** Differs as soon as anything was changed. */
  state(): Promise<string>;
  /** Takes it away again. */
  drop(): Promise<void>;
}

/** Undefined where no server answers. */
export async function samplePostgres(name: string): Promise<SamplePostgres | undefined> {
  const first = await openPostgres(ADMIN).catch(() => undefined);
  if (first === undefined) return undefined;
  await first.run(`CREATE DATABASE ${name}`);
  first.close();
  const url = ADMIN.replace(/postgres$/, name);
  const admin = await openPostgres(url);
  await admin.run(`${POSTGRES}; ${TRAPS}`);
  await admin.run(
    `CREATE ROLE ${name}_reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}_reader; GRANT USAGE ON SCHEMA app TO ${name}_reader`,
  );
  return {
    url,
    readerUrl: url.replace("postgres@", `${name}_reader@`),
    admin,
    state: async () => JSON.stringify((await admin.query(STATE, [], 1)).rows),
    drop: async () => {
      admin.close();
      const last = await openPostgres(ADMIN);
      await last.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await last.run(`DROP ROLE IF EXISTS ${name}_reader`);
      last.close();
    },
  };
}

/** A connection past every policy. @throws Error when there is none */
export async function openPostgres(text: string): Promise<PostgresConnection> {
  const url = parsePostgresUrl(text);
  if (typeof url === "string") throw new Error(url);
  const socket = connect(url.port, url.host);
  await new Promise<void>((resolve, reject) => void socket.once("connect", resolve).once("error", reject));
  return PostgresConnection.open(socket, url);
}
