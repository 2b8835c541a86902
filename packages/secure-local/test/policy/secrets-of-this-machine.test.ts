// A secret for a service of this machine goes to port 443 where no other is named, which is rarely meant: `policy check` says so.
import { expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";

it.each([
  ["127.0.0.1", true],
  ["localhost", true],
  [{ host: "127.0.0.1", ports: [8098] }, false],
  ["api.example.com", false],
])("hosts: [%j]", async (host, isNoted) => {
  const policy = await parsePolicy(
    JSON.stringify({ version: "1.0", secrets: { key: { from: "env:KEY", hosts: [host] } } }),
    { file: "policy.yaml" },
  );
  const said = reviewPolicy(policy, []).filter(({ message }) => message.startsWith("secrets.key goes to port 443 of "));
  expect(said.map(({ rule }) => rule?.line)).toEqual(isNoted ? [1] : []);
});

/** A URL, the hosts of its secret, and what is said; undefined: nothing is wrong. */
const SENT: readonly (readonly [url: string, hosts: readonly unknown[], said: string | undefined])[] = [
  ["https://a.example/mcp", ["a.example"], undefined],
  ["https://a.example:443/mcp", ["*.a.example", "a.example"], undefined],
  ["https://[::1]/mcp", ["::1"], undefined],
  ["https://[::1]:9/mcp", [{ host: "[0:0::1]", ports: [9] }], undefined],
  ["http://a.example/mcp", [{ host: "a.example", ports: [80] }], undefined],
  ["https://a.example/mcp", ["b.example"], "to a.example; add a.example to secrets.k.hosts"],
  ["https://[::1]/mcp", [], 'to ::1; add "::1" to secrets.k.hosts'],
  [
    "http://127.0.0.1:9/mcp",
    ["127.0.0.1"],
    "to 127.0.0.1 port 9, and secrets.k.hosts names it at port 443 only; write { host: 127.0.0.1, ports: [443, 9] } in",
  ],
  ["http://a.example/mcp", [], "to a.example port 80; write { host: a.example, ports: [80] } in secrets.k.hosts"],
  [
    "https://[::1]:9/mcp",
    ["::1", { host: "::1", ports: [7, 8] }],
    'names it at port 7, 8, 443 only; write { host: "::1", ports: [7, 8, 443, 9] } in secrets.k.hosts',
  ],
];

it.each(SENT)("sent to %s where hosts are %j", async (url, hosts, said) => {
  const policy = {
    version: "1.0",
    secrets: { k: { from: "env:K", hosts } },
    servers: { s: { url, headers: { A: "${secret:k}" } } },
  };
  const told = await parsePolicy(JSON.stringify(policy), { file: "policy.yaml" }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  if (said === undefined) expect(told).toBeUndefined();
  else expect(told).toContain(said);
  // What is advised is taken as it stands.
  const [advised] = /\{ host: .* \}/.exec(said ?? "") ?? [];
  if (advised === undefined) return;
  const mended = `{ "version": "1.0", "secrets": { "k": { "from": "env:K", "hosts": [${advised}] } }, "servers": ${JSON.stringify(policy.servers)} }`;
  await parsePolicy(mended, { file: "policy.yaml" });
});
