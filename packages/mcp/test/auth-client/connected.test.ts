// The client as programs use it: connected, over HTTP, to protected servers of our own and of the official SDK.
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { headlessRedirect } from "../../src/auth/client/authorization-code.js";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { dpopVerifier } from "../../src/auth/dpop.js";
import { type WellKnownPage, protectedResource, wellKnown } from "../../src/auth/resource-metadata.js";
import { scopeRules } from "../../src/auth/scopes.js";
import { tokenAuthenticator, type TokenVerifier } from "../../src/auth/token-authenticator.js";
import { userAuthorization } from "../../src/node/user-authorization.js";
import { connect } from "../../src/serve/connect-node.js";
import { serveHttp, type ServeHttpOptions } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { type Mock, mockAuthorization } from "./support/mock-authorization.js";

/** Our own server behind the mock's tokens, bound to keys where asked. Its URL is known only once it listens. */
async function ownServer(mock: Mock, required: boolean): Promise<string> {
  const later: { authenticator?: Authenticator; page?: WellKnownPage } = {};
  const path = "/.well-known/oauth-protected-resource/mcp";
  const page: WellKnownPage = { open: true, respond: (request) => (later.page as WellKnownPage).respond(request) };
  const server = new Server({ name: "guarded", version: "1.0.0" });
  server.tool("who", { run: (_, ctx) => ctx.principal ?? "nobody" });
  const options: ServeHttpOptions = {
    signals: false,
    pages: { [path]: page },
    authorization: {
      authenticator: { authenticate: (request) => (later.authenticator as Authenticator).authenticate(request) },
      scopes: scopeRules({ tools: { who: ["who:ask"] } }),
    },
  };
  const { url, close } = await serveHttp(server, options);
  onTestFinished(() => close());
  const dpop = dpopVerifier({ required, nonce: required, origin: new URL(url).origin });
  const resource = protectedResource({
    resource: url,
    authorizationServers: [mock.issuer],
    allowLoopbackHttp: true,
    dpop,
  });
  Object.assign(later, { page: wellKnown(resource, { issuerMetadata: "off" }).pages[path] });
  later.authenticator = tokenAuthenticator(verifierOf(mock), { resource, dpop });
  return url;
}

function verifierOf(mock: Mock): TokenVerifier {
  return {
    verify(token) {
      const known = mock.tokens.get(token);
      if (known === undefined) return Promise.resolve({ ok: false, status: 401, message: "Unknown token" });
      const identity = { principal: "ada", scopes: known.scope.split(" ") };
      return Promise.resolve({ ok: true, identity, boundTo: known.jkt });
    },
  };
}

describe.each(["2025-11-25", "2026-07-28"])("in %s", (revision) => {
  it.each([true, false])("calls our own protected server, tokens bound to a key: %s", async (required) => {
    const mock = await mockAuthorization(required ? { scheme: "DPoP" } : {});
    const url = await ownServer(mock, required);
    const authorizer = userAuthorization({ serverUrl: url, clientName: "test", redirect: headlessRedirect() });
    const client = await connect(url, { revision, verdicts: false, http: { authorizer } });
    onTestFinished(() => client.close());
    expect(await client.tools().all()).toHaveLength(1);
    expect(await client.call("who")).toMatchObject({ content: [{ text: "ada" }] });
    expect(mock.to("/authorize").map(({ query }) => query.get("scope"))).toEqual([null, "who:ask"]);
    mock.tokens.clear();
    expect(await client.call("who")).toMatchObject({ content: [{ text: "ada" }] });
    expect(mock.to("/authorize")).toHaveLength(2);
  });
});

it("says why it could not connect, and what to do", async () => {
  const mock = await mockAuthorization({ metadata: { code_challenge_methods_supported: undefined } });
  const url = await ownServer(mock, false);
  const authorizer = userAuthorization({ serverUrl: url, clientName: "test", redirect: headlessRedirect() });
  await expect(connect(url, { verdicts: false, http: { authorizer } })).rejects.toThrow(/PKCE.*must enable S256/s);
});

it("calls the official SDK's server, protected by the official SDK's authorization server", async () => {
  const app = createMcpExpressApp();
  const server = createServer(app);
  const origin = await listen(server);
  const provider = new DemoInMemoryAuthProvider();
  const resourceServerUrl = new URL(`${origin}/mcp`);
  app.use(mcpAuthRouter({ provider, issuerUrl: new URL(origin), resourceServerUrl, scopesSupported: ["mcp:tools"] }));
  const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
  app.use("/mcp", requireBearerAuth({ verifier: provider, resourceMetadataUrl }));
  app.post("/mcp", (request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) => {
    void serveOfficially().then((transport) => transport.handleRequest(request, response, request.body));
  });
  const serverUrl = resourceServerUrl.href;
  const authorizer = userAuthorization({ serverUrl, clientName: "test", redirect: headlessRedirect() });
  const client = await connect(serverUrl, { revision: "2025-11-25", verdicts: false, http: { authorizer } });
  onTestFinished(() => client.close());
  expect(await client.call("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
});

async function serveOfficially(): Promise<StreamableHTTPServerTransport> {
  const server = new McpServer({ name: "official", version: "1.0.0" });
  server.registerTool("add", {}, () => ({ content: [{ type: "text", text: "3" }] }));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport;
}

async function listen(server: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
