// What a policy file lets requests reach: names, addresses behind them, plain http.
import { describe, expect, it } from "vitest";
import { createFetch } from "../../src/capabilities/fetch.js";
import { policyEgress } from "../../src/capabilities/policy-egress.js";
import { decide as judge } from "../../src/policy/decide.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const TEXT = `
version: "1.0"
network:
  allowed_endpoints:
    - host: api.example.com
    - host: plain.example.com
      ports: [80]
    - host: localhost
      ports: [8080]
    - host: 192.168.7.7
      ports: [443]
  allowed_ranges:
    - 10.1.0.0/16
  blocked_ports: [25]
`;

const policy = await parsePolicy(TEXT, { file: "policy.yaml", environment: {} });
const decide = policyEgress(() => policy);

/** Whether a request would get as far as a connection: the refusal's code, or what connecting says. */
async function reach(url: string, ...addresses: string[]): Promise<string> {
  const resolve = async () => addresses;
  const refusal = await createFetch(decide, { resolve, timeoutMs: 20 })(url).catch((error: unknown) => error);
  return (refusal as { code: string }).code;
}

describe("policyEgress", () => {
  it("allows named endpoints over https, and over http only at ports that are named", () => {
    const asked = (host: string, port: number, scheme: "http" | "https") => decide({ host, port, scheme }).allowed;
    expect(asked("api.example.com", 443, "https")).toBe(true);
    expect(asked("api.example.com", 443, "http")).toBe(false);
    expect(asked("api.example.com", 80, "http")).toBe(false);
    expect(asked("plain.example.com", 80, "http")).toBe(true);
    expect(asked("other.example.com", 443, "https")).toBe(false);
    expect(asked("api.example.com", 25, "https")).toBe(false);
  });

  it("lets a named host lead to public addresses only, unless the policy names the address too", () => {
    const privately = (host: string, port: number, address: string) =>
      decide({ host, port, scheme: "https" }, address).allowPrivate;
    expect(privately("api.example.com", 443, "10.0.0.1")).toBe(false);
    expect(privately("api.example.com", 443, "127.0.0.1")).toBe(false);
    expect(privately("api.example.com", 443, "10.1.2.3")).toBe(true);
    expect(privately("localhost", 8080, "127.0.0.1")).toBe(true);
    expect(privately("localhost", 8080, "10.0.0.1")).toBe(false);
    expect(privately("192.168.7.7", 443, "192.168.7.7")).toBe(true);
  });

  it("refuses through fetch what it does not name", async () => {
    expect(await reach("https://api.example.com/", "10.0.0.1")).toBe("not-public");
    expect(await reach("https://api.example.com/", "8.8.8.8", "::1")).toBe("not-public");
    expect(await reach("https://10.0.0.1/")).toBe("denied");
    expect(await reach("https://other.example.com/", "8.8.8.8")).toBe("denied");
    expect(await reach("http://localhost/", "127.0.0.1")).toBe("denied");
  });

  it("follows the policy of the moment", () => {
    let current = policy;
    const following = policyEgress(() => current);
    const search = { host: "html.duckduckgo.com", port: 443, scheme: "https" } as const;
    expect(following(search).allowed).toBe(false);
    current = builtInPolicy();
    expect(following(search)).toMatchObject({ allowed: true });
  });
});

it.each([
  ["http://docs.example.com/", 80, "443", "443, 80"],
  ["https://docs.example.com:8443/", 8443, "443", "443, 8443"],
  ["https://deep.wild.example/", 443, "80, 8080", "80, 8080, 443"],
])("names the port, and the key for it, where only the port is another: %s", async (url, port, named, wish) => {
  const text =
    'version: "1.0"\nnetwork: { allowed_endpoints: [{ host: docs.example.com }, { host: "*.wild.example", ports: [8080, 80] }] }\n';
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const { hostname, origin } = new URL(url);
  const advice = `it names ${hostname} at port${named.includes(",") ? "s" : ""} ${named} only: for port ${port}, write ports: [${wish}] beside it in network.allowed_endpoints.`;
  await expect(createFetch(policyEgress(() => policy))(url)).rejects.toThrow(
    `The policy does not allow requests to ${origin} (default deny); ${advice}`,
  );
  expect(judge(policy, { kind: "network", host: hostname, port }).reason).toContain(advice);
});

it("names the line of the rule that refused, for whoever records it", async () => {
  const text = 'version: "1.0"\nnetwork:\n  denied_endpoints: [{ host: bad.example }]\n';
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const fetch = createFetch(policyEgress(() => policy));
  const place = "network.denied_endpoints: bad.example, line 3";
  await expect(fetch("https://bad.example/")).rejects.toMatchObject({
    code: "denied",
    message: `The policy does not allow requests to https://bad.example (${place}).`,
    rule: place,
  });
});
