// A PostgreSQL server of the test's own: encryption with certificates made for it, passwords, and rules who may come in how.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { PostgresConnection } from "../../src/capabilities/databases/postgres-connection.js";
import { soaking } from "../../../mcp/test/support/soak.js";
import { openPostgres } from "./sample-databases.js";

const PLACE = "/usr/lib/postgresql";
const RULES = `local all all trust
hostssl all scram 127.0.0.1/32 scram-sha-256
hostssl all clear 127.0.0.1/32 password
hostssl all trusted 127.0.0.1/32 trust
hostnossl all plain 127.0.0.1/32 scram-sha-256
hostnossl all digest 127.0.0.1/32 md5
hostnossl all postgres 127.0.0.1/32 trust
`;
const USERS = `CREATE ROLE scram LOGIN PASSWORD 'p@ss: wörd'; CREATE ROLE clear LOGIN PASSWORD 'clear';
  CREATE ROLE trusted LOGIN; CREATE ROLE plain LOGIN PASSWORD 'plain'; SET password_encryption = 'md5'; CREATE ROLE digest LOGIN PASSWORD 'digest';
  CREATE FUNCTION public.encrypted() RETURNS boolean STABLE LANGUAGE sql AS 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'`;

export interface PrivatePostgres {
  readonly port: number;
  /** The certificate that signed the server's, and one that signed nothing. */
  readonly authority: string;
  readonly stranger: string;
  /** Key and certificate of somebody in between. */
  readonly forged: { readonly key: string; readonly cert: string };
  /** Has it use another certificate, or none at all. */
  encrypt(how: "rsa" | "ec" | "off"): Promise<void>;
  stop(): Promise<void>;
}

/** Why there is none to be had here; undefined when there is. */
export function noPostgres(): string | undefined {
  // A usual run starts no services; what CI can run it runs.
  if (!soaking && !process.env["CI"]) return "a PostgreSQL server of its own is set up with SOAK=1, and in CI";
  if (binaries() === undefined) return `there is no PostgreSQL below ${PLACE}`;
  if (userInfo().uid === 0 && account() === undefined)
    return "a server does not run as root, and there is no user postgres";
  return undefined;
}

export async function privatePostgres(): Promise<PrivatePostgres> {
  const folder = mkdtempSync(join(tmpdir(), "private-pg-"));
  const own = account();
  if (own !== undefined) chownSync(folder, own.uid, own.gid);
  const as = own === undefined ? {} : own;
  const bin = binaries() ?? "";
  const data = join(folder, "data");
  const run = (command: string, args: readonly string[]): void =>
    void execFileSync(command, args, {
      ...as,
      cwd: folder,
      stdio: "pipe",
      env: { PATH: process.env["PATH"], HOME: folder },
    });
  const fresh = ["-U", "postgres", "-A", "trust", "--no-sync", "--wal-segsize=1", "-E", "UTF8", "--locale=C"];
  run(join(bin, "initdb"), ["-D", data, ...fresh]);
  certificates(folder, run);
  writeFileSync(join(data, "pg_hba.conf"), RULES);
  const port = await freePort();
  const settings = (how: "rsa" | "ec" | "off"): void =>
    writeFileSync(
      join(data, "postgresql.auto.conf"),
      `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\nfsync = off\n` +
        (how === "off"
          ? "ssl = off\n"
          : `ssl = on\nssl_cert_file = '${folder}/${how}.pem'\nssl_key_file = '${folder}/${how}.key'\n`),
    );
  settings("rsa");
  const server = spawn(join(bin, "postgres"), ["-D", data], { ...as, cwd: folder, stdio: "ignore" });
  await until(async () => (await asAdministrator(port, (connection) => connection.run(USERS)), true));
  return {
    port,
    authority: join(folder, "ca.pem"),
    stranger: join(folder, "other.pem"),
    forged: { key: join(folder, "forged.key"), cert: join(folder, "forged.pem") },
    encrypt: async (how) => {
      settings(how);
      server.kill("SIGHUP");
      const wanted = how === "off" ? "off" : `${folder}/${how}.pem`;
      await until(async () => (await setting(port, how === "off" ? "ssl" : "ssl_cert_file")) === wanted);
    },
    stop: () => stop(server, folder),
  };
}

async function setting(port: number, name: string): Promise<string | null | undefined> {
  const { rows } = await asAdministrator(port, (connection) =>
    connection.query("SELECT current_setting($1)", [name], 1),
  );
  return rows[0]?.[0];
}

async function asAdministrator<T>(port: number, act: (connection: PostgresConnection) => Promise<T>): Promise<T> {
  const connection = await openPostgres(`postgresql://postgres@127.0.0.1:${port}/postgres`);
  try {
    return await act(connection);
  } finally {
    connection.close();
  }
}

/**
 * An authority, what it signed for `localhost` (RSA with SHA-256, elliptic curves with SHA-384), and two strangers, whose keys
 * are of the kind that is made quickly. There is one RSA key, of the authority and of one server: it takes as long to make as
 * all the rest.
 */
function certificates(folder: string, run: (command: string, args: readonly string[]) => void): void {
  const at = (name: string): string => join(folder, name);
  const request = (name: string, subject: string, ...rest: readonly string[]): void =>
    run("openssl", ["req", ...rest, "-nodes", "-out", at(name), "-subj", `/CN=${subject}`]);
  const ec = (name: string): string[] => {
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    return [...kind, "-keyout", at(`${name}.key`)];
  };
  request("ca.pem", "test authority", "-x509", "-newkey", "rsa:2048", "-keyout", at("ca.key"));
  request("other.pem", "another authority", "-x509", ...ec("other"));
  request("forged.pem", "localhost", "-x509", ...ec("forged"));
  run("cp", ["-p", at("ca.key"), at("rsa.key")]);
  request("rsa.csr", "localhost", "-new", "-key", at("rsa.key"));
  request("ec.csr", "localhost", "-new", ...ec("ec"));
  writeFileSync(at("names"), "subjectAltName=DNS:localhost\n");
  const signed = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("names")];
  for (const [name, hash] of [
    ["rsa", "-sha256"],
    ["ec", "-sha384"],
  ] as const)
    run("openssl", ["x509", "-req", "-in", at(`${name}.csr`), ...signed, hash, "-out", at(`${name}.pem`)]);
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  const ended = once(server, "exit");
  server.kill("SIGINT");
  if (server.exitCode === null) await ended;
  rmSync(folder, { recursive: true, force: true });
}

/** The programs of the newest version there is. */
function binaries(): string | undefined {
  const versions = existsSync(PLACE) ? readdirSync(PLACE).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(PLACE, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

/** Whom a server is run as by an administrator. */
function account(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  try {
    const id = (what: string): number => Number(execFileSync("id", [what, "postgres"], { stdio: "pipe" }).toString());
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      if (await holds()) return;
    } catch (error) {
      if (tries >= 200) throw error;
    }
    if (tries >= 200) throw new Error("the server does not become what it should");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
