// Shows that a bound token is worth nothing without a proof made for it, for this request, just now, once.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { type DpopOptions, dpopVerifier, memoryReplayStore } from "../../src/auth/dpop.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import { protectedResource } from "../../src/auth/resource-metadata.js";
import { repeated } from "../support/soak.js";
import { type DpopClient, newDpopClient, presentWithProof, type ProofChanges, prove } from "./support/dpop-client.js";
import {
  brief,
  Clock,
  goodClaims,
  ISSUER,
  newSigner,
  NOW_SECONDS,
  present,
  request,
  RESOURCE,
  sign,
  type Signer,
} from "./support/issuer.js";

let issuer: Signer;
let client: DpopClient;
let thief: DpopClient;
let clock: Clock;
let authenticator: Authenticator;
let token: string;
let unbound: string;

beforeAll(async () => {
  [issuer, client, thief] = await Promise.all([newSigner("ES256"), newDpopClient(), newDpopClient()]);
  token = await sign(issuer, goodClaims({ cnf: { jkt: client.jkt }, exp: NOW_SECONDS + 3600 }));
  unbound = await sign(issuer);
});

beforeEach(() => {
  clock = new Clock();
  authenticator = make();
});

function make(options: DpopOptions = {}): Authenticator {
  const dpop = dpopVerifier({ origin: "https://mcp.example.com", now: clock.now, ...options });
  const resource = protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER], dpop });
  return jwtAuthenticator({ issuer: ISSUER, resource, jwks: { keys: [issuer.publicJwk] }, dpop, now: clock.now });
}

const send = async (changes?: ProofChanges): Promise<string> =>
  brief(await presentWithProof(authenticator, { token, proof: await prove(client, token, changes) }));

const BAD = "401 invalid_dpop_proof";

