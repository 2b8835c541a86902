// Querying a real PostgreSQL server: what is answered, what is refused, and that nothing is changed.
import { existsSync } from "node:fs";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_ANSWER } from "../../src/capabilities/databases/databases.js";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import {
  PostgresConnection,
  type PostgresUrl,
  Scram,
  parsePostgresUrl,
} from "../../src/capabilities/databases/postgres-connection.js";
import { parsePostgres } from "../../src/capabilities/databases/postgres-store.js";
import { FunctionNames } from "../../src/policy/policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { POSTGRES_HONEST } from "./honest-queries.js";
import { CANARY, openPostgres, samplePostgres, type SamplePostgres } from "./sample-databases.js";
import {
  BUILT_IN_FUNCTIONS,
  checkPostgres,
  HARMLESS_VOLATILE,
  KNOWN_EXTENSIONS,
} from "../../src/capabilities/databases/postgres-statement.js";
import {
  POSTGRES_ATTACKS,
  POSTGRES_COERCED,
  POSTGRES_DOTTED,
  POSTGRES_HIDDEN,
  POSTGRES_PLANNED,
  POSTGRES_TRAPS,
  POSTGRES_UNLISTED,
  dottedCalls,
} from "./sql-attacks.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import "./plain-wasm.js";

const NAME = `mcp_test_${process.pid}`;
const signal = new AbortController().signal;
/** Some hundred statements, each of which a busy server takes a tenth of a second to look up. */
const ATTACKS_MS = 240_000;

const sample = await samplePostgres(NAME);
if (sample === undefined) {
  if (process.env["CI"])
    throw new Error("These tests need PostgreSQL at localhost:5432 (user postgres, no password); start it.");
  console.warn("Skipped: no PostgreSQL at localhost:5432 (user postgres, no password).");
}

/** Functions that one argument is enough for, with a type that a NULL can have. */
const ONE_ARGUMENT = `SELECT DISTINCT ON (p.proname) p.proname, CASE WHEN t.typtype = 'p' THEN 'text' ELSE format_type(t.oid, NULL) END
  FROM pg_proc p JOIN pg_type t ON t.oid = p.proargtypes[0]
  WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.pronargs - p.pronargdefaults <= 1 ORDER BY p.proname, t.oid`;
/** Functions of a view's tree that are neither PostgreSQL's own nor harmless; those of views inside stand in their own trees. */
const CALLED_BY_VIEW = `SELECT p.proname::text, p.oid::regprocedure::text FROM pg_rewrite w,
    regexp_matches(w.ev_action::text, ':(?:funcid|aggfnoid|winfnoid|opfuncid) ([1-9][0-9]*)', 'g') AS m(id)
  JOIN pg_proc p ON p.oid = m.id[1]::oid WHERE w.ev_class = 'judged'::regclass AND (p.oid >= 16384 OR p.provolatile = 'v')`;

/** A statement with a value of the extension's own. */
const EXTENDED: Readonly<Record<string, string>> = {
  citext: "SELECT 'A'::citext = 'a'::citext",
  cube: "SELECT cube_dim('(1, 2)'::cube)",
  hstore: "SELECT hstore('a', 'z') -> 'a'",
  intarray: "SELECT sort('{2,1}'::int[])",
  isn: "SELECT '978-0-393-04002-9'::isbn13",
  ltree: "SELECT nlevel('a.b'::ltree)",
  pg_trgm: "SELECT similarity('one', 'two')",
  pgcrypto: "SELECT digest('a', 'sha256')",
  seg: "SELECT '1 .. 2'::seg",
  unaccent: "SELECT unaccent('\u00e9')",
  "uuid-ossp": "SELECT uuid_nil()",
  fuzzystrmatch: "SELECT soundex('one')",
};

const databasesFor = async (
  url: string,
  entry = "",
  rest = "",
  hosts = '["localhost:5432"]',
  seconds = 3,
  superuser = true,
): Promise<PolicyDatabases> => {
  const hostList = hosts.startsWith('["localhost') ? '[{ host: "localhost", ports: [5432] }]' : hosts;
  const text = `version: "1.0"\n${rest}secrets:\n  pg: { from: "env:PG", hosts: ${hostList} }\ndatabases:\n  main: { secret: pg, superuser: ${superuser}, timeout: ${seconds}${entry} }\n`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  return new PolicyDatabases(() => policy, { environment: { PG: url } });
};

