// The time in a record, which is written without the tables of time zones that `toISOString` loads.
import { afterEach, describe, expect, it, vi } from "vitest";
import { GENESIS, lineBody } from "../../src/audit/event-text.js";

afterEach(() => vi.restoreAllMocks());

describe("the time of a record", () => {
  it("is the ISO text of the moment, to the millisecond", () => {
    const day = 86_400_000;
    const moments = [1, 999, 1_000, 59_999, 951_782_399_999, 951_782_400_000, 1_709_164_800_007, 4_102_444_799_999];
    for (let at = 1; at < 200; at += 1) moments.push(at * 97.3 * day + at * 1_234_567);
    for (const moment of moments.map(Math.floor)) {
      vi.spyOn(Date, "now").mockReturnValue(moment);
      expect(lineBody(1, GENESIS, "")).toContain(`"time":"${new Date(moment).toISOString()}"`);
    }
  });
});
