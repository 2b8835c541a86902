// Options that do not exist are refused where they are given: what was meant by them would not happen, and nobody would be told.
import { describe, expect, it } from "vitest";
import {
  jwtAuthenticator,
  introspectionAuthenticator,
  scopeRules,
  staticTokenAuthenticator,
} from "@secure-local/mcp/auth";
import { dpopVerifier, protectedResource, type Authenticator } from "@secure-local/mcp/auth";
import { connect } from "@secure-local/mcp/client/node";
import { memoryStores, shareOver } from "@secure-local/mcp/cluster";
import { toFetch } from "@secure-local/mcp/fetch";
import { Gateway } from "@secure-local/mcp/gateway";
import { Host as WebHost } from "@secure-local/mcp/host";
import { Host } from "@secure-local/mcp/host/node";
import { serveHttp, toNodeHandler } from "@secure-local/mcp/http";
import { redisCluster } from "@secure-local/mcp/redis";
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { taskFileStore } from "@secure-local/mcp/task-files";
import { connectInMemory } from "@secure-local/mcp/testing";

const server = (): Server => new Server({ name: "s", version: "1" });
const authenticator: Authenticator = {
  authenticate: () => ({ ok: false, status: 401, challenge: "Bearer", error: "x", message: "x" }),
};
const gateway = (): Gateway => new Gateway({ name: "g", version: "1" });
const issuer = "https://issuer.example";
const jwt = { issuer, jwksUri: `${issuer}/keys`, audience: "https://mcp.example" };

/** What takes options, with one that is misspelt, and the sentence's end. */
type Case = readonly [string, () => unknown, string];
const anything = (given: object): never => given as never;
const MISSPELT: readonly Case[] = [
  ["serveHttp", () => serveHttp(server(), anything({ prot: 3000 })), '"prot", did you mean "port"?'],
  [
    "serveHttp, British",
    () => serveHttp(server(), anything({ authorisation: { authenticator } })),
    '"authorisation", did you mean "authorization"?',
  ],
  ["serveHttp, what is inside", () => serveHttp(server(), anything({ authenticator })), 'did you mean "authenticate"?'],
  [
    "serveHttp, a limit",
    () => serveHttp(server(), anything({ limits: { conections: 1 } })),
    'did you mean "connections"?',
  ],
  [
    "serveHttp, sessions",
    () => serveHttp(server(), anything({ sessions: { idle: 1 } })),
    'in "sessions" there is no member',
  ],
  [
    "serveHttp, identity",
    () => serveHttp(server(), anything({ identity: () => "x" })),
    'no member "identity": there are path',
  ],
  [
    "serveHttp, authorization",
    () => serveHttp(server(), anything({ authorization: { authenticator, onRefuse: () => 0 } })),
    'in "authorization" there is no member "onRefuse", did you mean "onRefused"?',
  ],
  ["toNodeHandler", () => toNodeHandler(server(), anything({ identify: () => "x" })), 'did you mean "identity"?'],
  ["toFetch", () => toFetch(server(), anything({ allowedOrigin: [] })), 'did you mean "allowedOrigins"?'],
  ["serveStdio", () => serveStdio(server(), anything({ signal: false })), 'did you mean "signals"?'],
  [
    "connect on Node",
    () => connect("http://127.0.0.1:1/mcp", anything({ http: { prox: "" } })),
    'did you mean "proxy"?',
  ],
  ["connect to a command", () => connect({ command: "node" }, anything({ timeout: 3 })), 'did you mean "timeoutMs"?'],
  ["connectInMemory", () => connectInMemory(server(), anything({ identities: "ada" })), 'did you mean "identity"?'],
  ["shareOver", () => shareOver(memoryStores(), anything({ key: "", adress: "" })), 'did you mean "address"?'],
  ["redisCluster", () => redisCluster("redis://127.0.0.1:1", anything({ prefx: "a" })), 'did you mean "prefix"?'],
  ["taskFileStore", () => taskFileStore("/nowhere/at/all", anything({ task: 3 })), 'did you mean "tasks"?'],
  ["Gateway", () => new Gateway(anything({ name: "g", version: "1", tool: [] })), 'no member "tool"'],
  [
    "Gateway.mount",
    () => gateway().mount("a", (options) => connect(server(), options), anything({ prefx: "" })),
    'did you mean "prefix"?',
  ],
  ["Host", () => new Host(anything({ authorise: () => true })), 'did you mean "authorize"?'],
  ["Host anywhere", () => new WebHost(anything({ oncall: () => true })), 'did you mean "onCall"?'],
  ["Host.add", () => new Host({}).add("a", server(), anything({ trustd: true })), 'did you mean "trusted"?'],
  ["Host.load", () => new Host({}).load("{}", anything({ waitMS: 1 })), 'did you mean "waitMs"?'],
  ["scopeRules", () => scopeRules(anything({ tool: { remove: ["admin"] } })), 'did you mean "tools"?'],
  ["jwtAuthenticator", () => jwtAuthenticator(anything({ ...jwt, audiences: [] })), 'did you mean "audience"?'],
  [
    "introspectionAuthenticator",
    () => introspectionAuthenticator(anything({ endpont: "" })),
    'did you mean "endpoint"?',
  ],
  ["staticTokenAuthenticator", () => staticTokenAuthenticator([anything({ scope: ["a"] })]), 'did you mean "scopes"?'],
  ["dpopVerifier", () => dpopVerifier(anything({ require: true })), 'did you mean "required"?'],
  ["protectedResource", () => protectedResource(anything({ resources: "" })), 'did you mean "resource"?'],
];

async function refusal(start: () => unknown): Promise<unknown> {
  try {
    await start();
  } catch (error) {
    return error;
  }
  return "nothing was said";
}

describe("a member that does not exist", () => {
  it.each(MISSPELT)("of %s is refused at the start", async (_what, start, end) => {
    const error = (await refusal(start)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toContain("there is no member");
    expect(error.message).toContain(end);
  });
});

it.each([{}, null, true, { authenticate: () => "x" }, () => "x", { authenticator: () => "x" }, { authenticator: {} }])(
  "authorization %o leaves no door open",
  async (authorization) => {
    for (const start of [
      () => serveHttp(server(), anything({ authorization })),
      () => toNodeHandler(server(), anything({ authorization })),
      () => toFetch(server(), anything({ authorization })),
    ]) {
      expect(await refusal(start)).toMatchObject({ code: "BAD_OPTIONS" });
    }
  },
);

it.each(["ada", null, {}])("%o as a function that says who is asking is refused", async (given) => {
  expect(await refusal(() => serveHttp(server(), anything({ authenticate: given })))).toMatchObject({
    code: "BAD_OPTIONS",
  });
  expect(await refusal(() => toNodeHandler(server(), anything({ identity: given })))).toMatchObject({
    code: "BAD_OPTIONS",
  });
});

it("a server that was left out, or is none, is named", async () => {
  for (const none of [undefined, {}, null]) {
    for (const start of [() => serveHttp(none as never), () => serveStdio(none as never), () => toFetch(none as never)])
      expect(await refusal(start)).toMatchObject({
        code: "BAD_SERVER",
        message: expect.stringContaining("new Server(") as string,
      });
  }
});

it("what is mounted says how it is connected", async () => {
  const given = [server(), { command: "node" }, "http://127.0.0.1/mcp"];
  for (const upstream of given) {
    const message = expect.stringContaining("takes a function that connects") as string;
    expect(await refusal(() => gateway().mount("a", upstream as never))).toMatchObject({
      code: "INVALID_TARGET",
      message,
    });
  }
});
