// What HTTP clients may take together of machines large and small.
import { expect, it } from "vitest";
import { httpRoom } from "../../src/server/load-shedder.js";

const MB = 2 ** 20;

it.each([
  [256 * MB, 8 * MB],
  [2_048 * MB, 64 * MB],
  [64_000 * MB, 256 * MB],
])("of %d bytes of memory large bodies get %d", (memory, bodyBytes) => {
  expect(httpRoom({ memory, openFiles: undefined }).bodyBytes).toBe(bodyBytes);
});

it.each([
  [undefined, 10_000],
  [1_048_576, 10_000],
  [4_096, 3_072],
  [256, 192],
  [40, 1],
])("of %s open files connections get %d", (openFiles, connections) => {
  expect(httpRoom({ memory: 1_024 * MB, openFiles }).connections).toBe(connections);
});

it("this machine has room for somebody", () => {
  const { bodyBytes, connections } = httpRoom();
  expect(bodyBytes).toBeGreaterThan(0);
  expect(connections).toBeGreaterThan(0);
});
