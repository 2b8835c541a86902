// A server behind the tokens of an authorization server of the tests.
import { protectedResource, tokenAuthenticator, wellKnown, type WellKnownPage } from "@secure-local/mcp/auth";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { onTestFinished } from "vitest";
import type { Mock } from "../../../mcp/test/auth-client/support/mock-authorization.js";

type Authenticator = ReturnType<typeof tokenAuthenticator>;

/** A server behind the mock's tokens; its URL is known only once it listens. */
export async function protectedServer(mock: Mock): Promise<string> {
  const later: { authenticator?: Authenticator; page?: WellKnownPage } = {};
  const path = "/.well-known/oauth-protected-resource/mcp";
  const page: WellKnownPage = { open: true, respond: (request) => (later.page as WellKnownPage).respond(request) };
  const authenticator = {
    authenticate: (request: never) => (later.authenticator as Authenticator).authenticate(request),
  };
  const server = new Server({ name: "guarded", version: "1.0.0" });
  server.tool("who", { description: "Says who calls", run: (_, ctx) => ctx.principal ?? "nobody" });
  server.tool("echo", {
    description: "Says what it was sent, in several spellings",
    run: (_, ctx) => {
      const token = (ctx.header("authorization") ?? "").replace(/^Bearer /i, "");
      const bytes = Buffer.from(token);
      return ["its token", token, bytes.toString("base64"), bytes.toString("hex")].join(" ");
    },
  });
  const { url, close } = await serveHttp(server, {
    signals: false,
    pages: { [path]: page },
    authorization: { authenticator },
  });
  onTestFinished(() => close());
  const resource = protectedResource({ resource: url, authorizationServers: [mock.issuer], allowLoopbackHttp: true });
  later.page = wellKnown(resource, { issuerMetadata: "off" }).pages[path] as WellKnownPage;
  const verify = (token: string) => {
    const known = mock.tokens.get(token);
    if (known === undefined) return Promise.resolve({ ok: false, status: 401, message: "Unknown token" } as const);
    return Promise.resolve({ ok: true, identity: { principal: "ada", scopes: known.scope.split(" ") } } as const);
  };
  later.authenticator = tokenAuthenticator({ verify }, { resource });
  return url;
}
