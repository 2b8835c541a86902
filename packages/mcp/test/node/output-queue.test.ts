// When the messages of a turn of the event loop are written.
import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { resolveLimits } from "../../src/jsonrpc/limits.js";
import { OutputQueue } from "../../src/node/standard-streams.js";

const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each([
  [false, [[], ["a\nb\nc\n"], ["a\nb\nc\n"], ["a\nb\nc\n", "d\n"]]],
  [true, [["a\n"], ["a\n", "b\nc\n"], ["a\n", "b\nc\n", "d\n"], ["a\n", "b\nc\n", "d\n"]]],
])("with atOnce %s", async (atOnce, [first, second, third, fourth] = []) => {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      done();
    },
  });
  const queue = new OutputQueue(stream, resolveLimits(), { drained: () => {}, broken: () => {} }, { atOnce });
  await turn();
  void queue.write("a", "request");
  await tick();
  expect(written).toEqual(first);
  void queue.write("b", "request");
  await tick();
  void queue.write("c", "request");
  await turn();
  await turn();
  expect(written).toEqual(second);
  void queue.write("d", "request");
  await tick();
  expect(written).toEqual(third);
  await turn();
  expect(written).toEqual(fourth);
});
