// The public list of JSON Web Signatures, valid and spoiled, where somebody has it: our reading, our keys, our verdict.
// It is read from `../shared/corpora/wycheproof`, or from a checkout of C2SP/wycheproof that WYCHEPROOF names.
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { isSignedBy, readJwsHead } from "../../src/auth/jws.js";
import { jwtAuthenticator } from "../../src/auth/jwt.js";
import { localKeys } from "../../src/auth/key-set.js";
import { ISSUER, present, RESOURCE } from "./support/issuer.js";

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: unknown;
  readonly result: "valid" | "invalid";
}

interface Group {
  readonly public?: object;
  readonly private: object;
  readonly tests: readonly Vector[];
}

const NAME = "testvectors_v1/json_web_signature_test.json";
const PLACES = [process.env["WYCHEPROOF"], resolve(import.meta.dirname, "../../../../../shared/corpora/wycheproof")];
const file = PLACES.flatMap((place) => (place === undefined ? [] : [resolve(place, NAME)])).find((each) =>
  existsSync(each),
);
if (file === undefined) {
  console.log("skipped: Wycheproof's signatures are not here (WYCHEPROOF=<checkout of C2SP/wycheproof>)");
}

/** Every algorithm that can be pinned. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const LONGEST = 65_536;

async function accepts(jws: string, jwk: object): Promise<boolean> {
  const head = readJwsHead(jws, new Set(ALGORITHMS), LONGEST);
  const key = head && (await localKeys({ keys: [jwk] }).find(head.alg, head.kid));
  return typeof key === "object" && isSignedBy(jws, key, head?.alg ?? "");
}

describe.skipIf(file === undefined)("Wycheproof's signatures", () => {
  const { testGroups } = JSON.parse(file === undefined ? '{"testGroups":[]}' : readFileSync(file, "utf8")) as {
    testGroups: Group[];
  };
  const vectors = testGroups.flatMap(({ tests, ...keys }) =>
    tests.map((vector) => ({ ...vector, jwk: keys.public ?? keys.private, text: textOf(vector.jws) })),
  );

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
