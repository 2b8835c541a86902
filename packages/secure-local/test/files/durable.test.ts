// What is written is on the disk before it has its name, and its name before it counts: by the calls that see to it, in order.
import fs from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openLogFile } from "../../src/audit/log-file.js";
import { filesIn, tree } from "./tree.js";

/** Notes each sync and renaming from now on, with the names as the kernel knows them. */
async function noted(folder: string): Promise<string[]> {
  const done: string[] = [];
  const nameOf = (fd: number): string => {
    const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
    if (!path.startsWith(folder)) return "elsewhere";
    return path === folder ? "folder" : "file";
  };
  const { fsync, fsyncSync, renameSync } = fs;
  const spies = [
    vi.spyOn(fs, "fsync").mockImplementation((fd, then) => (done.push(`sync ${nameOf(fd)}`), fsync(fd, then))),
    vi.spyOn(fs, "fsyncSync").mockImplementation((fd) => (done.push(`sync ${nameOf(fd)}`), fsyncSync(fd))),
    vi
      .spyOn(fs, "renameSync")
      .mockImplementation((from, to) => (done.push(`name ${basename(String(to))}`), renameSync(from, to))),
  ];
  syncBuiltinESMExports();
  const handle = await open(folder, "r");
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { sync } = prototype;
  const ofHandles = vi.spyOn(prototype, "sync").mockImplementation(function (this: typeof handle) {
    done.push(`sync ${nameOf(this.fd)}`);
    return sync.call(this);
  });
  onTestFinished(() => {
    for (const spy of [...spies, ofHandles]) spy.mockRestore();
    syncBuiltinESMExports();
  });
  return done;
}

const onLinux = it.runIf(process.platform === "linux");

onLinux("a file is synced before it takes its name, and its folder afterwards", async () => {
  const t = tree();
  const files = await filesIn(t);
  const done = await noted(t.inside);
  await files.write(join(t.inside, "a.txt"), Buffer.from("new"));
  expect(done).toEqual(["sync file", "name a.txt", "sync folder"]);
});

onLinux("a log that is put away has its new name on the disk before the next record", async () => {
  const t = tree();
  const log = openLogFile(join(t.inside, "audit.log"));
  log.append(Buffer.from("x\n"));
  const done = await noted(t.inside);
  log.rotate(join(t.inside, "audit.log.1"));
  log.close();
  expect(done).toEqual(["name audit.log.1", "name audit.log", "sync folder"]);
});

onLinux(
  "a log that is new has its name on the disk before the first record, one that is there has it already",
  async () => {
    const t = tree();
    const path = join(t.inside, "audit.log");
    const done = await noted(t.inside);
    const log = openLogFile(path);
    expect(done).toEqual(["sync folder"]);
    log.append(Buffer.from("x\n"));
    log.close();
    openLogFile(path).close();
    expect(done).toEqual(["sync folder"]);
  },
);
