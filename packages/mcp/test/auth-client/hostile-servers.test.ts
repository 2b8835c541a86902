// Hostile set-ups: whoever runs the MCP server, or stands in for its authorization server, gets no credential and opens no bad page.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { FetchLike } from "../../src/auth/fetch-json.js";
import { headlessRedirect, oauth, type OAuthOptions, redirectTo } from "../../src/auth/client/authorization-code.js";
import { call } from "./support/call.js";
import { directAuthorization } from "./support/direct-authorization.js";
import { type Json, type Mock, mockAuthorization, type MockOptions } from "./support/mock-authorization.js";

const SECRET = "s3cr3t-of-the-operator";
const PRM_PATH = "/.well-known/oauth-protected-resource/mcp";

interface SetUp extends MockOptions {
  readonly code: string;
  /** Gets that far and no further. */
  readonly reaches?: "metadata" | "authorize" | "token";
}

const wrong = (metadata: Json, code = "AUTH_DISCOVERY"): SetUp => ({ code, metadata, reaches: "metadata" });
const prm = (document: Json, code: string): SetUp => ({ code, prm: document });
const answer = (callback: MockOptions["callback"], code: string, metadata: Json = {}): SetUp => ({
  code,
  metadata,
  reaches: "authorize",
  ...(callback === undefined ? {} : { callback }),
});
const quiet = { authorization_response_iss_parameter_supported: false };
const redirects =
  (path: string, location: string): NonNullable<MockOptions["intercept"]> =>
  (seen) =>
    seen.path === path ? { status: 307, headers: { location } } : undefined;

const SET_UPS: Record<string, SetUp> = {
  "metadata of another issuer (M59)": wrong({ issuer: "https://attacker.example" }, "AUTH_ISSUER"),
  "an issuer with a slash more": wrong({ issuer: "http://127.0.0.1/" }, "AUTH_ISSUER"),
  "no issuer at all": wrong({ issuer: undefined }, "AUTH_ISSUER"),
  "an authorization page in javascript:": wrong({ authorization_endpoint: "javascript:alert(document.domain)" }),
  "an authorization page in a file": wrong({ authorization_endpoint: "file:///etc/passwd" }),
  "an authorization page in data:": wrong({ authorization_endpoint: "data:text/html,<script>alert(1)</script>" }),
  "an authorization page of another program": wrong({ authorization_endpoint: "ms-msdt:/id PCWDiagnostic" }),
  "an authorization page with a command in it": wrong({ authorization_endpoint: "$(touch /tmp/owned)" }),
  "an authorization page without https": wrong({ authorization_endpoint: "http://as.example/authorize" }),
  "an authorization page elsewhere": wrong({ authorization_endpoint: "https://honest.example/authorize" }),
  "a token endpoint elsewhere (mix-up)": wrong({ token_endpoint: "https://attacker.example/token" }),
  "a token endpoint without https": wrong({ token_endpoint: "http://as.example/token" }),
  "a token endpoint at the cloud's metadata": wrong({ token_endpoint: "http://169.254.169.254/latest/token" }),
  "a token endpoint with a user in it": wrong({ token_endpoint: "https://user:pass@as.example/token" }),
  "no token endpoint": wrong({ token_endpoint: undefined }),
  "a registration endpoint in a private network": wrong({ registration_endpoint: "https://10.0.0.7/register" }),
  "PKCE that nobody promises (M58)": { ...wrong({ code_challenge_methods_supported: undefined }, "AUTH_PKCE") },
  "PKCE without a digest": wrong({ code_challenge_methods_supported: ["plain"] }, "AUTH_PKCE"),
  "PKCE that is not a list": wrong({ code_challenge_methods_supported: "S256" }, "AUTH_PKCE"),
  "the metadata of another resource": prm({ resource: "https://evil.example.com/mcp" }, "AUTH_RESOURCE"),
  "the metadata of another path": prm({ resource: "http://127.0.0.1/other" }, "AUTH_RESOURCE"),
  "a resource that only begins alike": prm({ resource: "http://127.0.0.1.evil.example/mcp" }, "AUTH_RESOURCE"),
  "an issuer without https": prm({ authorization_servers: ["http://as.example"] }, "AUTH_DISCOVERY"),
  "an issuer at the cloud's metadata": prm({ authorization_servers: ["http://169.254.169.254"] }, "AUTH_DISCOVERY"),
  "an issuer in a private network": prm({ authorization_servers: ["https://192.168.1.1"] }, "AUTH_DISCOVERY"),
  "an issuer in a private IPv6 network": prm({ authorization_servers: ["https://[fd00::1]"] }, "AUTH_DISCOVERY"),
  "an issuer at an address in disguise": prm({ authorization_servers: ["https://0xa9fea9fe"] }, "AUTH_DISCOVERY"),
  "an issuer in a file": prm({ authorization_servers: ["file:///etc/passwd"] }, "AUTH_DISCOVERY"),
  "no issuer in the list": prm({ authorization_servers: [] }, "AUTH_DISCOVERY"),
  "an answer with another state": answer({ state: "stolen" }, "AUTH_STATE"),
  "an answer without state": answer({ state: null }, "AUTH_STATE"),
  "an answer of another issuer": answer({ iss: "https://attacker.example" }, "AUTH_ISSUER"),
  "an answer of another issuer, where none is promised": answer(
    { iss: "https://attacker.example" },
    "AUTH_ISSUER",
    quiet,
  ),
  "an answer without the issuer promised (M59)": answer({ iss: null }, "AUTH_ISSUER"),
  "a refusal without the issuer promised": answer({ iss: null, error: "access_denied", code: null }, "AUTH_ISSUER"),
  "a refusal with another state": answer({ state: "x", error: "access_denied", code: null }, "AUTH_STATE"),
  "an answer without a code": answer({ code: null }, "AUTH_DENIED"),
  "a refusal": answer({ error: "access_denied", code: null }, "AUTH_DENIED"),
};

