// One process writes one log: names taken by others, locks of the dead, and processes that come in the same moment.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lockLog, type LogLock } from "../../src/audit/log-lock.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Locks on every name there is. */
function allOf(file: string): LogLock[] {
  const held: LogLock[] = [];
  for (;;) {
    try {
      held.push(lockLog(file, () => undefined));
    } catch {
      return held;
    }
  }
}

it("gives each the next free name, and a name again that was released", () => {
  const file = join(temporaryFolder(), "audit.log");
  const [first, second] = [lockLog(file), lockLog(file)];
  expect([first.file, second.file]).toEqual([file, file.replace(".log", ".2.log")]);
  first.release();
  expect(lockLog(file).file).toBe(file);
});

it("takes the names of the dead", () => {
  const folder = temporaryFolder();
  const file = join(folder, "audit.log");
  // No process has this number and began before the machine did.
  writeFileSync(join(folder, `audit.log.lock-${process.pid}-1-abcdefgh`), "");
  expect(lockLog(file).file).toBe(process.platform === "linux" ? file : file.replace(".log", ".2.log"));
});

it("begins again when others took every name and let go of one", () => {
  const file = join(temporaryFolder(), "audit.log");
  const held = allOf(file);
  const pauses: number[] = [];
  const lock = lockLog(file, (ms) => {
    pauses.push(ms);
    if (pauses.length === 2) held[4]?.release();
  });
  expect(lock.file).toBe(held[4]?.file);
  expect(pauses).toHaveLength(2);
});

it("gives up after a few rounds, and leaves no lock of its own", () => {
  const folder = temporaryFolder();
  const file = join(folder, "audit.log");
  const held = allOf(file);
  let pauses = 0;
  expect(() => lockLog(file, () => (pauses += 1))).toThrow("32 running servers write beside this log already");
  expect(pauses).toBe(5);
  expect(readdirSync(folder)).toHaveLength(held.length);
  rmSync(folder, { recursive: true });
});
