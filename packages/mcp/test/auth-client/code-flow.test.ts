// The whole way from a 401 to an answered call, for every place metadata can be and every way a client can be known.
import { describe, expect, it } from "vitest";
import { headlessRedirect, oauth, type OAuthOptions } from "../../src/auth/client/authorization-code.js";
import { call } from "./support/call.js";
import { type Mock, mockAuthorization, type MockOptions, type Seen } from "./support/mock-authorization.js";

const CIMD = "https://client.example/metadata.json";

async function flow(options: MockOptions = {}, more: Partial<OAuthOptions> = {}): Promise<Mock> {
  const mock = await mockAuthorization(options);
  const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect(), ...more });
  expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
  checkFlow(mock);
  return mock;
}

const paths = (mock: Mock, server: string): string[] =>
  mock.seen.filter((one) => one.server === server).map((one) => one.path);
const asked = (mock: Mock, name: string): string | null | undefined => mock.to("/authorize").at(-1)?.query.get(name);

/** What the referee looks at in every flow. */
function checkFlow(mock: Mock): void {
  const { together = "" } = mock.options;
  const [request] = mock.to(`${together}/authorize`) as [Seen];
  const [exchange] = mock.to(`${together}/token`) as [Seen];
  expect(request.query.get("code_challenge_method")).toBe("S256");
  expect(request.query.get("code_challenge")).toMatch(/^[\w-]{43}$/);
  expect(request.query.get("state")).toMatch(/^[\w-]{43}$/);
  expect(exchange.form.get("code_verifier")).toMatch(/^[\w-]{43}$/);
  expect(exchange.form.get("redirect_uri")).toBe(request.query.get("redirect_uri"));
  for (const { form } of mock.to(`${together}/register`).map(({ text }) => ({ form: JSON.parse(text) as object }))) {
    expect(form).toMatchObject({ application_type: "native", grant_types: ["authorization_code", "refresh_token"] });
  }
  const calls = mock.to("/mcp").slice(1);
  expect(calls.every(({ headers, query }) => headers["authorization"]?.startsWith("Bearer ") && query.size === 0)).toBe(
    true,
  );
  const urls = mock.seen.map(({ path, query }) => `${path}?${query.toString()}`).join(" ");
  const secrets = [...mock.tokens.keys(), ...mock.refreshTokens.keys(), exchange.form.get("code_verifier") ?? ""];
  for (const { client_secret: secret } of mock.clients.values()) if (typeof secret === "string") secrets.push(secret);
  expect(secrets.filter((secret) => urls.includes(secret))).toEqual([]);
  const resource = mock.options.prm?.["resource"] ?? mock.serverUrl;
  expect(request.query.getAll("resource")).toEqual([resource]);
  expect(exchange.form.getAll("resource")).toEqual([resource]);
}

describe("metadata", () => {
  it("is found where the challenge points", async () => {
    const mock = await flow();
    expect(paths(mock, "as")).toEqual(["/.well-known/oauth-authorization-server", "/register", "/authorize", "/token"]);
    expect(paths(mock, "rs")).toEqual(["/mcp", "/.well-known/oauth-protected-resource/mcp", "/mcp"]);
  });

  it("is found at the well-known path, and in OpenID's place", async () => {
    const mock = await flow({ silent: true, metadataPath: "/.well-known/openid-configuration" });
    expect(paths(mock, "rs")[1]).toBe("/.well-known/oauth-protected-resource/mcp");
    expect(paths(mock, "as").slice(0, 2)).toEqual([
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
    ]);
  });

  it("of the root names the origin without a slash, which is sent as it is; the issuer's path is inserted", async () => {
    const rs = { origin: "" };
    const mock = await mockAuthorization({
      silent: true,
      tenant: "/tenant1",
      prmPath: "/.well-known/oauth-protected-resource",
      intercept({ path }) {
        if (path !== "/.well-known/oauth-protected-resource") return undefined;
        return { status: 200, body: { resource: rs.origin, authorization_servers: [mock.issuer] } };
      },
    });
    rs.origin = mock.rs;
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(asked(mock, "resource")).toBe(mock.rs);
    expect(mock.to("/token")[0]?.form.get("resource")).toBe(mock.rs);
    expect(paths(mock, "as")[0]).toBe("/.well-known/oauth-authorization-server/tenant1");
  });

  it("may be anywhere the challenge says, and OpenID's appended path comes last", async () => {
    const mock = await flow({
      prmPath: "/custom/metadata/location.json",
      tenant: "/tenant1",
      metadataPath: "/tenant1/.well-known/openid-configuration",
    });
    expect(paths(mock, "as").slice(0, 3)).toEqual([
      "/.well-known/oauth-authorization-server/tenant1",
      "/.well-known/openid-configuration/tenant1",
      "/tenant1/.well-known/openid-configuration",
    ]);
  });

  it("is skipped where a web application answers every path with its page", async () => {
    const page = { status: 200, headers: { "content-type": "text/html" }, body: "<!doctype html>" };
    await flow({
      silent: true,
      prmPath: "/.well-known/oauth-protected-resource",
      intercept: ({ path }) => (path === "/.well-known/oauth-protected-resource/mcp" ? page : undefined),
    });
  });

  it("of servers of 2025-03: at the root of the server, endpoints wherever it says", async () => {
    const mock = await flow({ prmPath: null, together: "/oauth" });
    expect(mock.to("/oauth/authorize")).toHaveLength(1);
  });

  it("of servers of 2025-03 that publish nothing: the endpoints of old", async () => {
    const mock = await flow({ prmPath: null, together: "", metadataPath: null });
    expect(paths(mock, "rs").slice(1, 5)).toEqual([
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-protected-resource",
      "/.well-known/oauth-authorization-server",
      "/register",
    ]);
  });
});

