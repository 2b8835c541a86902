// Encryption and passwords against a real PostgreSQL server: whom we believe, what we send whom, and somebody in between.
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { noPostgres, privatePostgres, type PrivatePostgres } from "./private-postgres.js";
import "./plain-wasm.js";

const missing = noPostgres();
if (missing !== undefined) console.warn(`Skipped: ${missing}.`);
const signal = new AbortController().signal;
const PASSWORD = encodeURIComponent("p@ss: wörd");

/** What `SELECT` says of the connection, or why there was none. */
async function over(url: string, sql = "SELECT public.encrypted()"): Promise<unknown> {
  const { hostname, port } = new URL(url);
  const text = `version: "1.0"\nsecrets:\n  pg: { from: "env:PG", hosts: [{ host: "${hostname}", ports: [${port}] }] }\ndatabases:\n  main: { secret: pg, superuser: true, functions: [public.encrypted], timeout: 5 }\n`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const databases = new PolicyDatabases(() => policy, { environment: { PG: url } });
  return databases.query({ sql, limit: 10, signal }).then(
    ({ rows }) => rows,
    (error: Error) => error.message.replace('The database "main" cannot be reached: ', ""),
  );
}

describe.skipIf(missing !== undefined)("a PostgreSQL server with encryption", () => {
  let server: PrivatePostgres;
  beforeAll(async () => {
    server = await privatePostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  const at = (user: string, options: string, host = "localhost"): string =>
    `postgresql://${user}@${host}:${server.port}/postgres${options === "" ? "" : `?${options}`}`;
  const verified = (more = ""): string => `sslmode=verify-full&sslrootcert=${server.authority}${more}`;

  it.each(["rsa", "ec"] as const)("is asked honest things, bound to its certificate (%s)", async (how) => {
    await server.encrypt(how);
    const scram = `scram:${PASSWORD}`;
    for (const options of [verified(), verified("&channel_binding=require"), verified("&channel_binding=disable")])
      expect(await over(at(scram, options)), options).toEqual([[true]]);
    for (const options of ["sslmode=require", "sslmode=prefer", "sslmode=require&channel_binding=require"])
      expect(await over(at(scram, options)), options).toEqual([[true]]);
    expect(await over(at(scram, verified()), "SELECT current_user, sum(n) FROM generate_series(1, 50000) n")).toEqual([
      ["scram", 1_250_025_000],
    ]);
    expect(await over(at("clear:clear", verified()))).toEqual([[true]]);
    expect(await over(at("trusted", verified()))).toEqual([[true]]);
  });

  it("is not believed with a certificate of another authority, of another name, or of nobody we know", async () => {
    const scram = `scram:${PASSWORD}`;
    const untrusted = "the server's certificate is not trusted.";
    expect(await over(at(scram, `sslmode=verify-full&sslrootcert=${server.stranger}`))).toBe(untrusted);
    expect(await over(at(scram, `sslmode=require&sslrootcert=${server.stranger}`))).toBe(untrusted);
    expect(await over(at(scram, `sslrootcert=${server.stranger}`))).toBe(untrusted);
    expect(await over(at(scram, verified(), "127.0.0.1"))).toBe(untrusted);
    expect(await over(at(scram, "sslmode=verify-full"))).toBe(untrusted);
    expect(await over(at(scram, "sslmode=verify-full&sslrootcert=/nowhere/ca.pem"))).toBe(
      "the file of its sslrootcert cannot be read.",
    );
  });

  it("lets nobody in with a wrong password, user or way, and says nothing of it", async () => {
    const refused = "the server refused to let us in.";
    expect(await over(at("scram:wrong", verified()))).toBe(refused);
    expect(await over(at("scram", verified()))).toBe(refused);
    expect(await over(at("nobody:x", verified()))).toBe(refused);
    // Who must come encrypted and does not, and the other way round.
    expect(await over(at(`scram:${PASSWORD}`, "sslmode=disable"))).toBe(refused);
    expect(await over(at("plain:plain", verified()))).toBe(refused);
  });

  it("takes passwords without encryption on this machine alone, and only where that was said", async () => {
    expect(await over(at("plain:plain", ""))).toEqual([[false]]);
    expect(await over(at("digest:digest", "sslmode=disable"))).toEqual([[false]]);
    expect(await over(at("digest:wrong", "sslmode=disable"))).toBe("the server refused to let us in.");
  });

  it("has to bind where that is required: by password, and not by trust or in clear", async () => {
    const unbound = "the server does not bind the authentication to the encryption.";
    expect(await over(at("trusted", verified("&channel_binding=require")))).toBe(unbound);
    expect(await over(at("clear:clear", verified("&channel_binding=require")))).toBe(unbound);
    expect(await over(at("plain:plain", "channel_binding=require"))).toBe(unbound);
  });

  it("cannot be imitated by somebody in between, even where no certificate is looked at", async () => {
    const forged = { key: readFileSync(server.forged.key), cert: readFileSync(server.forged.cert) };
    const between = createServer((socket) => relay(socket, server.port, forged));
    await new Promise<void>((resolve) => void between.listen(0, "127.0.0.1", resolve));
    const { port } = between.address() as AddressInfo;
    const through = (options: string): string =>
      `postgresql://scram:${PASSWORD}@localhost:${port}/postgres?sslmode=require${options}`;
    expect(await over(through(""))).toBe("the server refused to let us in.");
    expect(await over(through("&channel_binding=require"))).toBe("the server refused to let us in.");
    // What the binding is for: without it the one in between is not noticed.
    expect(await over(through("&channel_binding=disable"))).toEqual([[true]]);
    between.close();
  });

  it("without encryption is refused wherever that was asked for", async () => {
    await server.encrypt("off");
    const offers = "the server offers no encryption.";
    const scram = `scram:${PASSWORD}`;
    for (const options of [verified(), "sslmode=require", "sslmode=verify-ca", `sslrootcert=${server.authority}`])
      expect(await over(at(scram, options)), options).toBe(offers);
    expect(await over(at("plain:plain", "sslmode=prefer"))).toEqual([[false]]);
  });
});

/** Decrypts what comes, encrypts it anew, and lets everything through. */
function relay(plain: Socket, port: number, forged: { readonly key: Buffer; readonly cert: Buffer }): void {
  plain.on("error", () => undefined);
  plain.once("data", (request: Buffer) => {
    plain.write("S");
    const near = new TLSSocket(plain, { isServer: true, ...forged });
    const raw = connect(port, "127.0.0.1", () => void raw.write(request));
    raw.once("data", () => {
      const far = connectTls({ socket: raw, rejectUnauthorized: false });
      for (const end of [near, far]) end.on("error", () => undefined);
      near.pipe(far).pipe(near);
    });
  });
}