describe("statements, before any server is asked", () => {
  const limits = { timeoutMs: 30_000, signal };
  const none = new FunctionNames([]);

  it("refuses functions, relations and settings that are on no list", async () => {
    expect(POSTGRES_UNLISTED.length).toBeGreaterThan(700);
    const through: string[] = [];
    for (const sql of sampled(POSTGRES_UNLISTED, 5)) {
      const checked = await parsePostgres(sql, limits).then((tree) => checkPostgres(tree, none));
      if (typeof checked !== "string") through.push(sql);
    }
    expect(through).toEqual([]);
  });

  it("lets honest queries go on to the server", async () => {
    const refused: string[] = [];
    for (const sql of sampled(POSTGRES_HONEST, 2)) {
      const checked = checkPostgres(await parsePostgres(sql, limits), none);
      if (typeof checked === "string") refused.push(`${sql}: ${checked}`);
    }
    expect(refused).toEqual([]);
  });
});

describe.skipIf(sample === undefined)("PostgreSQL", () => {
  // Where it is undefined nothing below is run.
  const { url, readerUrl, admin, state, drop } = sample ?? ({} as SamplePostgres);
  let databases: PolicyDatabases;
  const query = (sql: string, limit = 100) => databases.query({ sql, limit, signal });

  beforeAll(async () => {
    // A server may compile a statement that looks dear, which takes seconds on a busy machine.
    databases = await databasesFor(url, ", row_limit: 50", "", undefined, 30);
  });
  afterAll(drop);

  it("refuses attacks and changes nothing", { timeout: ATTACKS_MS }, async () => {
    expect(POSTGRES_ATTACKS.length).toBeGreaterThanOrEqual(150);
    const before = await state();
    const through: string[] = [];
    const one = async (sql: string): Promise<void> => {
      await query(sql).then(
        () => through.push(sql),
        () => undefined,
      );
    };
    for (const sql of sampled(POSTGRES_ATTACKS, 40)) await one(sql);
    expect(through).toEqual([]);
    expect(await state()).toEqual(before);
    expect(existsSync(CANARY)).toBe(false);
  });

  it("refuses what only its catalogue can tell, by our own rule", { timeout: ATTACKS_MS }, async () => {
    const through: string[] = [];
    for (const sql of [
      ...sampled([...POSTGRES_TRAPS, ...POSTGRES_HIDDEN], 3),
      ...sampled(POSTGRES_COERCED, 17),
      ...sampled(POSTGRES_DOTTED, 17),
    ]) {
      const error = await query(sql).catch((thrown: unknown) => thrown as { code?: string });
      if ((error as { code?: string }).code !== "denied") through.push(`${sql}: ${JSON.stringify(error)}`);
    }
    expect(through).toEqual([]);
  });

  it(
    "refuses each function of one argument after a dot, of all that the server has",
    { timeout: 300_000 },
    async () => {
      const { rows } = await admin.query(ONE_ARGUMENT, [], 10_000);
      expect(rows.length).toBeGreaterThan(1_000);
      const through: string[] = [];
      for (const [name, sql] of sampled(dottedCalls(rows), 61)) {
        const error = await query(sql).catch((thrown: unknown) => thrown as { code?: string });
        const denied = (error as { code?: string }).code === "denied";
        if (!denied && (!BUILT_IN_FUNCTIONS.has(name) || name === "current_setting")) through.push(sql);
      }
      expect(through).toEqual([]);
    },
  );

  it(
    "lets through nothing in which the server itself sees a call of what is on no list",
    { timeout: ATTACKS_MS },
    async () => {
      const seen: string[] = [];
      const asked = sampled([...POSTGRES_HONEST, ...POSTGRES_DOTTED, ...POSTGRES_TRAPS], 13);
      for (const sql of asked.filter((text) => /^(select|with|values|table)\b[^;]*$/i.test(text))) {
        if (
          await query(sql).then(
            () => false,
            ({ code }: { code?: string }) => code === "denied",
          )
        )
          continue;
        await admin.run("BEGIN");
        // A view keeps the tree that the server made of it.
        await admin.run(`CREATE VIEW judged AS SELECT 1 AS one FROM (${sql}) AS q`).catch(() => undefined);
        const { rows } = await admin.query(CALLED_BY_VIEW, [], 1_000).catch(() => ({ rows: [] }));
        await admin.run("ROLLBACK");
        seen.push(
          ...rows.filter(([name]) => !HARMLESS_VOLATILE.has(String(name))).map(([, name]) => `${name}: ${sql}`),
        );
      }
      expect(seen).toEqual([]);
    },
  );

  it("has no check of a table run that a query only plans with", async () => {
    for (const sql of POSTGRES_PLANNED) expect((await query(sql)).rows, sql).toEqual([]);
    await expect(admin.query(POSTGRES_PLANNED[0] ?? "", [], 1)).rejects.toThrow("a check was run");
  });

  it("takes a role of the kind that may run programs or read files only when the policy says so", async () => {
    const asked = async (made: Promise<PolicyDatabases>) =>
      (await made).query({ sql: "SELECT 1 AS a", limit: 1, signal });
    const strict = (text: string) => asked(databasesFor(text, "", "", undefined, 30, false));
    await expect(strict(url)).rejects.toMatchObject({ code: "denied", rule: "databases.main.superuser" });
    await expect((await databasesFor(url, "", "", undefined, 30, false)).schema("main", signal)).rejects.toMatchObject({
      code: "denied",
    });
    expect((await strict(readerUrl)).rows).toEqual([[1]]);
    const reader = new URL(readerUrl).username;
    for (const role of ["pg_execute_server_program", "pg_read_server_files", "pg_write_server_files"]) {
      await admin.run(`GRANT ${role} TO ${reader}`);
      await expect(strict(readerUrl), role).rejects.toMatchObject({ code: "denied" });
      await admin.run(`REVOKE ${role} FROM ${reader}`);
    }
    expect((await strict(readerUrl)).rows).toEqual([[1]]);
  });

  it("lets the policy name functions more, each with its schema, and never PostgreSQL's own by a beginning", async () => {
    const naming = await databasesFor(
      url,
      ', functions: [app.price, "pg_*", pg_postmaster_start_time, "peek_v*"]',
      "",
      undefined,
      30,
    );
    const asked = (sql: string) => naming.query({ sql, limit: 5, signal });
    expect((await asked("SELECT app.price(5)")).rows).toEqual([["5"]]);
    expect((await asked("SELECT count(*) FROM priced")).rows).toEqual([[3]]);
    expect((await asked("SELECT pg_postmaster_start_time() < now()")).rows).toEqual([[true]]);
    for (const sql of [
      "SELECT pg_read_file('/etc/hostname')",
      "SELECT peek(1)",
      "SELECT * FROM peek_view",
      "SELECT price(5)",
    ])
      await expect(asked(sql), sql).rejects.toThrow(/not on the list|does not exist/);
    await expect(query("SELECT app.price(5)")).rejects.toThrow("databases.main.functions can name it");
  });

  it("is not led astray by the path of the role", async () => {
    const reader = new URL(readerUrl).username;
    await admin.run(`CREATE SCHEMA shadow; GRANT USAGE ON SCHEMA shadow TO ${reader};
      CREATE FUNCTION shadow.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'shadow' $$;
      CREATE FUNCTION shadow.texteq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
      CREATE OPERATOR shadow.= (FUNCTION = shadow.texteq, LEFTARG = text, RIGHTARG = text);
      CREATE VIEW shadow.pg_proc AS SELECT * FROM pg_catalog.pg_proc WHERE false; GRANT SELECT ON shadow.pg_proc TO ${reader};
      ALTER ROLE ${reader} SET search_path = shadow, public, pg_catalog`);
    try {
      const led = await databasesFor(readerUrl, "", "", undefined, 30, false);
      for (const sql of ["SELECT lower('A')", "SELECT shadow.lower('A')", "SELECT name FROM people WHERE name = 'Ada'"])
        await expect(led.query({ sql, limit: 5, signal }), sql).rejects.toMatchObject({ code: "denied" });
      expect((await led.query({ sql: "SELECT 1 + 1", limit: 5, signal }).catch(String)) as unknown).toContain(
        "operator",
      );
    } finally {
      await admin.run(`DROP SCHEMA shadow CASCADE; ALTER ROLE ${reader} RESET search_path`);
    }
  });

  it("answers honest queries", { timeout: 60_000 }, async () => {
    expect(POSTGRES_HONEST.length).toBeGreaterThanOrEqual(100);
    const refused: string[] = [];
    const one = async (sql: string): Promise<void> => {
      await query(sql).catch((error: unknown) => refused.push(`${sql}: ${String(error)}`));
    };
    for (const sql of sampled(POSTGRES_HONEST, 4)) await one(sql);
    expect(refused).toEqual([]);
  });

  it("answers honest queries beside each extension that it knows, and of its types", { timeout: 120_000 }, async () => {
    const name = `${NAME}_extended`;
    await admin.run(`CREATE DATABASE ${name}`);
    const its = new URL(url);
    its.pathname = `/${name}`;
    const owner = await openPostgres(its.href);
    const refused: string[] = [];
    try {
      await owner.run("CREATE TABLE z (a int, b text); INSERT INTO z VALUES (2, 'two'), (1, 'one')");
      const extended = await databasesFor(its.href, "", "", undefined, 30);
      const available = (await owner.query("SELECT name FROM pg_available_extensions", [], 999)).rows.flat();
      const known = [...KNOWN_EXTENSIONS].filter((each) => available.includes(each));
      expect(known.length).toBeGreaterThan(10);
      for (const each of known) {
        await owner.run(`CREATE EXTENSION "${each}" CASCADE`);
        const own = EXTENDED[each] === undefined ? [] : [EXTENDED[each]];
        for (const sql of ["SELECT * FROM z ORDER BY b", "SELECT b, count(*) FROM z WHERE a > 0 GROUP BY b", ...own])
          await extended
            .query({ sql, limit: 5, signal })
            .catch((error: unknown) => refused.push(`${each}: ${sql}: ${String(error)}`));
        await owner.run(`DROP EXTENSION "${each}" CASCADE`);
      }
    } finally {
      owner.close();
      await admin.run(`DROP DATABASE ${name} WITH (FORCE)`);
    }
    expect(refused).toEqual([]);
  });

  it("says at once that a statement is nested too deeply", async () => {
    await expect(query(`SELECT ${"1 + ".repeat(4_900)}1`)).rejects.toMatchObject({
      code: "denied",
      message: "The statement is nested too deeply.",
    });
    expect((await query("SELECT 1")).rows).toEqual([[1]]);
  });

  it("writes cells so that nothing is lost or too long", async () => {
    const sql =
      "SELECT 1 AS a, 2 AS a, 9007199254740993 AS big, '\\x00ff'::bytea AS bytes, 'NaN'::float8 AS odd, NULL AS none, 1.10 AS exact, true AS yes, repeat('x', 5000) AS long";
    const { columns, rows, truncated } = await query(`${sql} FROM people`, 1);
    expect(columns).toEqual(["a", "a:1", "big", "bytes", "odd", "none", "exact", "yes", "long"]);
    expect(truncated).toBe(true);
    const [row = []] = rows;
    expect(row.slice(0, 8)).toEqual([
      1,
      2,
      "9007199254740993",
      { base64: "AP8=", bytes: 2 },
      "NaN",
      null,
      "1.10",
      true,
    ]);
    expect(row[8]).toMatch(/^x{2000}… \(5000 characters in all\)$/);
    expect((await query("SELECT generate_series(1, 1000000000)", 1_000)).rows.length).toBe(50);
    const long = await query("SELECT repeat('x', 5000) FROM generate_series(1, 50)", 50);
    // What is read counts, and not what is shown of it: rows end where the characters of an answer do.
    expect([long.rows.length, long.truncated]).toEqual([MAX_ANSWER / 5_000, true]);
  });

  it("really stops what takes too long or is cancelled", async () => {
    const busy = `SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b`;
    const running = async (): Promise<string | null | undefined> =>
      (
        await admin.query(
          "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND state = 'active'",
          [NAME],
          1,
        )
      ).rows[0]?.[0];
    const hurried = await databasesFor(url, "", "", undefined, 1);
    await expect(hurried.query({ sql: busy, limit: 1, signal })).rejects.toMatchObject({ code: "timeout" });
    const cancel = new AbortController();
    const asked = databases.query({ sql: busy, limit: 1, signal: cancel.signal });
    await expect.poll(running, { timeout: 10_000 }).toBe("1");
    cancel.abort(new Error("no longer wanted"));
    await expect(asked).rejects.toThrow("no longer wanted");
    await expect.poll(running, { timeout: 2_000 }).toBe("0");
  });

  it("tells the tables and columns", async () => {
    const own = ["adults", "orders", "people"];
    const tables = async () => (await databases.schema("main", signal)).filter(({ name }) => own.includes(name));
    expect(await tables()).toMatchObject([
      { name: "adults", kind: "view", columns: [{ name: "id" }, { name: "name" }, { name: "age" }] },
      { name: "orders", kind: "table", columns: [{}, {}, { name: "total", type: "double precision" }, {}] },
      { name: "people", kind: "table" },
    ]);
  });

  it("goes nowhere but to the secret's hosts, and says nothing of where they are", async () => {
    const refusedBy = async (made: Promise<PolicyDatabases>): Promise<unknown> =>
      (await made).query({ sql: "SELECT 1", limit: 1, signal }).catch((error: unknown) => error);
    const cases = [
      databasesFor(url, "", "", '["db.test"]'),
      databasesFor(url, "", "", "[]"),
      databasesFor(url.replace("5432", "5433")),
      databasesFor(url, "", "network: { offline: true }\n"),
      databasesFor(url, "", 'network: { denied_endpoints: [{ host: "localhost" }] }\n'),
      databasesFor(url, "", "network: { blocked_ports: [5432] }\n"),
    ];
    for (const made of cases) {
      const error = (await refusedBy(made)) as { code: string; rule: string; message: string };
      expect(error.code).toBe("denied");
      expect(error.rule).toBeTruthy();
      expect(error.message).not.toMatch(/localhost|5432|postgres@/);
    }
    const gone = (await refusedBy(databasesFor(url.replace(NAME, "nobody_there")))) as Error;
    const missing = "the server has no database of the name in the secret's URL";
    expect(gone.message).toBe(`The database "main" cannot be reached: ${missing}.`);
    const unset = ((await refusedBy(databasesFor(""))) as Error).message;
    expect(unset).toMatch(/has no value: the variable [A-Z_]+ is not set where this program was started\./);
  });

  it("gives up on a server that asks for the password in clear, or never stops talking", async () => {
    const scripts = [
      Buffer.from("R\0\0\0\x08\0\0\0\x03"),
      Buffer.from("D\x7f\xff\xff\xff", "latin1"),
      Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"),
      // Asks for a proof, and is content without giving its own.
      Buffer.from("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"),
    ];
    for (const script of scripts) {
      const server: Server = createServer(
        (socket) => void socket.on("error", () => undefined).once("data", () => void socket.write(script)),
      );
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const plain = parsePostgresUrl(`postgresql://u:secret@localhost:${port}/d`) as PostgresUrl;
      const socket = connect(port, "127.0.0.1");
      await expect(PostgresConnection.open(socket, { ...plain, host: "db.test" })).rejects.toThrow(
        /refuse|too large|protocol|did not prove/,
      );
      socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe("the messages of a server", () => {
  const said = (type: string, ...body: number[]): Buffer => {
    const head = Buffer.from(`${type}....`, "latin1");
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, Buffer.from(body)]);
  };
  const OPEN = Buffer.concat([said("R", 0, 0, 0, 0), said("Z", 73)]);
  const ROW = said("D", 0, 1, 0, 0, 0, 1, 120);

  /** A connection to a server that says `open` at first and `answers` to a query, in pieces of `size` bytes. */
  async function opened(
    { open = OPEN, answers = ROW, size = Infinity }: { open?: Buffer; answers?: Buffer; size?: number },
    use: (connection: PostgresConnection, socket: Socket) => Promise<void>,
  ): Promise<void> {
    const server: Server = createServer((socket) => {
      socket.on("error", () => undefined).setNoDelay(true);
      const say = async (bytes: Buffer): Promise<void> => {
        for (let at = 0; at < bytes.length; at += size) {
          socket.write(bytes.subarray(at, at + size));
          if (size < bytes.length) await new Promise((resolve) => setImmediate(resolve));
        }
      };
      socket.once("data", () => void say(open).then(() => socket.once("data", () => void say(answers))));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    try {
      const url = parsePostgresUrl(`postgresql://u:secret@localhost:${port}/d`) as PostgresUrl;
      await use(await PostgresConnection.open(socket, url), socket);
    } finally {
      socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  it.each([1, 4, 6, 1_000])("are the same in pieces of %i bytes", async (size) => {
    const answers = Buffer.concat([ROW, said("N"), ROW, said("s"), said("Z", 73)]);
    await opened({ answers, size }, async (connection) => {
      expect(await connection.query("SELECT 1", [], 5)).toEqual({ columns: [], rows: [["x"], ["x"]], more: true });
    });
  });

  it("wait with the server once a thousand of them are read ahead, and are all there afterwards", async () => {
    const rows = 1_003;
    const ahead = Buffer.concat([OPEN, ...Array.from({ length: rows }, () => ROW), said("Z", 73)]);
    await opened({ open: ahead }, async (connection, socket) => {
      await expect.poll(() => socket.isPaused()).toBe(true);
      expect((await connection.query("SELECT 1", [], 5)).rows).toHaveLength(rows);
      expect(socket.isPaused()).toBe(false);
    });
    await opened({ open: Buffer.concat([OPEN, ROW]) }, async (connection, socket) => {
      const asked = connection.query("SELECT 1", [], 5).catch(() => undefined);
      expect(socket.isPaused()).toBe(false);
      socket.destroy();
      await asked;
    });
  });

  it.each([
    [0, "protocol"],
    [3, "protocol"],
    [4, "closed the connection"],
    [16 * 1024 * 1024 - 1, "closed the connection"],
    [16 * 1024 * 1024, "too large"],
  ])("of a length of %i bytes end in: %s", async (length, words) => {
    const head = said("N");
    head.writeInt32BE(length, 1);
    await opened({ answers: head }, async (connection, socket) => {
      const asked = expect(connection.query("SELECT 1", [], 5)).rejects.toThrow(words);
      if (words.startsWith("closed")) socket.once("data", () => setImmediate(() => socket.destroy()));
      await asked;
    });
  });
});

describe("the way in", () => {
  it("reads URLs, and says nothing of what is in them", () => {
    expect(parsePostgresUrl("postgres://me:p%40ss@db.test/shop?sslmode=require")).toEqual({
      host: "db.test",
      port: 5432,
      user: "me",
      password: "p@ss",
      database: "shop",
      encryption: "unverified",
      authorities: undefined,
      binding: "prefer",
    });
    expect(parsePostgresUrl("postgresql://me@db.test?sslrootcert=/etc/ca.pem&channel_binding=require")).toMatchObject({
      encryption: "verified",
      authorities: "/etc/ca.pem",
      binding: "require",
    });
    expect(parsePostgresUrl("postgresql://me@db.test")).toMatchObject({ encryption: "verified", database: "me" });
    expect(parsePostgresUrl("postgresql://me@[::1]:6000/x")).toMatchObject({
      host: "::1",
      port: 6000,
      encryption: "none",
    });
    for (const bad of [
      "",
      "nothing",
      "mysql://a@b",
      "postgresql://db.test/x",
      "postgresql://a@b/x?sslmode=maybe",
      "postgresql://a@b/x?host=/tmp",
      "postgresql://a@b/x?sslrootcert=ca.pem",
      "postgresql://a@b/x?channel_binding=maybe",
    ])
      expect(typeof parsePostgresUrl(bad), bad).toBe("string");
  });

  it("proves a password without sending it (RFC 7677's shape), and wants the server's proof", async () => {
    const scram = new Scram("pencil");
    const nonce = /r=(.*)$/.exec(scram.first())?.[1] ?? "";
    await expect(new Scram("pencil").final(`r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`)).rejects.toThrow("not valid");
    const final = await scram.final(`r=${nonce}server,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`);
    expect(final).toMatch(/^c=biws,r=.+server,p=[\w+/]{43}=$/);
    expect(() => scram.check("v=AAAA")).toThrow("could not prove");
    expect(scram.isProven).toBe(false);
  });

  it("binds the proof to the connection where both can, and tells a server that offers nothing that we could", () => {
    const endPoint = Buffer.from("certificate");
    const offered = ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"];
    const bound = new Scram("pencil", endPoint, offered);
    expect([bound.mechanism, bound.first().slice(0, 24)]).toEqual([offered[0], "p=tls-server-end-point,,"]);
    expect(new Scram("pencil", endPoint, ["SCRAM-SHA-256"]).first()).toMatch(/^y,,n=,r=/);
    expect(new Scram("pencil", undefined, offered)).toMatchObject({ mechanism: offered[1], isBound: false });
    expect(new Scram("pencil", undefined, ["SCRAM-SHA-256-PLUS"]).mechanism).toBeUndefined();
  });
});
