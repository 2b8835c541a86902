// The public list of JSON Web Signatures, valid and spoiled, where somebody has it: our reading, our keys, our verdict.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isSignedBy, readJwsHead } from "../../src/auth/jws.js";
import { jwtAuthenticator, localKeys } from "../../src/auth/access-tokens.js";
import { publicList } from "../support/public-list.js";
import { ISSUER, present, RESOURCE } from "./support/issuer.js";

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  /** Missing where something is encrypted and not signed. */
  readonly jws?: unknown;
  readonly result: "valid" | "invalid";
}

interface Group {
  readonly public?: object;
  readonly private: object;
  readonly tests: readonly Vector[];
}

const NAMES = ["json_web_signature", "json_web_key", "json_web_crypto"];
const folder = publicList("wycheproof");

/** Every algorithm that can be pinned. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const LONGEST = 65_536;

async function accepts(jws: string, jwk: object): Promise<boolean> {
  const head = readJwsHead(jws, new Set(ALGORITHMS), LONGEST);
  const key = head && (await localKeys({ keys: [jwk] }).find(head.alg, head.kid));
  return typeof key === "object" && isSignedBy(jws, key, head?.alg ?? "");
}

/** A key is handed out by its generator's fault (CVE-2017-15361) and not by its form: what looks into that is no verifier. */
const KEY_OF_A_BAD_GENERATOR = /ROCA/i;

describe.skipIf(folder === undefined)("Wycheproof's signatures", () => {
  const testGroups = (folder === undefined ? [] : NAMES).flatMap((name) => {
    const text = readFileSync(join(folder ?? "", `testvectors_v1/${name}_test.json`), "utf8");
    return (JSON.parse(text) as { testGroups: Group[] }).testGroups;
  });
  const vectors = testGroups
    .flatMap(({ tests, ...keys }) =>
      tests.map((vector) => ({ ...vector, jwk: keys.public ?? keys.private, text: textOf(vector.jws) })),
    )
    .filter(({ jws, comment }) => jws !== undefined && !KEY_OF_A_BAD_GENERATOR.test(comment));

  it("no invalid one is taken for signed, and valid ones of asymmetric algorithms are", async () => {
    const taken: Vector[] = [];
    for (const vector of vectors) if (await accepts(vector.text, vector.jwk)) taken.push(vector);
    const invalid = vectors.filter(({ result }) => result === "invalid");
    const wrong = taken.filter(({ result }) => result === "invalid");
    console.log(`${invalid.length} invalid, ${wrong.length} accepted; ${taken.length - wrong.length} valid accepted`);
    expect(wrong.map(({ tcId, comment }) => `${tcId} ${comment}`)).toEqual([]);
    expect(invalid.length).toBeGreaterThanOrEqual(355);
    expect(taken.length).toBeGreaterThan(20);
  });

  it("none of them, whose payloads are no claims, lets anybody in", async () => {
    for (const { text, jwk } of vectors) {
      const algorithms = ALGORITHMS;
      const authenticator = jwtAuthenticator({ issuer: ISSUER, audience: RESOURCE, jwks: { keys: [jwk] }, algorithms });
      expect((await present(authenticator, text)).ok).toBe(false);
    }
  });
});

/** Some are in the JSON serialization, which is no token either. */
function textOf(jws: unknown): string {
  return typeof jws === "string" ? jws : JSON.stringify(jws);
}
