// Shows how clients find out where to get tokens: the document of RFC 9728, its paths, and what older clients look for.
import { describe, expect, it } from "vitest";
import { dpopVerifier } from "../../src/auth/dpop.js";
import { protectedResource, wellKnown } from "../../src/auth/resource-metadata.js";
import { Clock, FakeFetch, ISSUER, jsonResponse, RESOURCE } from "./support/issuer.js";

const resource = protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER], scopes: ["files:read"] });

describe("the document", () => {
  it("names resource, issuers, scopes, and the header as the only place for tokens", () => {
    expect(resource.metadata).toEqual({
      resource: RESOURCE,
      authorization_servers: [ISSUER],
      bearer_methods_supported: ["header"],
      scopes_supported: ["files:read"],
    });
  });

  it("tells about proofs of possession", () => {
    const dpop = dpopVerifier({ required: true, algorithms: ["ES256"] });
    const described = protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER], name: "Files", dpop });
    expect(described.metadata).toMatchObject({
      resource_name: "Files",
      dpop_signing_alg_values_supported: ["ES256"],
      dpop_bound_access_tokens_required: true,
    });
  });

  it.each([
    [
      "https://mcp.example.com/mcp",
      ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"],
    ],
    [
      "https://mcp.example.com/a/b",
      ["/.well-known/oauth-protected-resource/a/b", "/.well-known/oauth-protected-resource"],
    ],
    ["https://mcp.example.com", ["/.well-known/oauth-protected-resource"]],
    ["https://mcp.example.com:8443/", ["/.well-known/oauth-protected-resource"]],
  ])("of %s is at %j, and its name stays as it was given", (url, paths) => {
    const other = protectedResource({ resource: url, authorizationServers: [ISSUER] });
    expect(other.paths).toEqual(paths);
    expect(other.metadata.resource).toBe(url);
    expect(other.metadataUrl).toBe(new URL(url).origin + paths[0]);
  });

  it.each([
    ["http", { resource: "http://mcp.example.com/mcp" }],
    ["a fragment", { resource: `${RESOURCE}#a` }],
    ["a query", { resource: `${RESOURCE}?a` }],
    ["a user", { resource: "https://a@mcp.example.com/mcp" }],
    ["no URL", { resource: "mcp" }],
    ["no authorization server", { authorizationServers: [] }],
    ["an authorization server over http", { authorizationServers: ["http://issuer.example.com"] }],
    ["a scope that is none", { scopes: ["a b"] }],
  ])("cannot have %s", (_, changes) => {
    expect(() => protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER], ...changes })).toThrow(
      RangeError,
    );
  });

  it("may be on loopback over http when that is allowed", () => {
    const local = { resource: "http://127.0.0.1:3333/mcp", authorizationServers: ["http://localhost:9000"] };
    expect(() => protectedResource(local)).toThrow(RangeError);
    expect(protectedResource({ ...local, allowLoopbackHttp: true }).metadataUrl).toBe(
      "http://127.0.0.1:3333/.well-known/oauth-protected-resource/mcp",
    );
    const away = { ...local, resource: "http://127.0.0.1.evil.example/mcp", allowLoopbackHttp: true };
    expect(() => protectedResource(away)).toThrow(RangeError);
  });
});

describe("the well-known paths", () => {
  const get = (url: string, method = "GET"): { method: string; url: string } => ({ method, url });
  const site = wellKnown(resource, { issuerMetadata: "off" });

  it.each([
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource?x=1",
    "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
  ])("%s answers with it, readable from any origin", async (url) => {
    const reply = await site.respond(get(url));
    expect(reply).toMatchObject({
      status: 200,
      headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
    });
    expect(JSON.parse(reply?.body ?? "")).toEqual(resource.metadata);
  });

  it.each([
    "/mcp",
    "/",
    "/.well-known/oauth-protected-resource/",
    "/.well-known/oauth-protected-resource/other",
    "/x/.well-known/oauth-protected-resource",
    "/.well-known/oauth%2Dprotected-resource",
    "/.well-known/oauth-authorization-server",
    "//.well-known/oauth-protected-resource",
    "*",
  ])("%s is somebody else's", async (url) => {
    expect(await site.respond(get(url))).toBeUndefined();
  });

  it("answer HEAD and OPTIONS, and refuse the rest", async () => {
    const url = "/.well-known/oauth-protected-resource";
    expect(await site.respond(get(url, "HEAD"))).toMatchObject({ status: 200, body: "" });
    expect(await site.respond(get(url, "OPTIONS"))).toMatchObject({ status: 204 });
    expect(await site.respond(get(url, "POST"))).toMatchObject({
      status: 405,
      headers: { allow: "GET, HEAD, OPTIONS" },
    });
  });

  it("are open pages of an endpoint, which has CORS headers of its own", async () => {
    const { pages } = wellKnown(resource, { issuerMetadata: "redirect" });
    expect(Object.keys(pages)).toEqual([...resource.paths, "/.well-known/oauth-authorization-server"]);
    for (const [path, page] of Object.entries(pages)) {
      const reply = await page.respond({ method: "GET", path });
      expect(page.open).toBe(true);
      expect(reply.status).toBe(path.endsWith("server") ? 307 : 200);
      expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
    expect(Object.keys(site.pages)).toEqual(resource.paths);
  });
});

describe("for clients of the second revision", () => {
  const path = { method: "GET", url: "/.well-known/oauth-authorization-server" };
  const tenant = protectedResource({ resource: RESOURCE, authorizationServers: [`${ISSUER}/tenant`] });
  const metadata = { issuer: `${ISSUER}/tenant`, authorization_endpoint: `${ISSUER}/authorize` };

  it("the issuer's metadata is copied from wherever it is, once in five minutes", async () => {
    const clock = new Clock();
    const issuer = new FakeFetch((url) =>
      url.endsWith("/tenant/.well-known/openid-configuration")
        ? jsonResponse(metadata)
        : new Response("", { status: 404 }),
    );
    const site = wellKnown(tenant, { fetch: issuer.fetch, now: clock.now });
    const replies = await Promise.all(Array.from({ length: 20 }, () => site.respond(path)));
    for (const reply of replies) expect(JSON.parse(reply?.body ?? "")).toEqual(metadata);
    expect(issuer.calls.map(({ url }) => url.slice(ISSUER.length))).toEqual([
      "/.well-known/oauth-authorization-server/tenant",
      "/.well-known/openid-configuration/tenant",
      "/tenant/.well-known/openid-configuration",
    ]);
    clock.advance(299);
    await site.respond(path);
    expect(issuer.calls).toHaveLength(3);
  });

  it("metadata of another issuer is never passed on", async () => {
    const issuer = new FakeFetch(() => jsonResponse({ ...metadata, issuer: "https://evil.example.com" }));
    const site = wellKnown(tenant, { fetch: issuer.fetch, now: new Clock().now });
    expect(await site.respond(path)).toMatchObject({ status: 503, headers: { "retry-after": "30" }, body: "" });
  });

  it("or their place is told", async () => {
    const site = wellKnown(tenant, { issuerMetadata: "redirect" });
    expect(await site.respond(path)).toMatchObject({
      status: 307,
      headers: { location: `${ISSUER}/.well-known/oauth-authorization-server/tenant` },
    });
  });
});
