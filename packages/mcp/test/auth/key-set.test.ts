// Shows how keys of an issuer are fetched: one flight at a time, seldom, kept for ten minutes when it is down, never open.
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { repeated } from "../support/soak.js";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import {
  brief,
  Clock,
  FakeFetch,
  goodClaims,
  ISSUER,
  jsonResponse,
  newSigner,
  present,
  RESOURCE,
  sign,
  type Signer,
} from "./support/issuer.js";

const JWKS_URI = `${ISSUER}/jwks`;
let first: Signer;
let second: Signer;
let clock: Clock;
let issuer: FakeFetch;
let authenticator: Authenticator;
let serial = 0;

beforeAll(async () => {
  [first, second] = await Promise.all([newSigner("ES256", "first"), newSigner("ES256", "second")]);
});

beforeEach(() => {
  clock = new Clock();
  issuer = new FakeFetch(() => jsonResponse({ keys: [first.publicJwk] }));
  authenticator = jwtAuthenticator({
    issuer: ISSUER,
    audience: RESOURCE,
    jwksUri: JWKS_URI,
    fetch: issuer.fetch,
    now: clock.now,
  });
});

/** A token nobody has seen, good for a minute from now, so that no remembered verdict answers. */
function fresh(signer: Signer, header: Record<string, unknown> = {}): Promise<string> {
  const now = clock.ms / 1000;
  return sign(signer, goodClaims({ jti: String(serial++), iat: now, exp: now + 60 }), header);
}

const ask = async (signer: Signer, header?: Record<string, unknown>): Promise<string> =>
  brief(await present(authenticator, await fresh(signer, header)));

const REQUESTS = repeated(100, 500);

describe("fetching", () => {
  it(`asks once for ${REQUESTS} requests at a time, without redirects`, async () => {
    const tokens = await Promise.all(Array.from({ length: REQUESTS }, () => fresh(first)));
    const outcomes = await Promise.all(tokens.map((token) => present(authenticator, token)));
    expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    expect(issuer.calls).toHaveLength(1);
    expect(issuer.calls[0]).toMatchObject({ url: JWKS_URI, init: { redirect: "manual" } });
  });

  it("asks at most once in 30 s for made-up key ids, and never twice at once", async () => {
    const step = repeated(3, 1);
    for (let second = 0; second < 120; second += step) {
      const tokens = await Promise.all(["a", "b", "c"].map((kid) => fresh(first, { kid: kid + second })));
      for (const outcome of await Promise.all(tokens.map((token) => present(authenticator, token)))) {
        expect(brief(outcome)).toBe("401 invalid_token");
      }
      clock.advance(step);
    }
    expect(issuer.calls).toHaveLength(4);
    expect(issuer.mostAtOnce).toBe(1);
  });

  it("finds a new key once the last fetch is 30 s ago", async () => {
    expect(await ask(first)).toBe("ok");
    issuer.answer = () => jsonResponse({ keys: [first.publicJwk, second.publicJwk] });
    clock.advance(29);
    expect(await ask(second)).toBe("401 invalid_token");
    clock.advance(1);
    expect(await ask(second)).toBe("ok");
    expect(issuer.calls).toHaveLength(2);
  });

  it("stops taking a withdrawn key, remembered tokens included", async () => {
    const token = await fresh(first);
    expect(brief(await present(authenticator, token))).toBe("ok");
    issuer.answer = () => jsonResponse({ keys: [second.publicJwk] });
    clock.advance(31);
    expect(await ask(second)).toBe("ok");
    expect(await ask(first)).toBe("401 invalid_token");
    expect(brief(await present(authenticator, token))).toBe("ok");
    clock.advance(30);
    expect(brief(await present(authenticator, token))).toBe("401 invalid_token");
  });

  it("renews behind the back of requests from five minutes on", async () => {
    expect(await ask(first)).toBe("ok");
    let release: (response: Response) => void = () => {};
    issuer.answer = () => new Promise((resolve) => (release = resolve));
    clock.advance(301);
    expect(await ask(first)).toBe("ok");
    expect(issuer.calls).toHaveLength(2);
    release(jsonResponse({ keys: [first.publicJwk] }));
  });
});

