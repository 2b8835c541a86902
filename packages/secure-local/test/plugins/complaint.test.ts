// What a plugin writes to stderr: the end is kept, and one that writes without end is noticed once.
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { StderrTail } from "../../src/plugins/plugin-process.js";

const MEGABYTE = Buffer.alloc(1024 * 1024, "x");

function complaint(): { stream: PassThrough; told: StderrTail; floods: () => number; pass(ms: number): void } {
  const stream = new PassThrough();
  let [time, floods] = [0, 0];
  const told = new StderrTail(stream, { flooded: () => void floods++, now: () => time });
  return { stream, told, floods: () => floods, pass: (ms) => void (time += ms) };
}

it("the last words are kept", () => {
  const { stream, told } = complaint();
  stream.write("first\n");
  stream.write("last words é\n");
  expect(told.text).toBe("first\nlast words é");
  stream.write(MEGABYTE);
  stream.write("the end");
  expect(told.text).toMatch(/^x+the end$/);
  expect(told.text).toHaveLength(4_096);
});

it("more than a log within a minute is noticed once, a log of many minutes is not", () => {
  const { stream, told, floods, pass } = complaint();
  for (let minute = 0; minute < 5; minute++) {
    for (let n = 0; n < 15; n++) stream.write(MEGABYTE);
    pass(60_000);
  }
  expect(floods()).toBe(0);
  for (let n = 0; n < 40; n++) stream.write(MEGABYTE);
  expect(floods()).toBe(1);
  expect(told.text).toContain("more than 16 MB on stderr within a minute");
});