it("has more than thirty set-ups", () => expect(Object.keys(SET_UPS).length).toBeGreaterThan(30));

it.each(Object.entries(SET_UPS))("%s", async (_name, { code, reaches, ...options }) => {
  const mock = await directAuthorization(options);
  const { error, opened } = await attack(mock);
  expect(error).toMatchObject({ code });
  expect(mock.to("/token")).toEqual([]);
  expect(opened).toHaveLength(reaches === "authorize" ? 1 : 0);
  expect(mock.tokens.size).toBe(0);
});

it("does not leave its issuer's origin for a slash of difference in the answer", async () => {
  const mock: Mock = await directAuthorization();
  mock.options = { callback: { iss: `${mock.issuer}/` } };
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_ISSUER" });
  expect(mock.to("/token")).toEqual([]);
});

// Over the wire, where a fetch would follow by itself if it was not told otherwise.
it.each([
  ["the resource's metadata", PRM_PATH],
  ["the authorization server's metadata", "/.well-known/oauth-authorization-server"],
  ["the registration endpoint", "/register"],
  ["the token endpoint", "/token"],
])("follows %s to no other origin", async (_what, path) => {
  const trap = await mockAuthorization();
  const mock = await mockAuthorization({ intercept: redirects(path, `${trap.as}/token`) });
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_DISCOVERY" });
  expect(trap.seen).toEqual([]);
});

it("sends no form after a redirect, not even within the origin", async () => {
  const mock = await mockAuthorization({ intercept: redirects("/token", "/elsewhere") });
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_DISCOVERY" });
  expect(mock.to("/elsewhere")).toEqual([]);
});

it("follows metadata within its origin, but not round and round", async () => {
  const path = "/.well-known/oauth-authorization-server";
  const mock = await mockAuthorization({ intercept: redirects(path, path) });
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_DISCOVERY" });
  expect(mock.to(path)).toHaveLength(3);
});

it.each(["http://169.254.169.254/latest", "https://internal.example/prm", "file:///etc/passwd", "//10.0.0.1/prm"])(
  "fetches nothing where the challenge points: %s",
  async (url) => {
    const headers = { "www-authenticate": `Bearer resource_metadata="${url}"` };
    const mock = await directAuthorization({
      intercept: ({ path }) => (path === "/mcp" ? { status: 401, headers } : undefined),
    });
    const { error, fetched } = await attack(mock);
    expect(error).toMatchObject({ code: "AUTH_DISCOVERY" });
    expect(fetched).toEqual([]);
  },
);

it("reads no more of a document than any has", async () => {
  const body = `{"issuer":"${"x".repeat(1_000_000)}"}`;
  const mock = await directAuthorization({
    intercept: ({ path }) => (path === PRM_PATH ? { status: 200, body } : undefined),
  });
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_DISCOVERY" });
});

it("takes no document that says a thing twice", async () => {
  const body = `{"resource":"http://x","resource":"http://y","authorization_servers":["https://a.example"]}`;
  const mock = await directAuthorization({
    intercept: ({ path }) => (path === PRM_PATH ? { status: 200, body } : undefined),
  });
  expect((await attack(mock)).error).toMatchObject({ code: "AUTH_DISCOVERY" });
});

