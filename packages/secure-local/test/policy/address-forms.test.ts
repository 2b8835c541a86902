// One address in the clothes of another: denials and the addresses of this machine hold for all of them.
import { describe, expect, it } from "vitest";
import { policyEgress } from "../../src/capabilities/policy-egress.js";
import { resolveAllowed } from "../../src/capabilities/resolve.js";
import { addressForms } from "../../src/policy/host-matcher.js";
import { decide } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

/** 93.184.216.34 inside of others: every way there is to carry IPv4 in IPv6. */
const CLOTHES: readonly string[] = [
  "::ffff:93.184.216.34",
  "::ffff:5db8:d822",
  "0:0:0:0:0:FFFF:5DB8:D822",
  "::5db8:d822",
  "::93.184.216.34",
  "::ffff:0:5db8:d822",
  "64:ff9b::5db8:d822",
  "64:ff9b::93.184.216.34",
  "64:ff9b:1:5db8:d8:2200::",
  "64:ff9b:1:ab5d:b8:d822::",
  "64:ff9b:1:abcd:5d:b8d8:2200:0",
  "64:ff9b:1:abcd:ef01:2345:5db8:d822",
  "2002:5db8:d822::1",
  "2002:5db8:d822:7:1:2:3:4",
  "2001:0:5db8:d822::1",
  "2001:0:4136:e378:8000:63bf:a247:27dd",
  "2a00:1450:4001:800:0:5efe:5db8:d822",
  "2a00:1450:4001:800:200:5efe:93.184.216.34",
];

describe("an address", () => {
  it("is found inside of every other that can carry it, and nowhere else", () => {
    for (const clothes of CLOTHES) expect(addressForms(clothes), clothes).toContain("93.184.216.34");
    expect(addressForms("93.184.216.34")).toContain("::ffff:5db8:d822");
    for (const other of [
      "2a00:1450:4001:800::5db8:d822",
      "2003:5db8:d822::1",
      "fe80::5db8:d822",
      "93.184.216.35",
      "x",
      "",
    ])
      expect(addressForms(other), other).not.toContain("93.184.216.34");
  });

  it("that is denied is denied in all of them, and one denied in clothes is denied without", async () => {
    const allowed = 'allowed_endpoints: [{ host: web.example, ports: [443] }], allowed_ranges: ["::/0", "0.0.0.0/0"]';
    const policyOf = (host: string) =>
      parsePolicy(`version: "1.0"\nnetwork: { ${allowed}, denied_endpoints: [{ host: "${host}" }] }\n`, {
        file: "p.yaml",
      });
    const policy = await policyOf("93.184.216.34");
    const egress = policyEgress(() => policy);
    for (const address of CLOTHES) {
      expect(decide(policy, { kind: "network", host: address, port: 443 }).allowed, address).toBe(false);
      expect(decide(policy, { kind: "network", host: "web.example", port: 443, address }).allowed, address).toBe(false);
      expect(egress({ scheme: "https", host: "web.example", port: 443 }, address).allowed, address).toBe(false);
    }
    expect(egress({ scheme: "https", host: "web.example", port: 443 }, "93.184.216.35").allowed).toBe(true);
    const dressed = await policyOf("::ffff:93.184.216.34");
    expect(decide(dressed, { kind: "network", host: "93.184.216.34", port: 443 }).allowed).toBe(false);
  });

  it("of this machine is one in all of them, too", async () => {
    const target = {
      scheme: "https",
      host: "web.example",
      port: 443,
      literal: false,
      url: new URL("https://web.example"),
    } as const;
    const own = (address: string, mine: string) =>
      resolveAllowed(
        target,
        () => ({ allowed: true, rule: "test" }),
        async () => [address],
        async () => ({ wan: [{ address: mine }], down: undefined }),
      );
    for (const address of ["93.184.216.34", ...CLOTHES]) {
      await expect(own(address, "93.184.216.34"), address).rejects.toMatchObject({ code: "not-public" });
    }
    await expect(own("93.184.216.34", "::ffff:93.184.216.34")).rejects.toMatchObject({ code: "not-public" });
    expect(await own("93.184.216.34", "93.184.216.35")).toEqual(["93.184.216.34"]);
  });
});