describe("an issuer that is down", () => {
  it("is lived without for ten minutes, then nobody gets in until it is back", async () => {
    expect(await ask(first)).toBe("ok");
    issuer.answer = () => Promise.reject(new Error("connection refused"));
    for (let second = 0; second < 599; second += 10) {
      expect(await ask(first)).toBe("ok");
      clock.advance(second === 590 ? 9 : 10);
    }
    clock.advance(1);
    expect(await ask(first)).toBe("503 temporarily_unavailable");
    const calls = issuer.calls.length;
    expect(calls).toBeLessThanOrEqual(1 + 600 / 30);
    issuer.answer = () => jsonResponse({ keys: [first.publicJwk] });
    clock.advance(30);
    expect(await ask(first)).toBe("ok");
  });

  it("cannot be told from one without the key", async () => {
    expect(await ask(first)).toBe("ok");
    issuer.answer = () => new Response("", { status: 500 });
    clock.advance(31);
    expect(await ask(second)).toBe("503 temporarily_unavailable");
    expect(await ask(first)).toBe("ok");
  });

  it("says when to come back, without a challenge", async () => {
    issuer.answer = () => Promise.reject(new Error("no such host"));
    expect(await present(authenticator, await fresh(first))).toMatchObject({
      status: 503,
      challenge: "",
      headers: { "retry-after": "30" },
    });
  });

  it("is given up on when it does not answer", async () => {
    const patience = new AbortController();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(patience.signal);
    issuer.answer = () => new Promise(() => {});
    const waiting = fresh(first).then((token) => present(authenticator, token));
    await vi.waitUntil(() => issuer.calls.length === 1, { timeout: 10_000 });
    patience.abort();
    expect(brief(await waiting)).toBe("503 temporarily_unavailable");
    expect(timeout).toHaveBeenCalledWith(5_000);
    timeout.mockRestore();
  });

  const endless = (): Response =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(16_384)) }));

  it.each<[string, () => Response]>([
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "http://169.254.169.254/" } })],
    ["a redirect with keys in it", () => new Response(JSON.stringify({ keys: [first.publicJwk] }), { status: 302 })],
    ["a page that was not found", () => new Response("{}", { status: 404 })],
    ["more than 64 KiB", () => new Response(JSON.stringify({ keys: [], x: "x".repeat(65_536) }))],
    ["no end", endless],
    ["HTML", () => new Response("<html>")],
    ["a list", () => jsonResponse([first.publicJwk])],
    ["no keys", () => jsonResponse({})],
    ["keys that are no list", () => jsonResponse({ keys: first.publicJwk })],
    ["more than 100 keys", () => jsonResponse({ keys: Array.from({ length: 101 }, () => first.publicJwk) })],
    ["nothing", () => new Response(null, { status: 204 })],
    ["what is no UTF-8", () => new Response(new Uint8Array([0x7b, 0xff, 0x7d]))],
  ])("answers with %s", async (_, answer) => {
    issuer.answer = answer;
    expect(await ask(first)).toBe("503 temporarily_unavailable");
  });
});

describe("keys that do not fit", () => {
  it.each<[string, (jwk: Record<string, unknown>) => readonly unknown[]]>([
    ["for encryption", (jwk) => [{ ...jwk, use: "enc" }]],
    ["for signing only", (jwk) => [{ ...jwk, key_ops: ["sign"] }]],
    ["of another algorithm", (jwk) => [{ ...jwk, alg: "ES384" }]],
    ["of another curve", (jwk) => [{ ...jwk, crv: "P-384" }]],
    ["of another kind", (jwk) => [{ ...jwk, kty: "OKP" }]],
    ["symmetric", () => [{ kty: "oct", k: "c2VjcmV0", kid: "first" }]],
    ["off the curve", (jwk) => [{ ...jwk, y: jwk["x"] }]],
    ["without a coordinate", (jwk) => [{ ...jwk, y: undefined }]],
    ["with an endless coordinate", (jwk) => [{ ...jwk, y: "A".repeat(10_000) }]],
    ["two of one id", (jwk) => [second.publicJwk, jwk].map((one) => ({ ...(one as object), kid: "first" }))],
    ["no objects", () => [null, 1, "x", []]],
  ])("%s", async (_, keys) => {
    issuer.answer = () => jsonResponse({ keys: keys({ ...first.publicJwk }) });
    expect(await ask(first)).toBe("401 invalid_token");
  });

  it("one key without alg serves each algorithm of its kind", async () => {
    const rsa = await newSigner("RS256", "first");
    issuer.answer = () => jsonResponse({ keys: [{ ...rsa.publicJwk, alg: undefined, d: "ignored" }] });
    expect(await ask(rsa)).toBe("ok");
    const pss = await crypto.subtle.exportKey("jwk", rsa.privateKey);
    const key = await crypto.subtle.importKey(
      "jwk",
      { ...pss, alg: "PS256" },
      { name: "RSA-PSS", hash: "SHA-256" },
      false,
      ["sign"],
    );
    expect(await ask({ ...rsa, alg: "PS256", privateKey: key })).toBe("ok");
  });
});