it("waits only so long for a document that comes byte by byte", async () => {
  const slow = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write("{");
    const drip = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    slow.closeAllConnections();
    slow.close();
  });
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const authorizer = oauth({ serverUrl: url, clientName: "test", redirect: headlessRedirect(), timeoutMs: 60 });
  const refused = { method: "POST", url, status: 401, header: () => undefined };
  await expect(authorizer.challenged(refused)).rejects.toThrow(/did not answer within 60 ms/);
});

it("repeats nothing secret in errors, however the token endpoint sends it back", async () => {
  for (const what of ["code", "code_verifier", "client_secret"]) {
    const mock = await directAuthorization({
      metadata: { token_endpoint_auth_methods_supported: ["client_secret_post"], registration_endpoint: undefined },
      tokenAnswer: ({ form }) => ({
        status: 400,
        body: { error: form.get(what) ?? "", error_description: `bad ${what}: ${form.get(what)}` },
      }),
    });
    const preRegistered = { issuer: mock.issuer, clientId: "operator", clientSecret: SECRET };
    const { error } = await attack(mock, { preRegistered });
    const sent = mock.to("/token")[0]?.form.get(what) ?? "none";
    expect(error).toMatchObject({ code: "AUTH_TOKEN" });
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain(sent);
  }
});

it.each([
  ["replayed: it belongs to the request before", (url: string, before: string | undefined) => before ?? url],
  ["that went to another path", (url: string) => url.replace("/callback", "/elsewhere")],
  ["that went to another host", (url: string) => url.replace("localhost:3000", "attacker.example")],
  ["with two codes", (url: string) => `${url}&code=another`],
  ["with two issuers", (url: string) => `${url}&iss=https%3A%2F%2Fattacker.example`],
  ["that is a code alone", (url: string) => new URL(url).searchParams.get("code") ?? ""],
])("takes no answer %s", async (_what, change) => {
  const mock = await directAuthorization();
  const honest = await headlessRedirect().open();
  let before: string | undefined;
  const redirect = redirectTo(honest.uri, async (url) => {
    const came = await honest.authorize(url);
    const changed = change(came, before);
    before ??= came;
    return changed;
  });
  const { error } = await attack(mock, { redirect });
  if (error !== undefined) return expect(error).toMatchObject({ code: "AUTH_STATE" });
  // The first was honest; now it is played again.
  mock.tokens.clear();
  mock.refreshTokens.clear();
  expect((await attack(mock, { redirect })).error).toMatchObject({ code: "AUTH_STATE" });
});

it.each(["http://mcp.example/mcp", "ftp://mcp.example/mcp", "https://user:pass@mcp.example/mcp", "nonsense"])(
  "is not made for a server where tokens would not be safe: %s",
  (serverUrl) => {
    expect(() => oauth({ serverUrl, clientName: "test", redirect: headlessRedirect() })).toThrow(RangeError);
  },
);

it("lets a server elsewhere lead to nothing on this machine", async () => {
  const fetched: string[] = [];
  const document = { resource: "https://mcp.example/mcp", authorization_servers: ["http://localhost:8080"] };
  const fetch: FetchLike = (url) => {
    fetched.push(url);
    return Promise.resolve(Response.json(document));
  };
  const url = "https://mcp.example/mcp";
  const authorizer = oauth({ serverUrl: url, clientName: "test", redirect: headlessRedirect(), fetch });
  const refused = { method: "POST", url, status: 401, header: () => undefined };
  await expect(authorizer.challenged(refused)).rejects.toMatchObject({ code: "AUTH_DISCOVERY" });
  expect(fetched).toEqual(["https://mcp.example/.well-known/oauth-protected-resource/mcp"]);
});

/** What comes of it, which pages the user was shown, and what was fetched. */
async function attack(
  mock: Mock,
  more: Partial<OAuthOptions> = {},
): Promise<{ readonly error: unknown; readonly opened: string[]; readonly fetched: string[] }> {
  const opened: string[] = [];
  const fetched: string[] = [];
  const fetch: FetchLike = (url, init) => {
    fetched.push(url);
    return globalThis.fetch(url, init);
  };
  const onAuthorize = (url: string): void => void opened.push(url);
  const options = { serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect(), onAuthorize, fetch };
  const error: unknown = await call(oauth({ ...options, ...more }), mock.serverUrl).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(opened.every((url) => new URL(url).origin === mock.as)).toBe(true);
  expect(fetched.every((url) => [mock.as, mock.rs].includes(new URL(url).origin))).toBe(true);
  return { error, opened, fetched };
}
