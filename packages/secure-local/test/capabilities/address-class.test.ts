// The address table: every row of the open list, borders of ranges, and forms that hide one address in another.
import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nonPublicClass } from "../../src/capabilities/resolve.js";
import { parseIp } from "../../src/capabilities/egress-target.js";
import { hasCorpus, readCorpus } from "../fixtures/shared-corpus.js";

const CORPUS = "ip-verdicts.json";

describe("nonPublicClass", () => {
  it.skipIf(!hasCorpus(CORPUS))("agrees with every verdict of the open list", () => {
    for (const { addr, verdict, why } of readCorpus<{ addr: string; verdict: string; why: string }[]>(CORPUS)) {
      expect(nonPublicClass(addr) === undefined ? "allow" : "deny", `${addr} (${why})`).toBe(verdict);
    }
  });

  it.each([
    ["127.0.0.1", "a loopback address"],
    ["::ffff:127.0.0.1", "a loopback address"],
    ["::ffff:7f00:1", "a loopback address"],
    ["::FFFF:0A00:0001", "a private address"],
    ["64:ff9b::a9fe:a9fe", "a cloud metadata address"],
    ["2002:a00:1::1", "a private address"],
    ["2001:0:7f00:1::1", "a loopback address"],
    ["2001:0:808:808:0:0:f5ff:fffe", "a private address"],
    ["2a00:1450::5efe:a00:1", "a private address"],
    ["2a00:1450::200:5efe:7f00:1", "a loopback address"],
    ["::8.8.8.8", "a reserved address"],
    ["::ffff:0:8.8.8.8", "a reserved address"],
    ["4000::1", "a reserved address"],
    ["fd00:ec2::254", "a cloud metadata address"],
    ["fe80::1%eth0", "not an address"],
    ["0177.0.0.1", "not an address"],
    ["127.1", "not an address"],
    ["[::1]", "not an address"],
    ["1::2::3", "not an address"],
    ["::1.2.3.4:1", "not an address"],
    ["", "not an address"],
  ])("%s is %s", (address, found) => {
    expect(nonPublicClass(address)).toBe(found);
  });

  it.each(["8.8.8.8", "223.255.255.255", "2001:0:808:808:0:0:f7f7:f7f7", "2620:4f:8000::1", "2a00::5efe:808:808"])(
    "%s is public",
    (address) => {
      expect(nonPublicClass(address)).toBeUndefined();
    },
  );
});

describe("parseIp", () => {
  it("accepts what Node accepts, zones and IPv4 with leading zeros excepted", () => {
    const piece = fc.constantFrom("0", "1", "255", "256", "ffff", "10000", ":", "::", ".", "a", "::1", "1.2.3.4", "");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6(),
          fc.array(piece, { maxLength: 10 }).map((parts) => parts.join("")),
        ),
        (text) => {
          expect(parseIp(text)?.length).toBe({ 0: undefined, 4: 4, 6: 16 }[isIP(text)]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("means the same address as Node does", () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const bytes = parseIp(text) as number[];
        const groups = Array.from({ length: 8 }, (_, index) =>
          ((bytes.at(index * 2) ?? 0) * 256 + (bytes.at(index * 2 + 1) ?? 0)).toString(16),
        );
        const list = new BlockList();
        list.addAddress(groups.join(":"), "ipv6");
        expect(list.check(text, "ipv6")).toBe(true);
      }),
    );
  });
});
