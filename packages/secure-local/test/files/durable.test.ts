// What is written is on the disk before it has its name, and its name before it counts: by the calls that see to it, in order.
import fs from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { spawnSync } from "node:child_process";
import { rebuildFile, writeAtomically } from "../../src/capabilities/files/atomic-write.js";
import { pathOfUri, plainPath } from "../../src/capabilities/files/plain-path.js";
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

onLinux("a file that is rebuilt is synced before it takes its name, and its folder afterwards", async () => {
  const t = tree();
  const done = await noted(t.inside);
  await rebuildFile({
    ...{ place: placeIn(t.inside, "a.db"), shown: "a.db", signal: new AbortController().signal },
    ...{ stillAllowed: () => undefined, work: (at) => Promise.resolve(fs.writeFileSync(at, "new")) },
  });
  expect(done).toEqual(["sync file", "name a.db", "sync folder"]);
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

/** A file of a folder that is held, as the finder gives it. */
function placeIn(folder: string, name: string): Parameters<typeof rebuildFile>[0]["place"] {
  const fd = fs.openSync(folder, fs.constants.O_RDONLY);
  onTestFinished(() => fs.closeSync(fd));
  const held = { at: `/proc/self/fd/${fd}`, path: folder, stats: fs.statSync(folder) };
  return { folder: held as never, name, path: join(folder, name) };
}

onLinux("a file that somebody puts in the place of the unfinished one gets no name", async () => {
  const { inside } = tree();
  const target = join(inside, "a.txt");
  fs.writeFileSync(target, "old");
  let looks = 0;
  const exchange = (): void => {
    if ((looks += 1) < 2) return;
    const [unfinished = ""] = fs.readdirSync(inside).filter((name) => name.endsWith(".tmp"));
    fs.writeFileSync(join(inside, "theirs"), "theirs");
    fs.renameSync(join(inside, "theirs"), join(inside, unfinished));
  };
  const written = writeAtomically({
    ...{ place: placeIn(inside, "a.txt"), bytes: Buffer.from("new"), shown: "a.txt", mode: "either" as const },
    ...{ signal: undefined, stillAllowed: exchange },
  });
  await expect(written).rejects.toMatchObject({ code: "changed" });
  expect(looks).toBe(2);
  expect(fs.readFileSync(target, "utf8")).toBe("old");
});

onLinux("a file that is rebuilt keeps its mode, and only what nobody is writing any more is taken away", async () => {
  const { inside } = tree();
  const [target, copy] = [join(inside, "a.db"), ".mcp-secure-local-copy-"];
  fs.writeFileSync(target, "old");
  fs.chmodSync(target, 0o640);
  const ended = spawnSync(process.execPath, ["-e", ""]).pid;
  const [living, left] = [process.pid, ended].map((pid) => `${copy}${pid}-0123456789abcdef.tmp`) as [string, string];
  for (const name of [living, left]) fs.writeFileSync(join(inside, name), "half");
  await rebuildFile({
    ...{ place: placeIn(inside, "a.db"), shown: "a.db", signal: new AbortController().signal },
    stillAllowed: () => undefined,
    work: (at) => {
      expect(fs.statSync(at).mode & 0o077).toBe(0);
      expect(fs.readFileSync(at, "utf8")).toBe("old");
      fs.writeFileSync(at, "new");
      return Promise.resolve();
    },
  });
  expect(fs.readFileSync(target, "utf8")).toBe("new");
  expect(fs.statSync(target).mode & 0o777).toBe(0o640);
  expect(fs.readdirSync(inside)).toContain(living);
  expect(fs.readdirSync(inside)).not.toContain(left);
});

onLinux(
  "a file that is exchanged before it is copied is not worked on, one that is written meanwhile stays",
  async () => {
    const { inside } = tree();
    const target = join(inside, "a.db");
    const worked: string[] = [];
    const rebuilt = (stillAllowed: () => void, work: () => void): Promise<void> =>
      rebuildFile({
        ...{ place: placeIn(inside, "a.db"), shown: "a.db", signal: new AbortController().signal, stillAllowed },
        work: (at) => {
          worked.push(fs.readFileSync(at, "utf8"));
          work();
          return Promise.resolve();
        },
      });
    fs.writeFileSync(target, "old");
    const exchange = (): void => {
      fs.writeFileSync(join(inside, "theirs"), "theirs");
      fs.renameSync(join(inside, "theirs"), target);
    };
    await expect(rebuilt(exchange, () => undefined)).rejects.toMatchObject({ code: "changed" });
    expect(worked).toEqual([]);
    await expect(
      rebuilt(
        () => undefined,
        () => fs.appendFileSync(target, " and more"),
      ),
    ).rejects.toMatchObject({
      code: "changed",
    });
    expect(fs.readFileSync(target, "utf8")).toBe("theirs and more");
    expect(fs.readdirSync(inside).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  },
);

it("a path has names that a system takes, and a URI of a file nothing behind its path", () => {
  expect(plainPath(`/${"a".repeat(255)}`, "linux")).toHaveLength(256);
  expect(() => plainPath(`/${"a".repeat(256)}/b`, "linux")).toThrow("has a name that is too long");
  expect(() => plainPath(`/${"a/".repeat(2_048)}`, "linux")).toThrow("is longer than 4096 characters");
  for (const uri of ["file:///a?b", "file:///a#b", "file:///a#"])
    expect(() => pathOfUri(uri)).toThrow("has a query or fragment");
});
