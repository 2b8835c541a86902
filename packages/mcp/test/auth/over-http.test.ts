// Shows a served endpoint behind an authenticator: challenges, documents, and one user's session closed to another.
import { request } from "node:http";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { dpopVerifier } from "../../src/auth/dpop.js";
import { jwtAuthenticator } from "../../src/auth/access-tokens.js";
import { protectedResource, wellKnown } from "../../src/auth/resource-metadata.js";
import { serveHttp, type HttpServing } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { newDpopClient, prove } from "./support/dpop-client.js";
import { goodClaims, ISSUER, newSigner, RESOURCE, sign, START } from "./support/issuer.js";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const resource = protectedResource({ resource: RESOURCE, authorizationServers: [ISSUER] });
let serving: HttpServing;
let ada: string;
let bob: string;
/** Bob's as well, but for another server. */
let foreign: string;
const refused: string[] = [];

beforeAll(async () => {
  const signer = await newSigner("ES256");
  [ada, bob] = (await Promise.all(["ada", "bob"].map((sub) => sign(signer, goodClaims({ sub }))))) as [string, string];
  foreign = await sign(signer, goodClaims({ sub: "bob", aud: "https://other.example.com/mcp" }));
  const authenticator = jwtAuthenticator({
    issuer: ISSUER,
    resource,
    jwks: { keys: [signer.publicJwk] },
    now: () => START,
  });
  const server = new Server({ name: "guarded", version: "1.0.0" });
  server.tool("whoami", { description: "Says who asks", run: (_, ctx) => ctx.principal ?? "nobody" });
  const { pages } = wellKnown(resource, { issuerMetadata: "redirect" });
  const onRefused = ({ status, error }: { status: number; error: string }): void =>
    void refused.push(`${status} ${error}`);
  serving = await serveHttp(server, { authorization: { authenticator, onRefused }, pages, signals: false });
});

afterAll(() => serving.close());

const post = (token: string | undefined, message: object, more: Record<string, string> = {}): Promise<Response> => {
  const headers: Record<string, string> = { ...HEADERS, ...more };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  return fetch(serving.url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) });
};

const HELLO = {
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

it("challenges whoever has no token, with the place of the metadata", async () => {
  const response = await post(undefined, HELLO);
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${resource.metadataUrl}"`);
});

it("refuses a token for another server with a challenge, and tells of it once", async () => {
  refused.length = 0;
  const response = await post(foreign, HELLO);
  expect(response.status).toBe(401);
  const challenge = response.headers.get("www-authenticate");
  expect(challenge).toContain('error="invalid_token"');
  expect(challenge).toContain(`resource_metadata="${resource.metadataUrl}"`);
  expect(refused).toEqual(["401 invalid_token"]);
});

it("serves the metadata to anybody", async () => {
  for (const path of resource.paths) {
    const response = await fetch(new URL(path, serving.url));
    expect(await response.json()).toEqual(resource.metadata);
  }
});

it("refuses a second Authorization header, which node:http would drop", async () => {
  const tokens = [ada, bob].flatMap((token) => ["authorization", `Bearer ${token}`]);
  const headers = ["host", new URL(serving.url).host, ...Object.entries(HEADERS).flat(), ...tokens];
  const status = await new Promise((resolve, reject) => {
    const sent = request(serving.url, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...HELLO }));
  });
  expect(status).toBe(400);
});

it("tells handlers who asks, and keeps a session to its owner", async () => {
  const opened = await post(ada, HELLO);
  expect(opened.status).toBe(200);
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const call = { method: "tools/call", params: { name: "whoami", arguments: {} } };
  expect(await (await post(ada, call, session)).json()).toMatchObject({
    result: { content: [{ type: "text", text: `${ISSUER}#ada` }] },
  });
  expect((await post(bob, call, session)).status).toBe(404);
  expect((await post(undefined, call, session)).status).toBe(401);
});

it("hands the next nonce to a client whose proofs are good", async () => {
  const [signer, client] = await Promise.all([newSigner("ES256"), newDpopClient()]);
  const authenticator = jwtAuthenticator({
    issuer: ISSUER,
    resource,
    jwks: { keys: [signer.publicJwk] },
    dpop: dpopVerifier({ origin: new URL(RESOURCE).origin, nonce: true, now: () => START }),
    now: () => START,
  });
  const server = new Server({ name: "bound", version: "1.0.0" });
  const bound = await serveHttp(server, { authorization: { authenticator }, signals: false });
  onTestFinished(() => bound.close());
  const token = await sign(signer, goodClaims({ cnf: { jkt: client.jkt } }));
  const ask = async (payload: Record<string, unknown>): Promise<Response> => {
    const headers = { ...HEADERS, authorization: `DPoP ${token}`, dpop: await prove(client, token, { payload }) };
    return fetch(bound.url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...HELLO }) });
  };
  const refused = await ask({});
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    401,
    expect.stringContaining('error="use_dpop_nonce"'),
  ]);
  const nonce = refused.headers.get("dpop-nonce");
  const served = await ask({ nonce });
  expect([served.status, served.headers.get("dpop-nonce")]).toEqual([200, nonce]);
});
