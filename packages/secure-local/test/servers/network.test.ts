// What the section network denies is not connected to by whatever asks a server at a URL; and nothing else opens sockets.
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { ServerGrant } from "../../src/policy/policy.js";
import { openServer } from "../../src/server/open-server.js";
import { Household } from "./household.js";

let web: Server;
let connections = 0;
let port = 0;
const house = new Household();

beforeAll(async () => {
  web = createServer((_request, response) => response.writeHead(404).end());
  web.on("connection", () => connections++);
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  port = (web.address() as AddressInfo).port;
});
afterAll(async () => {
  await house.close();
  await new Promise((resolve) => web.close(resolve));
});

const DENIALS: Readonly<Record<string, () => string>> = {
  "the preset offline": () => "extends: offline",
  "network.offline": () => "network: { offline: true }",
  "a denied host": () => 'network: { denied_endpoints: [{ host: "localhost" }, { host: "127.0.0.1" }] }',
  "a denied address": () => 'network: { denied_endpoints: [{ host: "127.0.0.1" }, { host: "::1" }] }',
  "a blocked port": () => `network: { blocked_ports: [${port}] }`,
};
const HOSTS = ["localhost", "127.0.0.1"];

const textOf = (denial: string, host: string): string =>
  `version: "1.0"\n${denial}\nservers:\n  far: { url: "http://${host}:${port}/mcp" }\n`;

it.each(Object.keys(DENIALS).flatMap((denial) => HOSTS.map((host) => [denial, host] as const)))(
  "%s keeps every request from %s",
  async (denial, host) => {
    const policy = await parsePolicy(textOf((DENIALS[denial] as () => string)(), host), { file: "policy.yaml" });
    const grant = policy.servers.get("far") as ServerGrant;
    const before = connections;
    await expect(openServer(grant, { policy, program: "" }, {})).rejects.toThrow(/Denied\..*Rule: /s);
    expect(connections).toBe(before);
  },
);

it("goes where nothing is denied", async () => {
  const policy = await parsePolicy(textOf("", "127.0.0.1"), { file: "policy.yaml" });
  const before = connections;
  await expect(openServer(policy.servers.get("far") as ServerGrant, { policy, program: "" }, {})).rejects.toThrow();
  expect(connections).toBeGreaterThan(before);
});

it.each([["review"], ["test"]])("servers %s connects to nothing that is denied, and says the rule", async (action) => {
  house.write(textOf("network: { offline: true }", "127.0.0.1"));
  const before = connections;
  const { code, stdout, stderr } = await house.run(["servers", action, "far"]);
  expect(code).not.toBe(0);
  expect(stdout + stderr).toMatch(/network\.offline/);
  expect(connections).toBe(before);
});

it("knows every file of the product that opens a socket to elsewhere", () => {
  const source = join(import.meta.dirname, "../../src");
  const opening = /\bguardedFetch\(|\b(?:net|tls)\.connect\(|\bcreateConnection\b|\bglobalThis\.fetch\b/;
  const found = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && opening.test(readFileSync(join(source, name), "utf8")))
    .sort();
  expect(found).toEqual([
    "capabilities/databases/postgres-connection.ts",
    "capabilities/egress-proxy.ts",
    "capabilities/fetch.ts",
    "capabilities/resolve.ts",
    // Its text runs inside the sandbox, where the proxy is all there is.
    "sandbox/bubblewrap.ts",
    "server/open-server.ts",
  ]);
});
