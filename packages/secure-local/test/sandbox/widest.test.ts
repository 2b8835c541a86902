// What a folder that may be written shows anyway is not mounted on its own, and is let go of; all else stays.
import { expect, it } from "vitest";
import { widest } from "../../src/capabilities/sandbox-reach.js";
import type { Reach } from "../../src/sandbox/wall.js";

const WIDE = { path: "/data", access: "write" } as const;

it.each<readonly [what: string, each: Reach, wide: Reach, isShown: boolean]>([
  ["a file in it", { path: "/data/a", access: "write" }, WIDE, true],
  ["a file in it that is read", { path: "/data/a/b", access: "read" }, WIDE, true],
  ["itself, to be read", { path: "/data", access: "read" }, WIDE, true],
  ["itself, to be written", { path: "/data", access: "write" }, WIDE, false],
  ["a folder beside it of a longer name", { path: "/data2", access: "read" }, WIDE, false],
  ["the folder above it", { path: "/", access: "read" }, WIDE, false],
  ["a cover in it", { path: "/data/a", access: "hidden" }, WIDE, false],
  ["a file in a folder that is read", { path: "/data/a", access: "read" }, { ...WIDE, access: "read" }, false],
  ["a file in it that is seen elsewhere", { path: "/data/a", at: "/b", access: "read" }, WIDE, false],
  ["what is seen in it and lies elsewhere", { path: "/b", at: "/data/a", access: "read" }, WIDE, false],
  ["a file in it where it is seen elsewhere", { path: "/data/a", access: "read" }, { ...WIDE, at: "/d" }, false],
  ["a file seen where it is seen", { path: "/data/a", at: "/d/a", access: "read" }, { ...WIDE, at: "/d" }, true],
])("%s", (_what, each, wide, isShown) => {
  const closed: string[] = [];
  const held = (name: string, reach: Reach): Reach => ({
    ...reach,
    held: { dev: 1n, ino: 1n, close: () => void closed.push(name) },
  });
  const [one, other] = [held("each", each), held("wide", wide)];
  for (const reach of [
    [one, other],
    [other, one],
  ]) {
    closed.length = 0;
    expect(widest(reach)).toEqual(isShown ? [other] : reach);
    expect(closed).toEqual(isShown ? ["each"] : []);
  }
});
