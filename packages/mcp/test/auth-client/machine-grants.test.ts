// Tokens for programs, enterprises and workloads, and tokens bound to a key.
import { decodeJwt, decodeProtectedHeader, exportPKCS8, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { clientCredentials, enterpriseManaged, workloadIdentity } from "../../src/auth/client/machine-grants.js";
import { headlessRedirect, oauth } from "../../src/auth/client/authorization-code.js";
import { call } from "./support/call.js";
import { directAuthorization } from "./support/direct-authorization.js";
import type { Mock, MockOptions, Seen } from "./support/mock-authorization.js";

const SECRET = "s3cr3t of the program";
const methods = (...names: string[]): MockOptions => ({ metadata: { token_endpoint_auth_methods_supported: names } });
const tokenRequest = (mock: Mock, at = 0): Seen => mock.to("/token")[at] as Seen;

async function jwtFor(audience: string): Promise<string> {
  const { privateKey } = await generateKeyPair("ES256");
  return new SignJWT({ aud: audience, sub: "workload" }).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
}

describe("client credentials", () => {
  it("by secret, over Basic", async () => {
    const mock = await directAuthorization({ ...methods("client_secret_basic"), challengeScope: "mcp" });
    const { serverUrl, issuer } = mock;
    const authorizer = clientCredentials({ serverUrl, issuer, clientId: "program", clientSecret: SECRET });
    expect((await call(authorizer, serverUrl)).status).toBe(200);
    const { form, headers } = tokenRequest(mock);
    expect(Object.fromEntries(form)).toEqual({ grant_type: "client_credentials", resource: serverUrl, scope: "mcp" });
    expect(headers["authorization"]).toBe(`Basic ${btoa("program:s3cr3t+of+the+program")}`);
    expect(mock.to("/authorize")).toEqual([]);
  });

  it("by secret only at the issuer given", async () => {
    const mock = await directAuthorization(methods("client_secret_basic"));
    const issuer = "https://as.example";
    const authorizer = clientCredentials({
      serverUrl: mock.serverUrl,
      issuer,
      clientId: "program",
      clientSecret: SECRET,
    });
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(mock.to("/token")).toEqual([]);
  });

  it("by an assertion for exactly the issuer", async () => {
    const mock = await directAuthorization(methods("private_key_jwt"));
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const pem = await exportPKCS8(privateKey);
    const authorizer = clientCredentials({ serverUrl: mock.serverUrl, clientId: "program", privateKey: pem });
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    const { form } = tokenRequest(mock);
    expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    const { payload } = await jwtVerify(form.get("client_assertion") ?? "", publicKey);
    expect(payload).toMatchObject({ iss: "program", sub: "program", aud: mock.issuer });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
  });

  it("by an assertion only at the issuer given, where one is", async () => {
    const mock = await directAuthorization(methods("private_key_jwt"));
    const { serverUrl, issuer } = mock;
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const options = { serverUrl, clientId: "program", privateKey: await exportPKCS8(privateKey) };
    const wrong = clientCredentials({ ...options, issuer: "https://as.example" });
    await expect(call(wrong, serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(mock.to("/token")).toEqual([]);
    expect((await call(clientCredentials({ ...options, issuer }), serverUrl)).status).toBe(200);
  });

  it("get a new token whenever one ends, without counting that as trying in vain", async () => {
    let now = Date.now();
    const mock = await directAuthorization({ ...methods("client_secret_post"), lifeSeconds: 60 });
    const { serverUrl, issuer } = mock;
    const authorizer = clientCredentials({ serverUrl, issuer, clientId: "p", clientSecret: SECRET, now: () => now });
    for (let round = 0; round < 6; round++, now += 61_000) expect((await call(authorizer, serverUrl)).status).toBe(200);
    expect(mock.to("/token")).toHaveLength(6);
  });

  it("that cannot be read as a key are named without the key", async () => {
    const mock = await directAuthorization(methods("private_key_jwt"));
    const authorizer = clientCredentials({
      serverUrl: mock.serverUrl,
      clientId: "program",
      privateKey: "hunter2hunter2",
    });
    const error: unknown = await call(authorizer, mock.serverUrl).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "AUTH_KEY" });
    expect(String(error)).not.toContain("hunter2");
  });
});

describe("enterprise-managed authorization", () => {
  it("exchanges the ID token at the identity provider and the ID-JAG at the authorization server", async () => {
    const mock = await directAuthorization(methods("client_secret_basic"));
    const idJag = await jwtFor(mock.issuer);
    const body = {
      access_token: idJag,
      issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
      token_type: "N_A",
    };
    const idp = await directAuthorization({ tokenAnswer: () => ({ status: 200, body }) });
    const { serverUrl, issuer } = mock;
    const identityProvider = { tokenEndpoint: `${idp.as}/token`, clientId: "sso", subjectToken: "id-token" };
    const authorizer = enterpriseManaged({
      serverUrl,
      issuer,
      clientId: "c:1",
      clientSecret: SECRET,
      identityProvider,
    });
    expect((await call(authorizer, serverUrl)).status).toBe(200);
    expect(Object.fromEntries(tokenRequest(idp).form)).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
      audience: issuer,
      resource: serverUrl,
      subject_token: "id-token",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      client_id: "sso",
    });
    const { form, headers } = tokenRequest(mock);
    expect(form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    expect(form.get("assertion")).toBe(idJag);
    expect(atob(headers["authorization"]?.slice(6) ?? "")).toBe("c%3A1:s3cr3t+of+the+program");
    expect(mock.to("/authorize")).toEqual([]);
  });

  it("takes nothing but an ID-JAG from the identity provider, which is told nothing for another issuer", async () => {
    const mock = await directAuthorization(methods("client_secret_basic"));
    const idp = await directAuthorization();
    const { serverUrl } = mock;
    const identityProvider = { tokenEndpoint: `${idp.as}/token`, clientId: "sso", subjectToken: "id-token" };
    const options = { serverUrl, clientId: "c", clientSecret: SECRET, identityProvider };
    const wrong = enterpriseManaged({ ...options, issuer: "https://as.example" });
    await expect(call(wrong, serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(idp.seen).toEqual([]);
    const right = enterpriseManaged({ ...options, issuer: mock.issuer });
    await expect(call(right, serverUrl)).rejects.toMatchObject({ code: "AUTH_TOKEN" });
    expect(mock.to("/token")).toEqual([]);
  });
});

describe("workload identity", () => {
  it("shows the assertion it was given to whom it is for", async () => {
    const mock = await directAuthorization({ challengeScope: "mcp" });
    const assertion = await jwtFor(mock.issuer);
    const authorizer = workloadIdentity({ serverUrl: mock.serverUrl, clientId: "job", assertion });
    expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    expect(Object.fromEntries(tokenRequest(mock).form)).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion,
      client_id: "job",
      resource: mock.serverUrl,
      scope: "mcp",
    });
    expect(mock.to("/register")).toEqual([]);
  });

  it("shows it to nobody else", async () => {
    const mock = await directAuthorization();
    const assertion = await jwtFor("https://as.example");
    const authorizer = workloadIdentity({ serverUrl: mock.serverUrl, clientId: "job", assertion });
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(mock.to("/token")).toEqual([]);
  });

  it("shows it, whoever it says that it is for, at the issuer given alone", async () => {
    const mock = await directAuthorization();
    const { serverUrl, issuer } = mock;
    const assertion = await jwtFor("https://as.example");
    const wrong = workloadIdentity({ serverUrl, clientId: "job", assertion, issuer: "https://as.example" });
    await expect(call(wrong, serverUrl)).rejects.toMatchObject({ code: "AUTH_ISSUER" });
    expect(mock.to("/token")).toEqual([]);
    expect((await call(workloadIdentity({ serverUrl, clientId: "job", assertion, issuer }), serverUrl)).status).toBe(
      200,
    );
  });

  it.each(["invalid_grant", "invalid_scope", "unauthorized_client"])("takes %s for an answer", async (error) => {
    const mock = await directAuthorization({ tokenAnswer: () => ({ status: 400, body: { error } }) });
    const assertion = await jwtFor(mock.issuer);
    const authorizer = workloadIdentity({ serverUrl: mock.serverUrl, clientId: "job", assertion });
    await expect(call(authorizer, mock.serverUrl)).rejects.toThrow(error);
    await expect(call(authorizer, mock.serverUrl)).rejects.toThrow(error);
    expect(mock.to("/token")).toHaveLength(1);
    expect(mock.to("/authorize")).toEqual([]);
  });
});

