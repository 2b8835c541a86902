// What happens after the first token: step-up, refresh, another authorization server, and when to stop.
import { describe, expect, it } from "vitest";
import { type CredentialStore, memoryStore } from "../../src/auth/client/credential-store.js";
import { headlessRedirect, oauth, type OAuthOptions } from "../../src/auth/client/authorization-code.js";
import type { TokenAuthorizer } from "../../src/auth/client/token-authorizer.js";
import { call } from "./support/call.js";
import { directAuthorization } from "./support/direct-authorization.js";
import type { Mock } from "./support/mock-authorization.js";

const user = (mock: Mock, more: Partial<OAuthOptions> = {}): TokenAuthorizer =>
  oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect(), ...more });
const scopesAsked = (mock: Mock): (string | null)[] => mock.to("/authorize").map(({ query }) => query.get("scope"));

describe("step-up", () => {
  it("asks for what was asked for before and what is needed now", async () => {
    const mock = await directAuthorization({
      challengeScope: "mcp:basic",
      prm: { scopes_supported: ["mcp:basic", "mcp:profile"] },
      needs: (method) => (method === "tools/call" ? "mcp:write" : undefined),
    });
    const authorizer = user(mock);
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect((await call(authorizer, mock.serverUrl, "tools/call")).status).toBe(200);
    expect(scopesAsked(mock)).toEqual(["mcp:basic", "mcp:basic mcp:write"]);
    expect(mock.to("/register")).toHaveLength(1);
  });

  it("ends where the token already has the scopes demanded", async () => {
    const mock = await directAuthorization({ challengeScope: "mcp:admin", needs: () => "mcp:admin" });
    mock.options = {
      ...mock.options,
      tokenAnswer: () => ({ status: 200, body: { access_token: "a", token_type: "bearer" } }),
    };
    mock.tokens.set("a", { scope: "" });
    await expect(call(user(mock), mock.serverUrl)).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(mock.to("/authorize")).toHaveLength(1);
  });

  it("asks the user three times at most, however often scopes change", async () => {
    let demand = 0;
    const mock = await directAuthorization({ needs: () => `scope-${demand++}` });
    await expect(call(user(mock), mock.serverUrl)).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(mock.to("/authorize")).toHaveLength(3);
  });

  it("asks the user three times at most for a server that refuses every token, and again after a while", async () => {
    let now = Date.now();
    const mock = await directAuthorization();
    mock.options = { intercept: ({ path }) => (path === "/mcp" ? { status: 401 } : undefined) };
    const authorizer = user(mock, { now: () => now });
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    await expect(call(authorizer, mock.serverUrl)).rejects.toThrow(/3 authorizations/);
    expect(mock.to("/authorize")).toHaveLength(3);
    now += 11 * 60_000;
    mock.options = {};
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
  });

  it("leaves other 403 answers to the caller", async () => {
    const mock = await directAuthorization({
      intercept: ({ path }) => (path === "/mcp" ? { status: 403 } : undefined),
    });
    expect(await call(user(mock), mock.serverUrl)).toEqual({ status: 403, tries: 1 });
  });
});

