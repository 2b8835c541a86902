// Shows where a token may be: in the Authorization header, once, and nowhere else; and what a refusal looks like on the wire.
import { describe, expect, it } from "vitest";
import { refusalReply } from "../../src/auth/authenticator.js";
import { protectedResource } from "../../src/auth/resource-metadata.js";
import { tokenAuthenticator } from "../../src/auth/token-authenticator.js";
import { brief, ISSUER, request, RESOURCE } from "./support/issuer.js";

const resource = protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER] });
let asked = 0;
const authenticator = tokenAuthenticator(
  {
    async verify(token) {
      asked++;
      if (token !== "good-token") return { ok: false, status: 401, message: "The access token is not known here" };
      return { ok: true, identity: { principal: "ada", scopes: ["files:read"] } };
    },
  },
  { resource, scopes: ["files:read"] },
);

const METADATA = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"';

describe("the Authorization header", () => {
  it.each([
    ["Bearer good-token", "ok"],
    ["bearer good-token", "ok"],
    ["BEARER   good-token", "ok"],
    ["Bearer other", "401 invalid_token"],
    ["Bearer", "400 invalid_request"],
    ["Bearer ", "400 invalid_request"],
    ["Bearer good-token other", "400 invalid_request"],
    ["Bearer good-token, Bearer good-token", "400 invalid_request"],
    ["Bearer good-token,Basic eA==", "400 invalid_request"],
    ["Basic eA==, Bearer good-token", "400 invalid_request"],
    ["Bearer\tgood-token", "401 missing_token"],
    ["Bearer good token", "400 invalid_request"],
    ["Bearer good-token\u00a0", "400 invalid_request"],
    ["Bearer =good-token", "400 invalid_request"],
    [`Bearer ${"x".repeat(17_000)}`, "400 invalid_request"],
    ["Basic eA==", "401 missing_token"],
    ["good-token", "401 missing_token"],
    ["", "401 missing_token"],
    ["DPoP good-token", "401 invalid_token"],
  ])("%.40j gives %s", async (authorization, expected) => {
    expect(brief(await authenticator.authenticate(request({ authorization })))).toBe(expected);
  });

  it("is the only place: other headers are not looked at", async () => {
    const headers = {
      "x-api-key": "good-token",
      cookie: "access_token=good-token",
      "proxy-authorization": "Bearer good-token",
    };
    expect(brief(await authenticator.authenticate(request(headers)))).toBe("401 missing_token");
  });
});

describe("the URL", () => {
  it.each([
    "?access_token=good-token",
    "?a=b&access_token=x",
    "?access%5Ftoken=x",
    "?ACCESS_TOKEN=x",
    "?access_token",
    "?a=b&access_token=x#c",
  ])("%s is refused, whatever the header says, before the token is looked at", async (query) => {
    asked = 0;
    for (const url of [RESOURCE + query, `/mcp${query}`]) {
      const outcome = await authenticator.authenticate(request({ authorization: "Bearer good-token" }, url, "GET"));
      expect(brief(outcome)).toBe("400 invalid_request");
    }
    expect(asked).toBe(0);
  });

  it.each(["?access_token_hint=x", "?q=access_token", "#access_token=x", "?"])("%s is none of it", async (query) => {
    const outcome = await authenticator.authenticate(request({ authorization: "Bearer good-token" }, `/mcp${query}`));
    expect(brief(outcome)).toBe("ok");
  });
});

describe("refusals", () => {
  it("without token: a challenge that calls nothing an error", async () => {
    const outcome = await authenticator.authenticate(request());
    expect(outcome).toMatchObject({ status: 401, challenge: `Bearer scope="files:read", ${METADATA}` });
  });

  it("with a bad token: the error, where to get another, and with which scope", async () => {
    const outcome = await authenticator.authenticate(request({ authorization: "Bearer bad" }));
    if (outcome.ok) throw new Error("a bad token was accepted");
    expect(refusalReply(outcome)).toEqual({
      status: 401,
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
        "www-authenticate": `Bearer error="invalid_token", error_description="The access token is not known here", scope="files:read", ${METADATA}`,
      },
      body: '{"error":"invalid_token","error_description":"The access token is not known here"}',
    });
  });

  it("keep what a verifier says inside the quotes", async () => {
    const message = 'a "quoted" \\ text\r\nX-Injected: 1 é';
    const hostile = tokenAuthenticator({ verify: async () => ({ ok: false, status: 401, message }) });
    expect(await hostile.authenticate(request({ authorization: "Bearer x" }))).toMatchObject({
      challenge: `Bearer error="invalid_token", error_description="a 'quoted' ' text??X-Injected: 1 ?"`,
    });
  });

  it("of a server in trouble have no challenge", async () => {
    const down = tokenAuthenticator(
      { verify: async () => ({ ok: false, status: 503, message: "down" }) },
      { resource },
    );
    const outcome = await down.authenticate(request({ authorization: "Bearer x" }));
    if (outcome.ok) throw new Error("nobody vouched for the token");
    expect(refusalReply(outcome).headers).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "retry-after": "30",
    });
  });
});
