// Shows that no spoiled token gets in: hundreds of variants of good ones, none of them accepted.
import { beforeAll, expect, it } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import { readCompactJws } from "../../src/auth/jws.js";
import { brief, goodClaims, ISSUER, newSigner, present, RESOURCE, sign, type Signer, START } from "./support/issuer.js";
import { signRaw, type Spoiled, spoil } from "./support/invalid-jws.js";

/** As many as the public vectors have. */
const LEAST = 355;

let signers: readonly Signer[];
let authenticator: Authenticator;
let corpus: readonly Spoiled[];

beforeAll(async () => {
  signers = await Promise.all(["RS256", "ES256", "EdDSA"].map((alg) => newSigner(alg)));
  const jwks = { keys: signers.map((signer) => signer.publicJwk) };
  authenticator = jwtAuthenticator({ issuer: ISSUER, audience: RESOURCE, jwks, now: () => START });
  corpus = (await Promise.all(signers.map(spoil))).flat();
});

it("accepts the tokens they are made of", async () => {
  for (const signer of signers) {
    expect(brief(await present(authenticator, await sign(signer)))).toBe("ok");
    const header = JSON.stringify({ alg: signer.alg, kid: signer.kid });
    const raw = (await signRaw(signer))(header, JSON.stringify(goodClaims()));
    expect(brief(await present(authenticator, raw))).toBe("ok");
  }
});

it(`refuses each of at least ${LEAST}`, async () => {
  const accepted: string[] = [];
  for (const [what, token] of corpus) if ((await present(authenticator, token)).ok) accepted.push(what);
  expect(accepted).toEqual([]);
  const different = new Set(corpus.map(([, token]) => token));
  console.log(`${different.size} different spoiled tokens, ${accepted.length} accepted`);
  expect(different.size).toBeGreaterThanOrEqual(LEAST);
});

it("refuses them again after the good token was remembered", async () => {
  for (const [what, token] of corpus) expect((await present(authenticator, token)).ok, what).toBe(false);
});

it("refuses misspelled ones before any cryptography", () => {
  const algorithms = new Set(["RS256", "ES256", "EdDSA"]);
  const misspelled = corpus.filter(([what]) => /padded|in the middle|at its end|stray|no UTF-8/.test(what));
  for (const [what, token] of misspelled) expect(readCompactJws(token, algorithms, 12_288), what).toBeUndefined();
  expect(misspelled.length).toBeGreaterThan(200);
});