describe("tokens bound to a key", () => {
  const proofs = (seen: readonly Seen[]): string[] => seen.map(({ headers }) => headers["dpop"] ?? "none");

  it.each([false, true])("carry a fresh proof on every request (nonces: %s)", async (nonces) => {
    const mock = await directAuthorization({ scheme: "DPoP", nonces });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    for (let round = 0; round < 3; round++) expect((await call(authorizer, mock.serverUrl)).status).toBe(200);
    const [atToken, atServer] = [proofs(mock.to("/token")), proofs(mock.to("/mcp").slice(1))];
    expect(atToken).toHaveLength(nonces ? 2 : 1);
    expect(atServer).toHaveLength(nonces ? 4 : 3);
    const all = [...atToken, ...atServer];
    expect(new Set(all.map((proof) => decodeJwt(proof).jti)).size).toBe(all.length);
    expect(
      all
        .map((proof) => decodeProtectedHeader(proof))
        .every(({ typ, alg, jwk }) => typ === "dpop+jwt" && alg === "ES256" && !Object.hasOwn(jwk ?? {}, "d")),
    ).toBe(true);
    expect(
      atToken.every((proof) => decodeJwt(proof)["ath"] === undefined && decodeJwt(proof)["htu"] === `${mock.as}/token`),
    ).toBe(true);
    expect(atServer.every((proof) => decodeJwt(proof)["ath"] !== undefined && decodeJwt(proof)["htm"] === "POST")).toBe(
      true,
    );
    expect(mock.to("/mcp").some(({ headers }) => headers["authorization"]?.startsWith("Bearer"))).toBe(false);
  });

  it("name the URL without its query", async () => {
    const mock = await directAuthorization({ scheme: "DPoP" });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    await call(authorizer, mock.serverUrl);
    const { dpop = "" } = await authorizer.headers({ method: "GET", url: `${mock.serverUrl}?a=b` });
    expect(decodeJwt(dpop)).toMatchObject({ htm: "GET", htu: mock.serverUrl });
  });

  it("end a server's wish for ever new nonces", async () => {
    const mock = await directAuthorization({ scheme: "DPoP" });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    await call(authorizer, mock.serverUrl);
    let serial = 0;
    const headers = { "www-authenticate": 'DPoP error="use_dpop_nonce"' };
    mock.options = {
      intercept: ({ path }) =>
        path === "/mcp" ? { status: 401, headers: { ...headers, "dpop-nonce": `n${serial++}` } } : undefined,
    };
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    expect(serial).toBeLessThanOrEqual(3);
  });

  it.each([
    ["Bearer where a proof was sent", "DPoP", "Bearer"],
    ["DPoP where none was", "Bearer", "DPoP"],
    ["mac", "Bearer", "mac"],
  ] as const)("are not taken for others: %s", async (_what, scheme, type) => {
    const body = { access_token: "stolen-type", token_type: type };
    const mock = await directAuthorization({ scheme, tokenAnswer: () => ({ status: 200, body }) });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    await expect(call(authorizer, mock.serverUrl)).rejects.toMatchObject({ code: "AUTH_TOKEN" });
    expect(await authorizer.headers({ method: "POST", url: mock.serverUrl })).toEqual({});
  });

  it("are not given up when the server suddenly speaks of Bearer", async () => {
    const mock = await directAuthorization({ scheme: "DPoP" });
    const authorizer = oauth({ serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect() });
    await call(authorizer, mock.serverUrl);
    mock.tokens.clear();
    mock.refreshTokens.clear();
    mock.options = {};
    await call(authorizer, mock.serverUrl).catch(() => undefined);
    expect(mock.to("/mcp").some(({ headers }) => headers["authorization"]?.startsWith("Bearer"))).toBe(false);
    expect(mock.to("/token").every(({ headers }) => headers["dpop"] !== undefined)).toBe(true);
  });
});