describe("proofs", () => {
  it.each(["ES256", "EdDSA", "RS256", "PS256"])("by %s keys are taken", async (alg) => {
    const owner = await newDpopClient(alg);
    const own = await sign(issuer, goodClaims({ cnf: { jkt: owner.jkt } }));
    expect(brief(await presentWithProof(authenticator, { token: own, proof: await prove(owner, own) }))).toBe("ok");
  });

  it.each<[string, ProofChanges, string]>([
    ["the URL with a query and a fragment", { payload: { htu: `${RESOURCE}?a=1#b` } }, "ok"],
    ["the URL in another spelling", { payload: { htu: "HTTPS://MCP.example.com:443/%6dcp" } }, "ok"],
    ["made a minute ago", { payload: { iat: NOW_SECONDS - 60 } }, "ok"],
    ["made longer ago", { payload: { iat: NOW_SECONDS - 61 } }, BAD],
    ["made a little ahead", { payload: { iat: NOW_SECONDS + 10 } }, "ok"],
    ["made in the future", { payload: { iat: NOW_SECONDS + 11 } }, BAD],
    ["made at no time", { payload: { iat: undefined } }, BAD],
    ["made at a time in words", { payload: { iat: String(NOW_SECONDS) } }, BAD],
    ["another method", { payload: { htm: "GET" } }, BAD],
    ["the method in small letters", { payload: { htm: "post" } }, BAD],
    ["no method", { payload: { htm: undefined } }, BAD],
    ["another path", { payload: { htu: `${RESOURCE}/admin` } }, BAD],
    ["another host", { payload: { htu: "https://evil.example.com/mcp" } }, BAD],
    ["another scheme", { payload: { htu: "http://mcp.example.com/mcp" } }, BAD],
    ["another port", { payload: { htu: "https://mcp.example.com:8443/mcp" } }, BAD],
    ["a URL with a user", { payload: { htu: "https://a@mcp.example.com/mcp" } }, BAD],
    ["a path only", { payload: { htu: "/mcp" } }, BAD],
    ["no URL", { payload: { htu: undefined } }, BAD],
    ["the URL in a list", { payload: { htu: [RESOURCE] } }, BAD],
    ["no id", { payload: { jti: undefined } }, BAD],
    ["an empty id", { payload: { jti: "" } }, BAD],
    ["an id that is a number", { payload: { jti: 1 } }, BAD],
    ["an endless id", { payload: { jti: "x".repeat(129) } }, BAD],
    ["no token", { payload: { ath: undefined } }, BAD],
    ["another token", { payload: { ath: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU" } }, BAD],
    ["no typ", { header: { typ: undefined } }, BAD],
    ["the typ of a token", { header: { typ: "at+jwt" } }, BAD],
    ["no key", { header: { jwk: undefined } }, BAD],
    ["a key that is text", { header: { jwk: "key" } }, BAD],
    ["a key of another kind", { header: { jwk: { kty: "oct", k: "c2VjcmV0" } } }, BAD],
    ["critical extensions", { header: { crit: ["b64"], b64: true } }, BAD],
    ["an endless header", { header: { x: "x".repeat(5_000) } }, BAD],
  ])("%s", async (_, changes, expected) => {
    expect(await send(changes)).toBe(expected);
  });

  it("with the private key in them are refused", async () => {
    const { d } = await crypto.subtle.exportKey("jwk", client.privateKey);
    expect(await send({ header: { jwk: { ...client.jwk, d } } })).toBe(BAD);
    // RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1: any one of them gives the key away, or a part of it.
    for (const member of ["p", "q", "dp", "dq", "qi", "oth", "k", "priv"])
      expect(await send({ header: { jwk: { ...client.jwk, [member]: "c2VjcmV0" } } }), member).toBe(BAD);
  });

  it("signed by another key than they name are refused", async () => {
    expect(await send({ signer: thief })).toBe(BAD);
  });

  it("by the key of somebody else are refused", async () => {
    const stolen = await presentWithProof(authenticator, { token, proof: await prove(thief, token) });
    expect(brief(stolen)).toBe(BAD);
  });

  it.each(["none", "HS256"])("by alg %s are refused", async (alg) => {
    const [, payload] = (await prove(client, token)).split(".");
    const header = Buffer.from(JSON.stringify({ alg, typ: "dpop+jwt", jwk: client.jwk })).toString("base64url");
    for (const proof of [`${header}.${payload}.`, `${header}.${payload}.AAAA`]) {
      expect(brief(await presentWithProof(authenticator, { token, proof }))).toBe(BAD);
    }
  });

  it("missing, empty, two or misspelled are refused", async () => {
    const [one, two] = [await prove(client, token), await prove(client, token)];
    for (const proof of [undefined, "", `${one}, ${two}`, `${one},${two}`, `${one}=`, ` ${one}`, "x.y.z"]) {
      const outcome = await presentWithProof(authenticator, proof === undefined ? { token } : { token, proof });
      expect(brief(outcome)).toBe(BAD);
      expect(outcome).toMatchObject({
        challenge: expect.stringMatching(/^DPoP error="invalid_dpop_proof".* algs="ES256 /),
      });
    }
  });

  it("are compared with the request's own URL where no origin is given", async () => {
    const trusting = jwtAuthenticator({
      issuer: ISSUER,
      audience: RESOURCE,
      jwks: { keys: [issuer.publicJwk] },
      dpop: dpopVerifier({ now: clock.now }),
      now: clock.now,
    });
    for (const [url, expected] of [
      [RESOURCE, "ok"],
      [`${RESOURCE}?a=b`, "ok"],
      ["/mcp", BAD],
      ["https://b.example/mcp", BAD],
    ]) {
      const proof = await prove(client, token);
      expect(brief(await presentWithProof(trusting, { token, proof, url: url as string }))).toBe(expected);
    }
  });

  it("are not fooled by a target that looks like another host", async () => {
    const proof = await prove(client, token);
    expect(brief(await presentWithProof(authenticator, { token, proof, url: "//evil.example.com/mcp" }))).toBe(BAD);
  });
});

describe("replays", () => {
  it("are refused as long as the proof would be good", async () => {
    const proof = await prove(client, token, { payload: { iat: NOW_SECONDS + 10 } });
    expect(brief(await presentWithProof(authenticator, { token, proof }))).toBe("ok");
    const step = repeated(3, 1);
    for (let second = 0; second < 90; second += step) {
      expect(brief(await presentWithProof(authenticator, { token, proof }))).toBe(BAD);
      clock.advance(step);
    }
  });

  it("let one through of many sent at once", async () => {
    const proof = await prove(client, token);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => presentWithProof(authenticator, { token, proof })),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
  });

  it("do not mix up two keys that chose the same id", async () => {
    const other = await newDpopClient();
    const theirs = await sign(issuer, goodClaims({ cnf: { jkt: other.jkt } }));
    const payload = { jti: "same" };
    expect(
      brief(await presentWithProof(authenticator, { token, proof: await prove(client, token, { payload }) })),
    ).toBe("ok");
    const second = { token: theirs, proof: await prove(other, theirs, { payload }) };
    expect(brief(await presentWithProof(authenticator, second))).toBe("ok");
  });

  it("are not made possible by a full table, and it empties with time", async () => {
    authenticator = make({ replays: memoryReplayStore(2) });
    const used = await prove(client, token);
    expect(brief(await presentWithProof(authenticator, { token, proof: used }))).toBe("ok");
    expect(await send()).toBe("ok");
    expect(await send()).toBe("503 temporarily_unavailable");
    expect(brief(await presentWithProof(authenticator, { token, proof: used }))).toBe(BAD);
    clock.advance(80);
    expect(await send({ payload: { iat: NOW_SECONDS + 80 } })).toBe("ok");
  });
});

describe("the table of used proofs", () => {
  it("has room for everybody, however much one key fills it, and forgets nothing before its time", () => {
    const table = memoryReplayStore(1_000);
    let greedy = 0;
    while (table.use(`greedy ${greedy}`, 100, 0) === "fresh") greedy += 1;
    expect(greedy).toBe(500);
    for (let at = 0; at < 100; at += 1) expect(table.use(`other${at} x`, 100, 0)).toBe("fresh");
    expect(table.use("greedy again", 100, 0)).toBe("full");
    expect(table.use("greedy 0", 100, 0)).toBe("used");
    expect(table.use("other0 x", 100, 0)).toBe("used");
    let second = 0;
    while (table.use(`second ${second}`, 100, 0) === "fresh") second += 1;
    expect(second).toBe(200);
    expect(table.use("newcomer x", 100, 0)).toBe("fresh");
    expect(table.use("greedy again", 100, 100)).toBe("fresh");
    expect(table.use("greedy 0", 200, 100)).toBe("fresh");
  });

  it("keeps to its bound whoever comes", () => {
    const table = memoryReplayStore(100);
    const taken = Array.from({ length: 300 }, (_, at) => table.use(`key${at} x`, 100, 0));
    expect(taken.filter((verdict) => verdict === "fresh")).toHaveLength(100);
  });
});

describe("schemes", () => {
  it("are not mixed: a bound token is no bearer token", async () => {
    const proof = await prove(client, token);
    const outcome = await presentWithProof(authenticator, { token, proof, scheme: "Bearer" });
    expect(brief(outcome)).toBe("401 invalid_token");
    expect(brief(await present(authenticator, unbound))).toBe("ok");
    expect(brief(await present(authenticator, unbound, "bearer"))).toBe("ok");
  });

  it("are not mixed: an unbound token is not sent with a proof", async () => {
    const proof = await prove(client, unbound);
    expect(brief(await presentWithProof(authenticator, { token: unbound, proof }))).toBe("401 invalid_token");
  });

  it("are not mixed: a bound token is refused where proofs are not checked", async () => {
    const jwks = { keys: [issuer.publicJwk] };
    const without = jwtAuthenticator({ issuer: ISSUER, audience: RESOURCE, jwks, now: clock.now });
    for (const scheme of ["DPoP", "Bearer"]) {
      const proof = await prove(client, token);
      expect(brief(await presentWithProof(without, { token, proof, scheme }))).toBe("401 invalid_token");
    }
  });

  it("are not enough for a token that is bound to something else as well", async () => {
    const cnf = { jkt: client.jkt, "x5t#S256": "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU" };
    const twice = await sign(issuer, goodClaims({ cnf }));
    const outcome = await presentWithProof(authenticator, { token: twice, proof: await prove(client, twice) });
    expect(brief(outcome)).toBe("401 invalid_token");
  });

  it("are both offered, or DPoP alone where it is required", async () => {
    const offered = await authenticator.authenticate(request());
    const metadata = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"';
    const algs = 'algs="ES256 EdDSA Ed25519 PS256 RS256"';
    expect(offered).toMatchObject({ challenge: `Bearer ${metadata}, DPoP ${algs}, ${metadata}` });
    authenticator = make({ required: true });
    expect(await authenticator.authenticate(request())).toMatchObject({ challenge: `DPoP ${algs}, ${metadata}` });
    expect(brief(await present(authenticator, unbound))).toBe("401 invalid_token");
    expect(await send()).toBe("ok");
  });
});

describe("nonces", () => {
  it("are told, demanded, and turn every minute", async () => {
    authenticator = make({ nonce: true });
    const first = await presentWithProof(authenticator, { token, proof: await prove(client, token) });
    expect(first).toMatchObject({
      status: 401,
      error: "use_dpop_nonce",
      challenge: expect.stringMatching(/^DPoP error="use_dpop_nonce"/),
    });
    const nonce = first.headers?.["dpop-nonce"];
    expect(nonce).toMatch(/^[\w-]{22}$/);
    const served = await presentWithProof(authenticator, {
      token,
      proof: await prove(client, token, { payload: { nonce } }),
    });
    expect(served).toMatchObject({ ok: true, headers: { "dpop-nonce": nonce } });
    clock.advance(60);
    const payload = { nonce, iat: NOW_SECONDS + 60 };
    const turned = await presentWithProof(authenticator, { token, proof: await prove(client, token, { payload }) });
    expect(turned.ok).toBe(true);
    expect(turned.headers?.["dpop-nonce"]).not.toBe(nonce);
    clock.advance(60);
    expect(await send({ payload: { nonce, iat: NOW_SECONDS + 120 } })).toBe("401 use_dpop_nonce");
    for (const wrong of ["", 1, [nonce], "made-up"]) {
      expect(await send({ payload: { nonce: wrong, iat: NOW_SECONDS + 120 } })).toBe("401 use_dpop_nonce");
    }
  });

  it("turn by the minute they began in, not by when somebody asks", async () => {
    authenticator = make({ nonce: true });
    const at = async (seconds: number): Promise<string | undefined> => {
      const payload = { nonce: "none", iat: NOW_SECONDS + seconds };
      const answer = await presentWithProof(authenticator, { token, proof: await prove(client, token, { payload }) });
      return answer.headers?.["dpop-nonce"];
    };
    const first = await at(0);
    clock.advance(90);
    const second = await at(90);
    clock.advance(35);
    const third = await at(125);
    expect(new Set([first, second, third]).size).toBe(3);
    // The one before is good for a minute more.
    const payload = { nonce: second, iat: NOW_SECONDS + 125 };
    expect(await send({ payload })).toBe("ok");
  });

  it("use up no proof", async () => {
    authenticator = make({ nonce: { current: () => "n", accepts: (nonce) => nonce === "n" } });
    expect(await send({ payload: { jti: "one" } })).toBe("401 use_dpop_nonce");
    expect(await send({ payload: { jti: "one", nonce: "n" } })).toBe("ok");
  });
});

it.each<[string, DpopOptions]>([
  ["HMAC", { algorithms: ["HS256"] }],
  ["no algorithm", { algorithms: [] }],
  ["an origin with a path", { origin: "https://mcp.example.com/" }],
  ["an origin that is none", { origin: "mcp.example.com" }],
  ["proofs good for a day", { maxAgeSeconds: 86_400 }],
])("refuses the option %s", (_, options) => {
  expect(() => dpopVerifier(options)).toThrow(RangeError);
});