describe("the client", () => {
  it("is known by the URL of its document where that is taken", async () => {
    const metadata = { client_id_metadata_document_supported: true };
    const mock = await flow({ metadata }, { clientMetadataUrl: CIMD });
    expect(asked(mock, "client_id")).toBe(CIMD);
    expect(mock.to("/register")).toEqual([]);
  });

  it("registers where its document is not taken", async () => {
    const mock = await flow({}, { clientMetadataUrl: CIMD });
    expect(mock.to("/register")).toHaveLength(1);
  });

  it("says it is for the web when its redirect URI is", async () => {
    const mock = await mockAuthorization();
    const redirect = headlessRedirect({ uri: "https://app.example/callback" });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect });
    await call(authorizer, mock.serverUrl);
    expect(JSON.parse(mock.to("/register")[0]?.text ?? "{}")).toMatchObject({ application_type: "web" });
  });

  it.each(["client_secret_basic", "client_secret_post", "none"])(
    "shows who it is by %s and nothing else",
    async (method) => {
      const mock = await flow({ metadata: { token_endpoint_auth_methods_supported: [method] } });
      const [client] = [...mock.clients.values()] as [Record<string, string>];
      const [{ headers, form }] = mock.to("/token") as [Seen];
      const { client_id: id = "", client_secret: secret = "" } = client;
      const encoded = `${id}:${encodeURIComponent(secret)}`.replaceAll("%20", "+");
      const basic = method === "client_secret_basic" ? `Basic ${Buffer.from(encoded).toString("base64")}` : undefined;
      expect(headers["authorization"]).toBe(basic);
      expect(form.get("client_secret")).toBe(method === "client_secret_post" ? secret : null);
      expect(form.get("client_id")).toBe(method === "client_secret_basic" ? null : id);
    },
  );

  it("registered by hand is shown to its own issuer", async () => {
    const mock = await mockAuthorization({
      metadata: { registration_endpoint: undefined, token_endpoint_auth_methods_supported: ["client_secret_basic"] },
    });
    const preRegistered = { issuer: mock.issuer, clientId: "by hand", clientSecret: "s e:cret" };
    const redirect = headlessRedirect();
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect, preRegistered });
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    const [, basic = ""] = mock.to("/token")[0]?.headers["authorization"]?.split(" ") ?? [];
    expect(Buffer.from(basic, "base64").toString()).toBe("by+hand:s+e%3Acret");
  });

  it("registered by hand is not shown to another", async () => {
    const mock = await mockAuthorization();
    const preRegistered = { issuer: "https://other.example", clientId: "by-hand", clientSecret: "s3cr3t-s3cr3t" };
    const redirect = headlessRedirect();
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect, preRegistered });
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(JSON.stringify(mock.seen.map(({ text, headers }) => [text, headers]))).not.toMatch(/by-hand|s3cr3t/);
  });
});

describe("scopes", () => {
  it("are those of the challenge", async () => {
    const mock = await flow({ challengeScope: "mcp:basic", prm: { scopes_supported: ["mcp:basic", "mcp:profile"] } });
    expect(asked(mock, "scope")).toBe("mcp:basic");
  });

  it("are those of the metadata where the challenge has none", async () => {
    const mock = await flow({ prm: { scopes_supported: ["mcp:basic", "mcp:read", "mcp:write"] } });
    expect(asked(mock, "scope")).toBe("mcp:basic mcp:read mcp:write");
  });

  it("are left to the server where nobody names any", async () => {
    const mock = await flow({ metadata: { scopes_supported: ["offline_access"] } });
    expect(asked(mock, "scope")).toBe(null);
  });

  it("have offline access where the authorization server knows it, and the user is asked then", async () => {
    const mock = await flow({ challengeScope: "a", metadata: { scopes_supported: ["a", "offline_access"] } });
    expect(asked(mock, "scope")).toBe("a offline_access");
    expect(asked(mock, "prompt")).toBe("consent");
  });

  it("have no offline access where it does not", async () => {
    const mock = await flow({
      prm: { scopes_supported: ["a", "offline_access"] },
      metadata: { scopes_supported: ["a"] },
    });
    expect(asked(mock, "scope")).toBe("a");
  });
});
