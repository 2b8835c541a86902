// Shows which claims and headers an otherwise well signed token may have: exactly those, and none that only look like them.
import { createHmac } from "node:crypto";
import { type CryptoKey, exportSPKI, importJWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { readCompactJws } from "../../src/auth/jws.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import {
  brief,
  encode,
  goodClaims,
  ISSUER,
  newSigner,
  NOW_SECONDS,
  present,
  RESOURCE,
  sign,
  type Signer,
  START,
} from "./support/issuer.js";

const now = (): number => START;
let rsa: Signer;
let ec: Signer;
let authenticator: Authenticator;

beforeAll(async () => {
  [rsa, ec] = await Promise.all([newSigner("RS256"), newSigner("ES256")]);
  const jwks = { keys: [rsa.publicJwk, ec.publicJwk] };
  authenticator = jwtAuthenticator({ issuer: ISSUER, audience: RESOURCE, jwks, now });
});

type Case = readonly [what: string, claims: Record<string, unknown>, expected: string];
const REFUSED = "401 invalid_token";

const CLAIM_CASES: readonly Case[] = [
  ["everything as it should be", {}, "ok"],
  ["aud in an array", { aud: [RESOURCE] }, "ok"],
  ["aud among others", { aud: ["https://other.example.com", RESOURCE] }, "ok"],
  ["aud of another server", { aud: "https://other.example.com/mcp" }, REFUSED],
  ["aud a prefix of ours", { aud: "https://mcp.example.com" }, REFUSED],
  ["aud with ours as prefix", { aud: `${RESOURCE}/admin` }, REFUSED],
  ["aud with a slash more", { aud: `${RESOURCE}/` }, REFUSED],
  ["aud in capitals", { aud: RESOURCE.toUpperCase() }, REFUSED],
  ["aud with the port spelled out", { aud: "https://mcp.example.com:443/mcp" }, REFUSED],
  ["aud with a query", { aud: `${RESOURCE}?x` }, REFUSED],
  ["aud with a space", { aud: `${RESOURCE} ` }, REFUSED],
  ["aud two in one string", { aud: `${RESOURCE} https://other.example.com` }, REFUSED],
  ["aud an array without ours", { aud: ["https://other.example.com"] }, REFUSED],
  ["aud an empty array", { aud: [] }, REFUSED],
  ["aud an array in an array", { aud: [[RESOURCE]] }, REFUSED],
  ["aud an array with a number", { aud: [RESOURCE, 1] }, REFUSED],
  ["aud an object", { aud: { 0: RESOURCE } }, REFUSED],
  ["aud null", { aud: null }, REFUSED],
  ["aud missing", { aud: undefined }, REFUSED],
  ["aud empty", { aud: "" }, REFUSED],
  ["iss with a slash more", { iss: `${ISSUER}/` }, REFUSED],
  ["iss of somebody else", { iss: "https://evil.example.com" }, REFUSED],
  ["iss with ours as prefix", { iss: `${ISSUER}.evil.example` }, REFUSED],
  ["iss in capitals", { iss: ISSUER.toUpperCase() }, REFUSED],
  ["iss over http", { iss: "http://issuer.example.com" }, REFUSED],
  ["iss an array", { iss: [ISSUER] }, REFUSED],
  ["iss missing", { iss: undefined }, REFUSED],
  ["iss null", { iss: null }, REFUSED],
  ["exp just within the skew", { exp: NOW_SECONDS - 29 }, "ok"],
  ["exp at the end of the skew", { exp: NOW_SECONDS - 30 }, REFUSED],
  ["exp long ago", { exp: NOW_SECONDS - 3600 }, REFUSED],
  ["exp missing", { exp: undefined }, REFUSED],
  ["exp null", { exp: null }, REFUSED],
  ["exp a string", { exp: String(NOW_SECONDS + 60) }, REFUSED],
  ["exp true", { exp: true }, REFUSED],
  ["exp zero", { exp: 0 }, REFUSED],
  ["exp negative", { exp: -1 }, REFUSED],
  ["exp with a fraction", { exp: NOW_SECONDS + 0.5 }, "ok"],
  ["nbf just within the skew", { nbf: NOW_SECONDS + 30 }, "ok"],
  ["nbf after the skew", { nbf: NOW_SECONDS + 31 }, REFUSED],
  ["nbf a string", { nbf: "0" }, REFUSED],
  ["iat in the future", { iat: NOW_SECONDS + 31 }, REFUSED],
  ["iat an object", { iat: {} }, REFUSED],
  ["iat missing", { iat: undefined }, "ok"],
  ["sub missing", { sub: undefined }, REFUSED],
  ["sub empty", { sub: "" }, REFUSED],
  ["sub a number", { sub: 7 }, REFUSED],
  ["sub with a line break", { sub: "ada\nadmin" }, REFUSED],
  ["sub too long", { sub: "a".repeat(513) }, REFUSED],
  ["scope missing", { scope: undefined }, "ok"],
  ["scope a number", { scope: 1 }, REFUSED],
  ["scope with a quotation mark", { scope: 'a"b' }, REFUSED],
  ["scp with a scope of two words", { scope: undefined, scp: ["a b"] }, REFUSED],
  ["bound to a certificate", { cnf: { "x5t#S256": "x" } }, REFUSED],
  ["bound to a key, sent as bearer", { cnf: { jkt: "x" } }, REFUSED],
  ["bound to nothing known", { cnf: "x" }, REFUSED],
  ["bound twice", { cnf: { jkt: "x", "x5t#S256": "y" } }, REFUSED],
];

