// Tries to get more out of a sandbox's network than its policy allows, in more than fifty ways, and uses it as it is meant.
import { describe, expect, test } from "vitest";
import { canProbeEgress, probeEgress } from "./egress-probing.js";

describe.skipIf(!canProbeEgress())("a program that may use the network", () => {
  test("gets nowhere else by any of the ways tried, and where it may by all", async () => {
    const { attacks, uses, reached, lookedUp, stderr } = await probeEgress();
    expect(stderr).toBe("");
    expect(Object.keys(attacks).filter((name) => attacks[name] === null)).toEqual([]);
    expect(Object.keys(attacks).length).toBeGreaterThanOrEqual(50);
    expect(Object.values(uses)).toEqual(Array.from({ length: 21 }, () => true));
    expect(reached).toBe(0);
    expect(lookedUp.toSorted()).toEqual(["allowed.test", "rebound.test"]);
  });
});
