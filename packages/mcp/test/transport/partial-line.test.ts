// A line in pieces of any size is the same line; of one that is too long both ends can be had without joining it.
import { describe, expect, it } from "vitest";
import { PartialLine } from "../../src/transport/stdio-framing.js";

/** Bytes of which no two neighbouring stretches are alike. */
function patterned(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 7 + (index >> 8)) & 0xff;
  return bytes;
}

const LONG = patterned(3_500_000);

describe.each([1, 17, 1_000, 16_384, 65_536, 3_000_000])("in pieces of %d bytes", (piece) => {
  const length = piece < 100 ? 60_000 : 3_500_000;
  const whole = LONG.subarray(0, length);
  const line = new PartialLine();

  it("comes out as it went in, time after time", () => {
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < length; at += piece) line.append(whole.subarray(at, at + piece));
      expect(line.length).toBe(length);
      expect(Buffer.compare(line.bytes, whole)).toBe(0);
      const ends = Buffer.from(line.ends(20_000, 300));
      expect(ends.equals(Buffer.concat([whole.subarray(0, 20_000), whole.subarray(-300)]))).toBe(true);
      line.clear();
      expect(line.length).toBe(0);
      expect(line.bytes).toHaveLength(0);
    }
  });
});

it("a short line is all of its ends", () => {
  const line = new PartialLine();
  line.append(patterned(50));
  line.append(patterned(50));
  expect(Buffer.compare(line.ends(90, 10), Buffer.concat([patterned(50), patterned(50)]))).toBe(0);
});
