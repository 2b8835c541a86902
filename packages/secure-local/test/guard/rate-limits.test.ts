// Windows are kept apart by caller and name, and their number is bounded.
import { describe, expect, it } from "vitest";
import { RateLimits, ratesOf } from "../../src/guard/rate-limits.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

describe("RateLimits", () => {
  it("keeps callers and names apart", () => {
    const limits = new RateLimits(() => 0);
    expect(limits.take("ada", "tool x", 1)).toBe(0);
    expect(limits.take("ada", "tool x", 1)).toBeGreaterThan(0);
    expect(limits.take("ada", "tool y", 1)).toBe(0);
    expect(limits.take("bob", "tool x", 1)).toBe(0);
    expect(limits.take(undefined, "tool x", 1)).toBe(0);
  });

  it("tells how many places are taken now, and of none that is free again", () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    limits.take("a", "x", 5);
    now = 30_000;
    for (let i = 0; i < 2; i += 1) limits.take("a", "y", 5);
    limits.take("b", "x", 5);
    expect([...limits.used("a")]).toEqual([
      ["x", { used: 1, firstMs: 30_250, allMs: 30_250 }],
      ["y", { used: 2, firstMs: 60_250, allMs: 60_250 }],
    ]);
    now = 50_000;
    limits.take("a", "y", 5);
    expect(limits.used("a").get("y")).toEqual({ used: 3, firstMs: 40_250, allMs: 60_250 });
    now = 60_500;
    expect([...limits.used("a").keys()]).toEqual(["y"]);
    expect([...limits.used("nobody")]).toEqual([]);
  });

  it("serves nobody new while its windows are full, and everybody again a minute later", () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    let served = 0;
    while (limits.take(`caller ${served}`, "requests", 5) === 0) served++;
    expect(served).toBe(4_096);
    expect(limits.take("caller 7", "requests", 5)).toBe(0);
    expect(limits.take("somebody else", "requests", 5)).toBe(60_000);
    now = 61_000;
    expect(limits.take("somebody else", "requests", 5)).toBe(0);
  });

  it("admits within one per cent of the limit for fifty callers over many calls", () => {
    let now = 0;
    const limits = new RateLimits(() => now);
    const callers = Array.from({ length: 50 }, (_, index) => `caller ${index}`);
    let admitted = 0;
    const minutes = 4;
    for (; now < minutes * 60_000; now += 300) {
      for (const caller of callers) if (limits.take(caller, "tool x", 120) === 0) admitted++;
    }
    const most = 120 * minutes * callers.length;
    expect(admitted).toBeLessThanOrEqual(most);
    expect(admitted).toBeGreaterThanOrEqual(most * 0.99);
  });

  it("lets all tools together be called as often as the policy says", async () => {
    const text = 'version: "1.0"\ntools: { rate_limits: { default: 10, a: 9000, b: 500 } }';
    const rates = ratesOf(await parsePolicy(text, { file: "p.yaml" }));
    expect(rates.tool("a")).toBe(9_000);
    expect(rates.tool("other")).toBe(10);
    expect(rates.requests).toBeGreaterThan(9_510);
  });
});
