// What a server says of its login leads nowhere that the section network denies, and to no private address that it does not name:
// when a person logs in, and when a running server renews a token.
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { mockAuthorization, type Mock } from "../../../mcp/test/auth-client/support/mock-authorization.js";
import type { AuditEvent } from "../../src/audit/audit-event.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy, ServerGrant } from "../../src/policy/policy.js";
import { personAuthorizer } from "@secure-local/mcp-tools/target";
import { loginFetch, openServer } from "../../src/server/open-server.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { protectedServer } from "../remote/protected-server.js";

/** By the port of the authorization server, which is another than the server's own. */
const NETWORKS: Readonly<Record<string, (port: string) => string>> = {
  "does not name it": () => "",
  "names another port": (port) => `network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${Number(port) ^ 1}] }] }`,
  "denies its host": (port) => `network: { denied_endpoints: [{ host: 127.0.0.1, ports: [${port}] }] }`,
  "denies what it allows": (port) =>
    `network: { allowed_endpoints: [${at(port)}], denied_endpoints: [{ host: 127.0.0.1, ports: [${port}] }] }`,
  "blocks its port": (port) => `network: { allowed_endpoints: [${at(port)}], blocked_ports: [${port}] }`,
  "is offline": () => "network: { offline: true }",
};
const at = (port: string): string => `{ host: 127.0.0.1, ports: [${port}] }`;
const named = (port: string): string => `network: { allowed_endpoints: [${at(port)}] }`;

/** A server with a login, and a person who lets everything pass. */
async function fixture() {
  // Each token is over at once, so that each call renews it.
  const mock = await mockAuthorization({ lifeSeconds: 1 });
  const url = await protectedServer(mock);
  const { port } = new URL(mock.issuer);
  const policyOf = (network: string): Promise<Policy> =>
    parsePolicy(`version: "1.0"\n${network}\nservers:\n  far: { url: "${url}", login: oauth }\n`, { file: "p.yaml" });
  const records: AuditEvent[] = [];
  const tokensFile = join(temporaryFolder(), "tokens.json");
  let policy = await policyOf("");
  const open = () =>
    openServer(
      policy.servers.get("far") as ServerGrant,
      {
        ...{ policy, program: "", current: () => policy },
        record: (event) => Promise.resolve(void records.push(event)),
        logins: (server, given) =>
          Promise.resolve(
            personAuthorizer(server, {
              ...{ tokensFile, fetch: given, show: () => undefined },
              browse: async (page) => void (await fetch(page)),
            }),
          ),
      },
      {},
    );
  const follow = async (network: (port: string) => string): Promise<void> => {
    policy = await policyOf(network(port));
  };
  return { mock, records, open, follow };
}

const asked = (mock: Mock): number => mock.seen.filter(({ server }) => server === "as").length;
const denials = (records: readonly AuditEvent[]) =>
  records.filter(({ kind, outcome }) => kind === "server.login" && outcome === "denied");

describe.each(Object.entries(NETWORKS))("a policy that %s", (_name, network) => {
  it("keeps a login from the authorization server", async () => {
    const { mock, records, open, follow } = await fixture();
    await follow(network);
    await expect(open()).rejects.toThrow(/Denied\./);
    expect(asked(mock)).toBe(0);
    // One that is offline says no to the server itself, before any login.
    expect(denials(records)).toHaveLength(network("1").includes("offline") ? 0 : 1);
  });

  it("keeps the renewal of a token from it, from the next request on", async () => {
    const { mock, records, open, follow } = await fixture();
    await follow(named);
    const client = await open();
    onTestFinished(() => client.close());
    const before = asked(mock);
    await client.call("who");
    expect(mock.to("/token").length).toBeGreaterThan(1);
    expect(asked(mock)).toBeGreaterThan(before);
    expect(denials(records)).toEqual([]);
    await follow(network);
    const then = asked(mock);
    await client.call("who").catch(() => undefined);
    expect(asked(mock)).toBe(then);
    expect(denials(records)[0]).toMatchObject({
      server: "far",
      decision: { allowed: false, rule: expect.stringMatching(/./) as string },
      detail: { method: "POST", url: `${mock.issuer}/token` },
    });
  });
});

it("has each request of a login on record before it is sent, without what is secret in it", async () => {
  const { mock, records, open, follow } = await fixture();
  await follow(named);
  const client = await open();
  await client.close();
  const sent = mock.seen.filter(({ server, path }) => server === "as" && path !== "/authorize");
  const told = records.filter(({ kind }) => kind === "server.login").map(({ detail }) => detail);
  for (const { method, path } of sent) expect(told).toContainEqual({ method, url: mock.as + path });
  expect(JSON.stringify(told)).not.toMatch(/\?|code|verifier/);
});

describe("a request of a login", () => {
  const reaching = async (network: string, fails = false) => {
    const policy = await parsePolicy(
      `version: "1.0"\n${network}\nservers:\n  far: { url: "https://far.example/mcp", login: oauth }\n`,
      { file: "p.yaml" },
    );
    const records: AuditEvent[] = [];
    const record = (event: AuditEvent): Promise<void> =>
      fails ? Promise.reject(new Error("no room")) : Promise.resolve(void records.push(event));
    return { fetch: loginFetch(policy.servers.get("far") as ServerGrant, { current: () => policy, record }), records };
  };
  const INWARD = [
    "169.254.169.254",
    "168.63.129.16",
    "10.1.2.3",
    "192.168.0.1",
    "127.0.0.1",
    "0.0.0.0",
    "localhost",
  ].concat([
    "[::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "2130706433",
    "0x7f.1",
  ]);

  it.each(INWARD)("does not go to %s of a metadata document, and that is on record", async (host) => {
    const { fetch, records } = await reaching("");
    const url = `http://${host}:9/token?code=x`;
    await expect(fetch(url, { method: "POST" })).rejects.toThrow(/^Denied\. The login of far leads to http/);
    const { origin } = new URL(url);
    expect(records).toMatchObject([{ outcome: "denied", detail: { method: "POST", url: `${origin}/token` } }]);
  });

  it.each([false, true])("is sent only where it could be recorded (fails: %s)", async (fails) => {
    const mock = await mockAuthorization({});
    const { fetch, records } = await reaching(named(new URL(mock.issuer).port), fails);
    await fetch(`${mock.issuer}/token`, { method: "POST" }).catch(() => undefined);
    expect([asked(mock), records.length]).toEqual(fails ? [0, 0] : [1, 1]);
  });
});