describe("claims", () => {
  it.each(CLAIM_CASES)("%s", async (_, claims, expected) => {
    expect(brief(await present(authenticator, await sign(ec, goodClaims(claims))))).toBe(expected);
  });

  it("become an identity that names issuer and subject", async () => {
    const outcome = await present(authenticator, await sign(rsa));
    expect(outcome).toMatchObject({
      ok: true,
      identity: {
        principal: `${ISSUER}#ada`,
        scopes: ["files:read", "files:write"],
        clientId: "editor",
        expiresAt: START + 60_000,
      },
    });
  });

  it("of an issuer with a list of scopes", async () => {
    const outcome = await present(authenticator, await sign(rsa, goodClaims({ scope: undefined, scp: ["a", "b"] })));
    expect(outcome).toMatchObject({ identity: { scopes: ["a", "b"] } });
  });
});

type HeaderCase = readonly [what: string, header: Record<string, unknown>, expected: string];

const HEADER_CASES: readonly HeaderCase[] = [
  ["typ JWT", { typ: "JWT" }, "ok"],
  ["typ with application/", { typ: "application/AT+JWT" }, "ok"],
  ["no typ", { typ: undefined }, "ok"],
  ["typ of a proof", { typ: "dpop+jwt" }, REFUSED],
  ["typ of a logout token", { typ: "logout+jwt" }, REFUSED],
  ["kid of nobody", { kid: "other" }, REFUSED],
  ["kid that is a path", { kid: "../../etc/passwd" }, REFUSED],
  ["kid that is a member of every object", { kid: "__proto__" }, REFUSED],
  ["kid that is SQL", { kid: "' OR 1=1 --" }, REFUSED],
  ["kid too long", { kid: "k".repeat(257) }, REFUSED],
  ["kid of the key of another algorithm", { kid: "RS256" }, REFUSED],
  ["no kid, one key of this algorithm", { kid: undefined }, "ok"],
  ["jku, ignored", { jku: "https://evil.example.com/jwks" }, "ok"],
  ["x5u, ignored", { x5u: "https://evil.example.com/cert" }, "ok"],
];

