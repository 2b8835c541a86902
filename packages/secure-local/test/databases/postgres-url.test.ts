// What each option of a PostgreSQL URL comes to, by where the server is.
import { describe, expect, it } from "vitest";
import { isLoopbackHost, parsePostgresUrl } from "../../src/capabilities/databases/postgres-connection.js";

const HERE = ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LOCALHOST"];
const ELSEWHERE = ["db.test", "10.0.0.1", "localhost.test", "[::2]", "128.0.0.1"];

describe("sslmode", () => {
  it.each([
    ["disable", "none"],
    ["allow", "if-offered"],
    ["prefer", "if-offered"],
    ["require", "unverified"],
    ["verify-ca", "verified"],
    ["verify-full", "verified"],
  ])("%s means %s, wherever the server is", (mode, encryption) => {
    for (const host of [...HERE, ...ELSEWHERE])
      expect(parsePostgresUrl(`postgresql://me@${host}/d?sslmode=${mode}`), host).toMatchObject({ encryption });
    const certified = parsePostgresUrl(`postgresql://me@db.test/d?sslmode=${mode}&sslrootcert=/ca.pem`);
    // As elsewhere: who names certificates wants them to be looked at.
    const looked = mode === "require" ? "verified" : encryption;
    expect(certified).toMatchObject({ encryption: looked, authorities: "/ca.pem" });
  });

  it("left out is none on this machine, and verified elsewhere or with certificates", () => {
    for (const host of HERE)
      expect(parsePostgresUrl(`postgresql://me@${host}/d`), host).toMatchObject({ encryption: "none" });
    for (const host of [...ELSEWHERE, "localhost/d?sslrootcert=/ca.pem"])
      expect(parsePostgresUrl(`postgresql://me@${host}`), host).toMatchObject({ encryption: "verified" });
  });
});

it.each(["disable", "prefer", "require"])("channel_binding %s is taken as it is", (binding) => {
  expect(parsePostgresUrl(`postgresql://me@db.test/d?channel_binding=${binding}`)).toMatchObject({ binding });
});

it("prefers to bind where nothing is said", () => {
  expect(parsePostgresUrl("postgresql://me@db.test/d")).toMatchObject({ binding: "prefer" });
});

it.each([
  ["postgresql:///d", "it names no host"],
  ["http://me@db.test/d", "it does not begin with postgresql://"],
  ["postgresql://db.test/d", "it names no user"],
  ["postgresql://me%00@db.test/d", "it names no user"],
  ["postgresql://m%e@db.test/d", "it has a % that is no escape"],
  ["postgresql://me@db.test/d?sslmode=", "its sslmode is unknown"],
  ["postgresql://me@db.test/d?channel_binding=", "its channel_binding is unknown"],
  ["postgresql://me@db.test/d?sslcert=/a", "it has options other than sslmode, sslrootcert, channel_binding"],
  ["postgresql://me@db.test/d?sslrootcert=ca.pem", "its sslrootcert is no absolute path"],
])("of %s is said: %s", (url, why) => expect(parsePostgresUrl(url)).toBe(why));

it("knows this machine by its names alone", () => {
  for (const host of ["localhost", "127.0.0.1", "127.255.255.254", "::1"])
    expect(isLoopbackHost(host), host).toBe(true);
  for (const host of ["127.0.0", "127.0.0.1.test", "a127.0.0.1", "::11", "localhost."])
    expect(isLoopbackHost(host), host).toBe(false);
});
