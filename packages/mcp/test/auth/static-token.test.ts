// Shows tokens from a list: compared as hashes in constant time, never repeated in any message, mixed with other ways in.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Authenticator, AuthOutcome } from "../../src/auth/authenticator.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import { anyOf, equalInConstantTime, staticTokenAuthenticator } from "../../src/auth/token-authenticator.js";
import { brief, ISSUER, newSigner, present, request, RESOURCE, sign, START } from "./support/issuer.js";

const ADA = "kQ3vT8wY1zB6nM4xR9pL2c";
const BOB = "hG7jF5dS0aZ8xC3vB6nM1q";
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const authenticator = staticTokenAuthenticator([
  { token: ADA, principal: "ada", scopes: ["read"], clientId: "editor" },
  { sha256: sha256(BOB), principal: "bob" },
]);

describe("static tokens", () => {
  it("name whoever has them", async () => {
    expect(await present(authenticator, ADA)).toEqual({
      ok: true,
      identity: { principal: "ada", scopes: ["read"], clientId: "editor" },
    });
    expect(await present(authenticator, BOB)).toEqual({ ok: true, identity: { principal: "bob", scopes: [] } });
  });

  it("are known by their text once they were good, and by nothing near it", async () => {
    for (let round = 0; round < 3; round++) {
      expect(await present(authenticator, ADA)).toMatchObject({ ok: true, identity: { principal: "ada" } });
      expect(await present(authenticator, `${ADA}x`)).toMatchObject({ ok: false, error: "invalid_token" });
    }
  });

  it("are refused in the URL and under another scheme even after they were good", async () => {
    expect((await present(authenticator, ADA)).ok).toBe(true);
    const inUrl = { method: "POST", url: `/mcp?access_token=${ADA}`, header: () => `Bearer ${ADA}` };
    expect(await authenticator.authenticate(inUrl)).toMatchObject({ ok: false, status: 400 });
    const bound = { method: "POST", url: "/mcp", header: () => `DPoP ${ADA}` };
    expect(await authenticator.authenticate(bound)).toMatchObject({ ok: false, status: 401 });
  });

  it.each([
    "",
    "x",
    ADA.slice(0, -1),
    `${ADA}x`,
    ADA.toLowerCase(),
    `${ADA}=`,
    sha256(ADA),
    sha256(BOB),
    "a".repeat(15_000),
  ])("refuse %j", async (token) => {
    const outcome = await present(authenticator, token);
    expect(outcome.ok).toBe(false);
    if (token !== "x" && token !== "") expect(JSON.stringify(outcome)).not.toContain(token);
  });

  it.each([
    ["none", []],
    ["too many", Array.from({ length: 1_001 }, () => ({ token: ADA, principal: "ada" }))],
    [
      "one that two have",
      [
        { token: ADA, principal: "ada" },
        { token: BOB, principal: "bob" },
        { token: ADA, principal: "root" },
      ],
    ],
    [
      "a hash that two have",
      [
        { sha256: sha256(ADA), principal: "ada" },
        { sha256: sha256(ADA), principal: "root" },
      ],
    ],
    ["a short one", [{ token: "hunter2-hunter2", principal: "ada" }]],
    ["one that fits in no header", [{ token: `${ADA} ${ADA}`, principal: "ada" }]],
    ["neither token nor hash", [{ principal: "ada" }]],
    ["both token and hash", [{ token: ADA, sha256: sha256(ADA), principal: "ada" }]],
    ["half a hash", [{ sha256: "abcd", principal: "ada" }]],
    ["nobody's", [{ token: ADA, principal: "" }]],
  ])("cannot be: %s", (_, tokens) => {
    expect(() => staticTokenAuthenticator(tokens)).toThrow(RangeError);
    try {
      staticTokenAuthenticator(tokens);
    } catch (error) {
      expect(String(error)).not.toContain("hunter2");
      expect(String(error)).not.toContain(ADA);
    }
  });
});

describe("comparison", () => {
  it("tells bytes apart wherever they differ", () => {
    const base = Uint8Array.from({ length: 32 }, (_, at) => at * 7);
    expect(equalInConstantTime(base, base.slice())).toBe(true);
    for (let at = 0; at < 32; at++) {
      const other = base.slice();
      other[at] = (other[at] as number) ^ 1;
      expect(equalInConstantTime(base, other)).toBe(false);
    }
    expect(equalInConstantTime(base, base.slice(1))).toBe(false);
  });

  it("reads every byte even when the first differs", () => {
    const read = new Set<number>();
    const watched = new Proxy(new Uint8Array(32).fill(1), {
      get(target, name) {
        if (typeof name === "string" && /^\d+$/.test(name)) read.add(Number(name));
        return Reflect.get(target, name, target) as unknown;
      },
    });
    expect(equalInConstantTime(watched, new Uint8Array(32))).toBe(false);
    expect(read.size).toBe(32);
  });

  it("is how an unknown token is judged, with every known one and without leaving early", () => {
    const source = readFileSync(new URL("../../src/auth/token-authenticator.ts", import.meta.url), "utf8");
    const verify = source.slice(source.indexOf("const verify"), source.indexOf("return remembering"));
    expect(verify).toContain("equalInConstantTime(hash, one.hash)");
    expect(verify).not.toMatch(/===|break|\.find\(|\.get\(|\.has\(/);
  });
});

describe("any of several", () => {
  const refusing = (status: 400 | 401 | 403 | 503, challenge: string): Authenticator => ({
    authenticate: async (): Promise<AuthOutcome> => ({
      ok: false,
      status,
      challenge,
      error: `e${status}`,
      message: "no",
    }),
  });

  it("takes the first that admits", async () => {
    const signer = await newSigner("ES256");
    const jwt = jwtAuthenticator({
      issuer: ISSUER,
      audience: RESOURCE,
      jwks: { keys: [signer.publicJwk] },
      now: () => START,
    });
    const both = anyOf(authenticator, jwt);
    expect(await present(both, ADA)).toMatchObject({ identity: { principal: "ada" } });
    expect(await present(both, await sign(signer))).toMatchObject({ identity: { principal: `${ISSUER}#ada` } });
    expect(brief(await present(both, "neither-of-the-two"))).toBe("401 invalid_token");
    expect(brief(await both.authenticate(request()))).toBe("401 missing_token");
  });

  it.each([
    [[401, 403, 503], "403 e403"],
    [[401, 503, 400], "503 e503"],
    [[401, 400], "400 e400"],
  ] as const)("refuses %j as %s", async (statuses, expected) => {
    const all = anyOf(...statuses.map((status) => refusing(status, "Bearer")));
    expect(brief(await all.authenticate(request()))).toBe(expected);
  });

  it("joins challenges, each once", async () => {
    const all = anyOf(refusing(401, "Bearer"), refusing(401, "DPoP"), refusing(401, "Bearer"), refusing(403, "X"));
    expect(await all.authenticate(request())).toMatchObject({ challenge: "X" });
    const same = anyOf(refusing(401, "Bearer"), refusing(401, "DPoP"), refusing(401, "Bearer"));
    expect(await same.authenticate(request())).toMatchObject({ challenge: "Bearer, DPoP" });
  });

  it("needs one at least", () => {
    expect(() => anyOf()).toThrow(RangeError);
  });
});