describe("headers", () => {
  it.each(HEADER_CASES)("%s", async (_, header, expected) => {
    expect(brief(await present(authenticator, await sign(ec, goodClaims(), header)))).toBe(expected);
  });

  it("never let a token bring its own key", async () => {
    const thief = await newSigner("ES256");
    const token = await sign(thief, goodClaims(), { jwk: thief.publicJwk });
    expect(brief(await present(authenticator, token))).toBe(REFUSED);
  });

  it("never let crit, b64 or zip change what is read", async () => {
    const critical = await sign(ec, goodClaims(), { crit: ["b64"], b64: true });
    const parts = (await sign(ec)).split(".");
    const unknown = [encode({ alg: "ES256", kid: "ES256", crit: ["x"], x: 1 }), parts[1], parts[2]].join(".");
    const zipped = await sign(ec, goodClaims(), { zip: "DEF" });
    for (const token of [critical, unknown, zipped]) expect(brief(await present(authenticator, token))).toBe(REFUSED);
  });

  it.each(["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS256 ", "rs256", "RS1", "dir"])(
    "never let alg be %j",
    async (alg) => {
      const body = `${encode({ alg, kid: "RS256" })}.${encode(goodClaims())}`;
      const key = await exportSPKI((await importJWK(rsa.publicJwk, "RS256")) as CryptoKey);
      const mac = createHmac("sha256", key).update(body).digest("base64url");
      for (const token of [`${body}.`, `${body}.${mac}`]) {
        expect(brief(await present(authenticator, token))).toBe(REFUSED);
      }
    },
  );

  it("hold to the pinned algorithms, whatever keys there are", async () => {
    const { alg: _, ...anyAlgorithm } = rsa.publicJwk;
    const jwks = { keys: [anyAlgorithm, ec.publicJwk] };
    const pinned = jwtAuthenticator({ issuer: ISSUER, audience: RESOURCE, jwks, algorithms: ["PS256"], now });
    for (const signer of [rsa, ec]) expect(brief(await present(pinned, await sign(signer)))).toBe(REFUSED);
  });

  it("are judged before any cryptography", async () => {
    const algorithms = new Set(["ES256"]);
    const read = (header: object): unknown =>
      readCompactJws(`${encode({ alg: "ES256", ...header })}.${encode({})}.AAAA`, algorithms, 1_000);
    expect(read({})).toMatchObject({ alg: "ES256" });
    for (const header of [
      { crit: ["exp"] },
      { crit: [] },
      { b64: true },
      { zip: "DEF" },
      { alg: "RS256" },
      { typ: 1 },
    ]) {
      expect(read(header)).toBeUndefined();
    }
  });

  it("hold to a demanded typ", async () => {
    const strict = jwtAuthenticator({
      issuer: ISSUER,
      audience: RESOURCE,
      jwks: { keys: [ec.publicJwk] },
      typ: "at+jwt",
      now,
    });
    expect(brief(await present(strict, await sign(ec)))).toBe("ok");
    expect(brief(await present(strict, await sign(ec, goodClaims(), { typ: "JWT" })))).toBe(REFUSED);
    expect(brief(await present(strict, await sign(ec, goodClaims(), { typ: undefined })))).toBe(REFUSED);
  });
});

describe("options", () => {
  const base = { issuer: ISSUER, audience: RESOURCE };
  it.each([
    ["no algorithm", { ...base, jwks: { keys: [] }, algorithms: [] }, "at least one signature"],
    ["none", { ...base, jwks: { keys: [] }, algorithms: ["none"] }, "none cannot be used"],
    ["HMAC", { ...base, jwks: { keys: [] }, algorithms: ["RS256", "HS256"] }, "HS256 cannot be used"],
    ["no keys", base, "either jwksUri or jwks"],
    [
      "keys twice",
      { ...base, jwks: { keys: [] }, jwksUri: "https://issuer.example.com/jwks" },
      "either jwksUri or jwks",
    ],
    ["keys over http", { ...base, jwksUri: "http://issuer.example.com/jwks" }, "cannot be fetched"],
    ["keys over http on loopback, not allowed", { ...base, jwksUri: "http://127.0.0.1/jwks" }, "cannot be fetched"],
    ["keys from a URL with a user", { ...base, jwksUri: "https://a:b@issuer.example.com/jwks" }, "a:b@issuer"],
    ["no audience", { issuer: ISSUER, jwks: { keys: [] } }, "Give the audience"],
    ["an empty audience", { issuer: ISSUER, audience: [], jwks: { keys: [] } }, "Give the audience"],
    [
      "an issuer with a fragment",
      { issuer: `${ISSUER}#a`, audience: RESOURCE, jwks: { keys: [] } },
      "issuer must be the exact URL",
    ],
    ["an endless skew", { ...base, jwks: { keys: [] }, clockSkewSeconds: 3600 }, "clockSkewSeconds must be between"],
    [
      "a skew that is no number",
      { ...base, jwks: { keys: [] }, clockSkewSeconds: Number.NaN },
      "clockSkewSeconds must be between",
    ],
    ["a scope that is none", { ...base, jwks: { keys: [] }, scopes: ["two words"] }, "is no scope"],
  ])("refuses %s", (_, options, words) => {
    expect(() => jwtAuthenticator(options)).toThrow(words);
  });
});
