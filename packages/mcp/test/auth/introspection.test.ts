// Shows how an authorization server is asked about opaque tokens: rarely, politely, and believed only in what it says clearly.
import { beforeEach, describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { introspectionAuthenticator, type IntrospectionOptions } from "../../src/auth/access-tokens.js";
import {
  brief,
  Clock,
  FakeFetch,
  goodClaims,
  ISSUER,
  jsonResponse,
  NOW_SECONDS,
  present,
  RESOURCE,
  START,
} from "./support/issuer.js";

const TOKEN = "opaque-token.with~some_characters";
let clock: Clock;
let server: FakeFetch;
let options: IntrospectionOptions;
let authenticator: Authenticator;

const answer = (changes: Record<string, unknown> = {}): Response =>
  jsonResponse({ active: true, ...goodClaims({ exp: NOW_SECONDS + 3600 }), ...changes });

beforeEach(() => {
  clock = new Clock();
  server = new FakeFetch(() => answer());
  options = {
    endpoint: `${ISSUER}/introspect`,
    issuer: ISSUER,
    audience: RESOURCE,
    clientId: "our:id",
    clientSecret: "sécret & more",
    fetch: server.fetch,
    now: clock.now,
  };
  authenticator = introspectionAuthenticator(options);
});

const ask = async (token: string = TOKEN): Promise<string> => brief(await present(authenticator, token));

describe("the question", () => {
  it("carries the token in the form and our name in the header, form-encoded", async () => {
    expect(await present(authenticator, TOKEN)).toMatchObject({
      identity: { principal: `${ISSUER}#ada`, scopes: ["files:read", "files:write"], expiresAt: START + 3_600_000 },
    });
    const { url, init } = server.calls[0] ?? { url: "", init: {} };
    expect(url).toBe(`${ISSUER}/introspect`);
    expect(init).toMatchObject({
      method: "POST",
      redirect: "manual",
      body: `token=${TOKEN.replace("~", "%7E")}&token_type_hint=access_token`,
    });
    const { authorization } = init.headers as Record<string, string>;
    expect(Buffer.from(authorization?.slice("Basic ".length) ?? "", "base64").toString()).toBe(
      "our%3Aid:s%C3%A9cret+%26+more",
    );
  });

  it("carries our name in the form where the server wants it there", async () => {
    authenticator = introspectionAuthenticator({ ...options, clientAuth: "post" });
    expect(await ask()).toBe("ok");
    const init = server.calls[0]?.init;
    expect(Object.fromEntries(new URLSearchParams(init?.body as string))).toMatchObject({
      client_id: "our:id",
      client_secret: "sécret & more",
    });
    expect(init?.headers).not.toHaveProperty("authorization");
  });

  it("is asked once for many requests at a time and once in 30 s", async () => {
    await Promise.all(Array.from({ length: 100 }, () => ask()));
    clock.advance(29);
    expect(await ask()).toBe("ok");
    expect(server.calls).toHaveLength(1);
    server.answer = () => jsonResponse({ active: false });
    clock.advance(1);
    expect(await ask()).toBe("401 invalid_token");
    expect(server.calls).toHaveLength(2);
  });

  it("is asked about at most 32 tokens at a time", async () => {
    const releases: (() => void)[] = [];
    server.answer = () => new Promise((resolve) => releases.push(() => resolve(answer())));
    const asked = Array.from({ length: 40 }, (_, at) => ask(`${TOKEN}${at}`));
    expect(await Promise.all(asked.slice(32))).toEqual(Array.from({ length: 8 }, () => "503 temporarily_unavailable"));
    for (const release of releases) release();
    expect(new Set(await Promise.all(asked.slice(0, 32)))).toEqual(new Set(["ok"]));
  });

  it("is not repeated for a good token because of thousands of bad ones", async () => {
    expect(await ask()).toBe("ok");
    server.answer = () => jsonResponse({ active: false });
    for (let at = 0; at < 1_100; at++) await ask(`${TOKEN}${at}`);
    const calls = server.calls.length;
    expect(await ask()).toBe("ok");
    expect(server.calls).toHaveLength(calls);
  });
});

describe("the answer", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["no longer active", { active: false }, "401 invalid_token"],
    ["active in words", { active: "true" }, "401 invalid_token"],
    ["active as a number", { active: 1 }, "401 invalid_token"],
    ["without active", { active: undefined }, "401 invalid_token"],
    ["for another audience", { aud: "https://other.example.com" }, "401 invalid_token"],
    ["for a prefix of us", { aud: "https://mcp.example.com" }, "401 invalid_token"],
    ["for nobody in particular", { aud: undefined }, "401 invalid_token"],
    ["for several", { aud: ["https://other.example.com", RESOURCE] }, "ok"],
    ["from another issuer", { iss: "https://evil.example.com" }, "401 invalid_token"],
    ["without issuer", { iss: undefined }, "ok"],
    ["expired", { exp: NOW_SECONDS - 30 }, "401 invalid_token"],
    ["without end", { exp: undefined }, "ok"],
    ["with an end in words", { exp: "never" }, "401 invalid_token"],
    ["not yet good", { nbf: NOW_SECONDS + 31 }, "401 invalid_token"],
    ["without subject", { sub: undefined }, "401 invalid_token"],
    ["with scopes in a list", { scope: ["a"] }, "ok"],
    ["with scopes that are none", { scope: 1 }, "401 invalid_token"],
    ["bound to a key", { cnf: { jkt: "x" } }, "401 invalid_token"],
  ])("%s", async (_, changes, expected) => {
    server.answer = () => answer(changes);
    expect(await ask()).toBe(expected);
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ["no answer", () => Promise.reject(new Error("connection refused"))],
    ["our own name not known", () => new Response("{}", { status: 401 })],
    ["a redirect", () => new Response(null, { status: 307, headers: { location: "https://evil.example.com" } })],
    ["no JSON", () => new Response("yes")],
    ["a list", () => jsonResponse([{ active: true }])],
    ["too much", () => jsonResponse({ active: true, x: "x".repeat(70_000) })],
  ])("%s: nobody gets in, and the next request asks again", async (_, broken) => {
    server.answer = broken;
    expect(await ask()).toBe("503 temporarily_unavailable");
    server.answer = () => answer();
    expect(await ask()).toBe("ok");
  });

  it("is not taken for true beyond the end of the token", async () => {
    server.answer = () => answer({ exp: NOW_SECONDS - 20 });
    expect(await ask()).toBe("ok");
    clock.advance(10);
    expect(await ask()).toBe("401 invalid_token");
  });

  it("lacks the scopes every request needs", async () => {
    authenticator = introspectionAuthenticator({ ...options, scopes: ["files:read", "admin"] });
    expect(await present(authenticator, TOKEN)).toMatchObject({
      status: 403,
      error: "insufficient_scope",
      challenge: expect.stringContaining('scope="files:read admin"'),
    });
  });
});

it.each<[string, Partial<IntrospectionOptions>, string]>([
  [
    "an endpoint over http",
    { endpoint: "http://issuer.example.com/introspect" },
    "http://issuer.example.com/introspect",
  ],
  ["an hour of cache", { cacheSeconds: 3_600 }, "cacheSeconds must be between"],
  ["a negative cache", { cacheSeconds: -1 }, "cacheSeconds must be between"],
  ["no issuer", { issuer: "" }, "issuer must be the exact URL"],
  ["no audience", { audience: [] }, "Give the audience"],
])("refuses %s", (_, changes, words) => {
  expect(() => introspectionAuthenticator({ ...options, ...changes })).toThrow(words);
});
