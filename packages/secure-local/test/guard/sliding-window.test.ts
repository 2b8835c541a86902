// The limit holds in every minute, by a clock the caller gives.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlidingWindow, WINDOW_MS } from "../../src/guard/rate-limits.js";

describe("SlidingWindow", () => {
  it("takes the limit at once and then says how long to wait", () => {
    const window = new SlidingWindow();
    for (let call = 0; call < 20; call++) expect(window.take(20, 1_000)).toBe(0);
    const wait = window.take(20, 1_000);
    expect(wait).toBeGreaterThan(59_000);
    expect(window.take(20, 1_000 + wait - 1)).toBeGreaterThan(0);
    expect(window.take(20, 1_000 + wait)).toBe(0);
  });

  it("never takes more than the limit in any minute, and a caller that waits as told is always taken", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 50, maxLength: 300 });
    const limits = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(limits, steps, (limit, gaps) => {
        const window = new SlidingWindow();
        const taken: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const wait = window.take(limit, now);
          if (wait > 0) {
            now += wait;
            expect(window.take(limit, now)).toBe(0);
          }
          taken.push(now);
        }
        for (let i = limit; i < taken.length; i++) {
          expect(taken[i]! - taken[i - limit]!).toBeGreaterThanOrEqual(WINDOW_MS);
        }
      }),
    );
  });

  it("admits a steady caller within one per cent of the limit", () => {
    const window = new SlidingWindow();
    let taken = 0;
    const minutes = 30;
    for (let now = 0; now < minutes * WINDOW_MS; now += 25) if (window.take(600, now) === 0) taken++;
    expect(taken).toBeLessThanOrEqual(600 * minutes);
    expect(taken).toBeGreaterThan(600 * minutes * 0.99);
  });

  it("gives nothing away when the clock stands still or goes back", () => {
    const window = new SlidingWindow();
    for (let call = 0; call < 5; call++) window.take(5, 100_000);
    expect(window.take(5, 100_000)).toBeGreaterThan(0);
    expect(window.take(5, 10)).toBeGreaterThan(0);
    expect(window.take(5, 200_000)).toBe(0);
  });

  it("holds a limit that was lowered", () => {
    const window = new SlidingWindow();
    for (let call = 0; call < 10; call++) window.take(10, call * 1_000);
    const wait = window.take(3, 9_000);
    // Seven of the ten must be a minute old, and an eighth.
    expect(9_000 + wait).toBeGreaterThanOrEqual(7_000 + WINDOW_MS);
    expect(window.take(3, 9_000 + wait)).toBe(0);
  });

  it("is idle once a minute has passed", () => {
    const window = new SlidingWindow();
    window.take(1, 0);
    expect(window.idle(30_000)).toBe(false);
    expect(window.idle(61_000)).toBe(true);
  });
});