describe("refresh", () => {
  it("replaces a token before it ends, once for everybody, and keeps the client", async () => {
    let now = Date.now();
    const mock = await directAuthorization({ lifeSeconds: 3600 });
    const authorizer = user(mock, { now: () => now });
    await call(authorizer, mock.serverUrl);
    now += 3_590_000;
    const answers = await Promise.all(Array.from({ length: 8 }, () => call(authorizer, mock.serverUrl)));
    expect(answers.every(({ status, tries }) => status === 200 && tries === 1)).toBe(true);
    expect(mock.to("/token").map(({ form }) => form.get("grant_type"))).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
    expect(mock.to("/token")[1]?.form.get("resource")).toBe(mock.serverUrl);
  });

  it("answers a refused token, once for everybody, with the refresh token of the last answer each time", async () => {
    const mock = await directAuthorization();
    const authorizer = user(mock);
    for (let round = 0; round < 3; round++) {
      mock.tokens.clear();
      const answers = await Promise.all(Array.from({ length: 5 }, () => call(authorizer, mock.serverUrl)));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    }
    const sent = mock.to("/token").map(({ form }) => form.get("refresh_token"));
    expect(sent).toHaveLength(3);
    expect(new Set(sent).size).toBe(3);
    expect(mock.to("/authorize")).toHaveLength(1);
  });

  it("asks the user again when the refresh token is not taken any more", async () => {
    const mock = await directAuthorization();
    const authorizer = user(mock);
    await call(authorizer, mock.serverUrl);
    mock.tokens.clear();
    mock.refreshTokens.clear();
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(mock.to("/authorize")).toHaveLength(2);
    expect(mock.to("/register")).toHaveLength(1);
  });

  it("registers again at an authorization server that forgot the client", async () => {
    const mock = await directAuthorization();
    const authorizer = user(mock);
    await call(authorizer, mock.serverUrl);
    mock.tokens.clear();
    const forgotten = { status: 401, body: { error: "invalid_client" } };
    mock.options = { tokenAnswer: ({ form }) => (form.get("grant_type") === "refresh_token" ? forgotten : undefined) };
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(mock.to("/register")).toHaveLength(2);
  });

  it("keeps the tokens when the authorization server is down, and uses a token that still lives", async () => {
    let now = Date.now();
    const mock = await directAuthorization({ lifeSeconds: 100 });
    const authorizer = user(mock, { now: () => now });
    await call(authorizer, mock.serverUrl);
    mock.options = { ...mock.options, tokenAnswer: () => ({ status: 503 }) };
    now += 80_000;
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    now += 30_000;
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "AUTH_TOKEN" });
    mock.options = { lifeSeconds: 100 };
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(mock.to("/authorize")).toHaveLength(1);
  });

  it("is left to whoever has done it already, in another authorizer of the same store", async () => {
    const mock = await directAuthorization();
    const store = memoryStore();
    const [one, two] = [user(mock, { store }), user(mock, { store })];
    await call(one, mock.serverUrl);
    await call(two, mock.serverUrl);
    mock.tokens.clear();
    await Promise.all([call(one, mock.serverUrl), call(two, mock.serverUrl)]);
    expect(mock.to("/authorize")).toHaveLength(1);
    expect(mock.to("/token")).toHaveLength(2);
  });

  it("of one token is not repeated for a refusal that arrives late", async () => {
    const mock = await directAuthorization();
    const authorizer = user(mock);
    await call(authorizer, mock.serverUrl);
    const old = await authorizer.headers({ method: "POST", url: mock.serverUrl });
    mock.tokens.clear();
    await call(authorizer, mock.serverUrl);
    const late = { method: "POST", url: mock.serverUrl, status: 401, sent: old, header: () => undefined };
    expect(await authorizer.challenged(late)).toBe(true);
    expect(mock.to("/token")).toHaveLength(2);
  });
});

describe("another authorization server", () => {
  it("gets nothing the first one gave: the client registers anew (M60)", async () => {
    const second = await directAuthorization();
    const moved = { yes: false };
    const first: Mock = await directAuthorization({
      intercept({ path }) {
        if (!moved.yes || !path.includes("protected-resource")) return undefined;
        return { status: 200, body: { resource: first.serverUrl, authorization_servers: [second.issuer] } };
      },
    });
    const authorizer = user(first);
    await call(authorizer, first.serverUrl);
    await call(authorizer, first.serverUrl);
    const [oldClient = ""] = first.clients.keys();
    moved.yes = true;
    first.tokens.clear();
    const shared = second.tokens;
    first.options = { ...first.options, intercept: takes(first, second, moved) };
    expect((await call(authorizer, first.serverUrl)).status).toBe(200);
    expect(shared.size).toBe(1);
    const atSecond = JSON.stringify(second.seen.map(({ text, query, headers }) => [text, [...query], headers]));
    expect(atSecond).not.toContain(oldClient);
    for (const token of first.refreshTokens.keys()) expect(atSecond).not.toContain(token);
  });

  it("that only joins the list does not take over", async () => {
    const mock = await directAuthorization();
    const authorizer = user(mock);
    await call(authorizer, mock.serverUrl);
    mock.tokens.clear();
    mock.options = { prm: { authorization_servers: ["https://other.example", mock.issuer] } };
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(mock.to("/authorize")).toHaveLength(1);
  });
});

it("sends its token to no other origin, and none when asked to forget it", async () => {
  const mock = await directAuthorization();
  const store: CredentialStore = memoryStore();
  const authorizer = user(mock, { store });
  await call(authorizer, mock.serverUrl);
  for (const url of [mock.as, "https://evil.example/mcp", mock.serverUrl.replace("http:", "https:"), "nonsense"]) {
    expect(await authorizer.headers({ method: "POST", url })).toEqual({});
    expect(await authorizer.challenged({ method: "POST", url, status: 401, header: () => undefined })).toBe(false);
  }
  await authorizer.forget();
  expect(await authorizer.headers({ method: "POST", url: mock.serverUrl })).toEqual({});
});

/** The first server's answers once it trusts the second one's tokens. */
function takes(first: Mock, second: Mock, moved: { readonly yes: boolean }): NonNullable<Mock["options"]["intercept"]> {
  const before = first.options.intercept;
  return (seen) => {
    const token = seen.headers["authorization"]?.split(" ")[1] ?? "";
    if (moved.yes && seen.path === "/mcp" && second.tokens.has(token)) return { status: 200 };
    return before?.(seen);
  };
}
