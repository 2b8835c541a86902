// Connections to a server at a URL are kept for the next request, and never past the policy by which they were judged.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Server as McpServer } from "@secure-local/mcp/server";
import { toNodeHandler } from "@secure-local/mcp/http";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy, ServerGrant } from "../../src/policy/policy.js";
import { type Upstream, openServer, upstreamOf } from "../../src/server/open-server.js";

const CALLS = 5;
const HOSTS = ["localhost", "127.0.0.1"];
const reached = { connections: 0, requests: 0 };
let web: Server;
let port = 0;
let policy: Policy;

beforeAll(async () => {
  const server = new McpServer({ name: "far", version: "1" });
  server.tool("hello", { annotations: { readOnlyHint: true }, run: () => "hello" });
  web = createServer(toNodeHandler(server));
  web.on("connection", () => reached.connections++).on("request", () => reached.requests++);
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  port = (web.address() as AddressInfo).port;
});
afterAll(async () => {
  await new Promise((resolve) => {
    web.close(resolve);
    web.closeAllConnections();
  });
});
beforeEach(() => Object.assign(reached, { connections: 0, requests: 0 }));

const DENIALS: Readonly<Record<string, () => string>> = {
  "network.offline": () => "network: { offline: true }",
  "a denied host": () => 'network: { denied_endpoints: [{ host: "localhost" }, { host: "127.0.0.1" }] }',
  "a denied address": () => 'network: { denied_endpoints: [{ host: "127.0.0.1" }] }',
  "a blocked port": () => `network: { blocked_ports: [${port}] }`,
};

const policyOf = (host: string, denial = ""): Promise<Policy> =>
  parsePolicy(`version: "1.0"\n${denial}\nservers:\n  far: { url: "http://${host}:${port}/mcp" }\n`, {
    file: "p.yaml",
  });
const given = () => ({ policy, program: "", current: () => policy });
const far = (): ServerGrant => policy.servers.get("far") as ServerGrant;

it.each(HOSTS)("serve many calls to %s", async (host) => {
  policy = await policyOf(host);
  const client = await openServer(far(), given(), {});
  onTestFinished(() => client.close());
  for (let call = 0; call < CALLS; call++) await client.call("hello");
  expect(reached.requests).toBeGreaterThan(CALLS);
  expect(reached.connections).toBe(1);
});

it.each(Object.keys(DENIALS).flatMap((denial) => HOSTS.map((host) => [denial, host] as const)))(
  "carry nothing more once the policy has %s, for %s, and are made anew once it has not",
  async (denial, host) => {
    policy = await policyOf(host);
    const client = await openServer(far(), given(), {});
    onTestFinished(() => client.close());
    await client.call("hello");
    const before = { ...reached };
    policy = await policyOf(host, (DENIALS[denial] as () => string)());
    await expect(client.call("hello")).rejects.toThrow(/Denied\..*Rule: /s);
    expect(reached).toEqual(before);
    policy = await policyOf(host);
    await client.call("hello");
    expect(reached.connections).toBe(before.connections + 1);
  },
);

it.each(["http://127.0.0.2:PORT/mcp", "https://127.0.0.1:PORT/mcp", "http://127.0.0.1:1/mcp", "http://example.com/"])(
  "are never made to %s, which is not where the entry leads",
  async (elsewhere) => {
    policy = await policyOf("127.0.0.1");
    const { requester } = (await upstreamOf(far(), given())) as Upstream & { kind: "url" };
    const url = elsewhere.replace("PORT", String(port));
    await expect(requester().request({ method: "GET", url, headers: {} })).rejects.toThrow(/^Denied\..*does not name/s);
    expect(reached.connections).toBe(0);
  },
);
