// A program moves trees as large as it likes: who judges them goes on with everything else meanwhile.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Judge } from "../../src/sandbox/wall.js";
import { hasWall, runWalled } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-trees-"));
const folder = join(ground, "data");
beforeEach(() => mkdirSync(folder));
afterEach(() => {
  vi.restoreAllMocks();
  // Node takes five times as long to remove a tree as to make it.
  execFileSync("rm", ["-rf", folder]);
});
afterAll(() => rmSync(ground, { recursive: true, force: true }));

async function moved(judge: Judge): Promise<string> {
  const { dev, ino } = statSync(folder, { bigint: true });
  const held = { dev, ino, close: () => undefined };
  const { stdout, stderr } = await runWalled({
    executable: "/usr/bin/perl",
    args: ["-e", `print(rename("t", "u") ? "moved" : 0 + $!)`],
    workingDirectory: folder,
    reach: [{ path: folder, access: "write", held, judge }],
  });
  return stdout + stderr;
}

/** Makes so many things below `t`. */
const SHAPES: Readonly<Record<string, (most: number) => void>> = {
  "folders in one": (most) => {
    for (let n = 0; n < most; n += 1) mkdirSync(join(folder, `t/${n}`));
  },
  "files in one": (most) => {
    for (let n = 0; n < most; n += 1) writeFileSync(join(folder, `t/${n}`), "");
  },
  "files in folders": (most) => {
    for (let n = 0; n < most / 100; n += 1) {
      mkdirSync(join(folder, `t/${n}`));
      for (let m = 1; m < 100; m += 1) writeFileSync(join(folder, `t/${n}/${m}`), "");
    }
  },
};
const shapes = Object.entries(SHAPES);

describe.skipIf(!hasWall())("a tree that is moved", () => {
  beforeEach(() => mkdirSync(join(folder, "t")));

  test.each(shapes)("is judged in turns: %s", async (_, make) => {
    make(1_600);
    let [longest, before, asked] = [0, performance.now(), 0];
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - before);
      before = performance.now();
    }, 1);
    const said = await moved(() => {
      const until = performance.now() + 0.5;
      while (performance.now() < until);
      asked += 1;
      return true;
    });
    clearInterval(timer);
    expect(said).toBe("moved");
    // All of it takes one and a half.
    expect(asked).toBeGreaterThan(3_000);
    expect(longest).toBeLessThan(1_000);
  });

  test.each(shapes)("and is too large is not judged at all: 10,100 %s", async (_, make) => {
    make(10_100);
    let asked = 0;
    expect(await moved(() => (asked += 1) > 0)).toBe("18");
    expect(asked).toBeLessThan(20);
  });

  test.each(shapes)("is refused when that takes too long: %s", async (_, make) => {
    make(200);
    const now = performance.now.bind(performance);
    let later = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + later);
    let asked = 0;
    const said = await moved((path) => {
      if (path.includes("/t/")) later += 1_000;
      asked += 1;
      return true;
    });
    expect(said).toBe("13");
    expect(asked).toBeLessThan(100);
  });
});
