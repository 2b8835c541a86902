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
