// One process writes one log: names taken by others, locks of the dead, and processes that come in the same moment.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lockLog, numberedLog } from "../../src/audit/log-writer.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Names a log has. */
const MOST = 32;

/** Puts down locks of this process on every name there is; their files. */
function takeAll(file: string): string[] {
  return Array.from({ length: MOST }, (_, index) => {
    const lock = `${numberedLog(file, index + 1)}.lock-${process.pid}-0-abcdefgh`;
    writeFileSync(lock, "");
    return lock;
  });
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

it.each(["", "x", "x-0-a", "0-0-a", "1.5-0-a", "-3-0-a", "1e99-0-a", "NaN-0-a"])(
  "takes a name that a lock of no process holds: %j",
  (owner) => {
    const file = join(temporaryFolder(), "audit.log");
    writeFileSync(`${file}.lock-${owner}`, "");
    expect(lockLog(file).file).toBe(file);
  },
);

it("takes heads away that the dead left unfinished beside any of its logs, and nothing else", () => {
  const folder = temporaryFolder();
  const file = join(folder, "audit.log");
  // No system has so many processes.
  const dead = "999999999";
  const logs = ["audit.log", "audit.2.log", "audit.31.log", "audit.400.log"];
  const left = logs.flatMap((log) => [`${log}.head.${dead}`, `${log}.head.${process.pid}`]);
  const kept = [
    ...logs.flatMap((log) => [`${log}.head`, `${log}.head.${process.ppid}`, `${log}.${"1".padStart(16, "0")}`]),
    ...["other.log", "audit.x.log", "audit.log.2", "audit.02.log", "audit.2.txt", "my.audit.log"].map(
      (log) => `${log}.head.${dead}`,
    ),
    ...[`audit.log.head.${dead}x`, "audit.log.head.x", "audit.log.head.", `audit.log.heads.${dead}`],
  ];
  for (const name of [...left, ...kept]) writeFileSync(join(folder, name), "x");
  const lock = lockLog(file);
  lock.release();
  expect(readdirSync(folder).sort()).toEqual(kept.sort());
});

it("gives out as many names as it says", () => {
  const file = join(temporaryFolder(), "audit.log");
  for (const lock of takeAll(file).slice(-2)) rmSync(lock);
  expect([lockLog(file).file, lockLog(file).file]).toEqual([numberedLog(file, MOST - 1), numberedLog(file, MOST)]);
  expect(() => lockLog(file, () => undefined)).toThrow(/servers write beside this log already/);
});

it("begins again when others took every name and let go of one", () => {
  const file = join(temporaryFolder(), "audit.log");
  const held = takeAll(file);
  const pauses: number[] = [];
  const lock = lockLog(file, (ms) => {
    pauses.push(ms);
    if (pauses.length === 2) rmSync(held[4] ?? "");
  });
  expect(lock.file).toBe(numberedLog(file, 5));
  expect(pauses).toHaveLength(2);
});

it("gives up after a few rounds, and leaves no lock of its own", () => {
  const folder = temporaryFolder();
  const file = join(folder, "audit.log");
  takeAll(file);
  let pauses = 0;
  expect(() => lockLog(file, () => (pauses += 1))).toThrow("32 running servers write beside this log already");
  expect(pauses).toBe(5);
  expect(readdirSync(folder)).toHaveLength(MOST);
  rmSync(folder, { recursive: true });
});
