// Which values of a client's file are taken for secrets: by the names people give them, and by what they look like.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isSecretKey } from "../../src/audit/secret-shapes.js";
import { isLikelySecret, likelySecretArguments, likelySecretsIn } from "../../src/cli/likely-secrets.js";

const folder = mkdtempSync(join(tmpdir(), "likely-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const OWNERS = ["", "smtp", "db", "mysql", "aws", "my_app", "x"];
const WORDS = [
  ...["pass", "passwd", "password", "passphrase", "passcode", "pwd", "pw", "pin", "otp", "totp"],
  ...["key", "api_key", "access_key", "secret_key", "signing_key", "encryption_key", "master_key", "ssh_key"],
  ...["secret", "client_secret", "token", "access_token", "auth_token", "bearer", "jwt", "pat", "session", "cookie"],
  ...["credential", "credentials", "creds", "auth", "authorization", "private_key", "psk", "dsn", "salt", "signature"],
];
/** How a name is written: in variables, headers, options and members. */
const STYLES: readonly ((words: readonly string[]) => string)[] = [
  (words) => words.join("_").toUpperCase(),
  (words) => words.join("_"),
  (words) => words.join("-"),
  (words) => words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("-"),
  (words) => words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join(""),
];
const NAMES = OWNERS.flatMap((owner) =>
  WORDS.flatMap((word) => {
    const words = [...owner.split("_"), ...word.split("_")].filter(Boolean);
    return STYLES.map((style) => style(words)).map((name) => (name.toLowerCase() === "pwd" ? `DB_${name}` : name));
  }),
);

describe("names of secrets", () => {
  it.each([...new Set(NAMES)])("%s", (name) => {
    expect(isLikelySecret(name, "hunter2")).toBe(true);
    expect(isLikelySecret(name, "correct horse battery")).toBe(true);
    expect(isLikelySecret(name, "")).toBe(false);
  });

  it.each(["SMTPPASS", "PGPASSWORD", "FTPPWD", "GITHUB_PERSONAL_ACCESS_TOKEN", "APIKEY", "OPENAI_APIKEY"])(
    "%s",
    (name) => expect(isLikelySecret(name, "hunter2")).toBe(true),
  );

  it("are redacted in records, too, where the last word is pass", () => {
    for (const name of ["SMTP_PASS", "smtp-pass", "dbPass", "pass"]) expect(isSecretKey(name), name).toBe(true);
    for (const name of ["compass", "bypass", "passes"]) expect(isSecretKey(name), name).toBe(false);
  });
});

const PLAIN: readonly (readonly [name: string, value: string])[] = [
  ["NODE_ENV", "production"],
  ["LOG_LEVEL", "debug"],
  ["PWD", "/home/ada/project"],
  ["OLDPWD", "/home/ada"],
  ["BYPASS", "localhost"],
  ["COMPASS", "north"],
  ["PASSIVE_MODE", "soft"],
  ["KEYBOARD", "us"],
  ["MONKEY", "george"],
  ["MAX_TOKENS", "4096"],
  ["AUTH_URL", "https://login.example/authorize"],
  ["TOKEN_ENDPOINT", "https://login.example/token"],
  ["AUTH_MODE", "oauth2"],
  ["API_KEY_HEADER", "X-Api-Key"],
  ["USE_TOKEN", "true"],
  ["REGION", "eu-central-1"],
  ["CLUSTER", "us-east-1-production-cluster-2024"],
  ["VERSION", "2026.7.10-beta.3"],
  ["DATE", "2026-01-31T12:00:00Z"],
  ["PROJECT", "MyProjectNameV2Final2024"],
  ["MODEL", "claude-3-5-sonnet-20241022"],
  ["BASE_URL", "https://api.example.com/v2/projects/alpha"],
  ["TENANT_ID", "12345678-1234-1234-1234-123456789012"],
  ["NODE_OPTIONS", "--require=/opt/Hb6yN2wK8cVd5JqX3mTg/hook.js"],
  ["PHONE", "+4912345678901234"],
  ["X-Client", "desktop"],
];

describe("values that are no secrets", () => {
  it.each(PLAIN)("%s=%s", (name, value) => expect(isLikelySecret(name, value)).toBe(false));

  it("a file that a credential is read from, which has to be granted", () => {
    const file = join(folder, "account.json");
    expect(isLikelySecret("GOOGLE_APPLICATION_CREDENTIALS", file)).toBe(true);
    writeFileSync(file, "{}");
    expect(isLikelySecret("GOOGLE_APPLICATION_CREDENTIALS", file)).toBe(false);
  });
});

describe("values that chance has drawn", () => {
  const drawn = Array.from({ length: 200 }, (_, at) =>
    createHash("sha256")
      .update(`value ${at}`)
      .digest()
      .subarray(0, 16 + (at % 17)),
  );
  it.each(["hex", "base64", "base64url"] as const)("as %s, whatever they are called", (encoding) => {
    const missed = drawn.map((bytes) => bytes.toString(encoding)).filter((value) => !isLikelySecret("X-Thing", value));
    // Separators may cut one into parts that are too short to tell.
    expect(missed.length).toBeLessThanOrEqual(encoding === "hex" ? 4 : 40);
  });

  it("in a header of no special name", () => {
    expect(isLikelySecret("X-Thing", "Hb6yN2wK8cVd5JqX3mTg")).toBe(true);
    expect(isLikelySecret("BOARD", "key-90d1e6c2b7f04a11")).toBe(true);
  });
});

describe("in an entry", () => {
  it("secrets of arguments are found by their option and by their form", () => {
    const args = [
      "--smtp-pass",
      "hunter2",
      "--db-pass=s3cret",
      "--verbose",
      "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
      "x",
    ];
    expect(likelySecretArguments(args).map(({ name, value }) => [name, value])).toEqual([
      ["smtp-pass", "hunter2"],
      ["db-pass", "s3cret"],
      ["argument-5", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
    ]);
  });

  it("they are found in whatever member they stand", () => {
    const entry = {
      command: "node",
      args: ["server.mjs", "--token", "abc-1"],
      env: { SMTP_PASS: "hunter2", LOG_LEVEL: "debug" },
      http: { headers: { "X-Thing": "Hb6yN2wK8cVd5JqX3mTg" } },
      url: "https://host.example/mcp?api_key=s3cret&page=2",
    };
    expect(likelySecretsIn(entry)).toEqual(["abc-1", "hunter2", "Hb6yN2wK8cVd5JqX3mTg", entry.url, "s3cret"]);
  });
});
