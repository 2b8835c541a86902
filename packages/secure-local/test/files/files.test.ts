// What files are for: reading, writing, editing, listing and walking inside the allowed folders.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { readWhole } from "../../src/capabilities/files/atomic-write.js";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import { programFiles } from "../../src/capabilities/files/own-files.js";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { filePolicy, filesIn, textOf, tree } from "./tree.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const LOOKUPS = process.platform === "linux" ? { procLookup, portableLookup } : { portableLookup };

it("knows its own package, whose files nobody writes, and nothing above it", () => {
  const own = join(import.meta.dirname, "../..").toLowerCase();
  expect(programFiles()).toContain(own);
  expect(programFiles()).not.toContain(join(own, ".."));
});

describe.each(Object.entries(LOOKUPS))("with %s", (_name, lookup) => {
  it("reads, by the path as it is and by others that mean the same", async () => {
    const t = tree();
    const path = t.put("a/b/ü 文.txt", "héllo");
    const files = await filesIn(t, { lookup });
    for (const given of [path, `${t.inside}//a/./b/../b/ü 文.txt`, `${t.inside}/none/../a/b/ü 文.txt`, `/${path}`]) {
      const read = await files.read(given);
      expect(textOf(read)).toBe("héllo");
      expect(read).toMatchObject({ path, kind: "file", size: 6 });
    }
    expect(await files.info(join(t.inside, "a"))).toMatchObject({ kind: "folder", size: 0 });
    expect(await files.roots()).toEqual([t.inside]);
  });

  it("follows links that stay where everything is allowed, and links in links", async () => {
    const t = tree();
    t.put("real/deep/file.txt", "found");
    symlinkSync(join(t.inside, "real"), join(t.inside, "absolute"));
    symlinkSync("absolute/deep", join(t.inside, "relative"));
    symlinkSync("../real/../relative/file.txt", join(t.inside, "real", "up"));
    const files = await filesIn(t, { lookup });
    expect(textOf(await files.read(join(t.inside, "relative/file.txt")))).toBe("found");
    const read = await files.read(join(t.inside, "absolute/up"));
    expect([textOf(read), read.path]).toEqual(["found", join(t.inside, "real/deep/file.txt")]);
    const { entries } = await files.list(t.inside);
    expect(entries.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      ...["absolute folder", "real folder", "relative folder", "secret.txt file"],
    ]);
  });

  it("writes whole files, keeps their mode and leaves nothing unfinished", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const path = join(t.inside, "new/folder/file.txt");
    await expect(files.write(path, bytesOf("x"))).rejects.toMatchObject({ code: "not-found" });
    expect(await files.write(path, bytesOf("one"), { folders: true })).toEqual({ path, created: true, size: 3 });
    chmodSync(path, 0o640);
    expect(await files.write(path, bytesOf("two"))).toMatchObject({ created: false });
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    await expect(files.write(path, bytesOf("x"), { mode: "create" })).rejects.toMatchObject({ code: "exists" });
    await expect(files.write(`${path}2`, bytesOf("x"), { mode: "replace" })).rejects.toMatchObject({
      code: "not-found",
    });
    expect(readdirSync(join(t.inside, "new/folder"))).toEqual(["file.txt"]);
  });

  it("removes only where the folder can be held meanwhile", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const path = t.put("folder/file.txt");
    if (lookup === procLookup) {
      await files.remove(path);
      await files.remove(join(t.inside, "folder"));
      expect(existsSync(join(t.inside, "folder"))).toBe(false);
    } else {
      await expect(files.remove(path)).rejects.toMatchObject({ code: "system" });
      expect(existsSync(path)).toBe(true);
    }
  });

  it("edits what was read, and nothing that somebody else has written since", async () => {
    const t = tree();
    const path = t.put("notes.txt", "one two");
    const files = await filesIn(t, { lookup });
    const replaced = await files.edit(path, (bytes) =>
      bytesOf(new TextDecoder().decode(bytes).replace("two", "three")),
    );
    expect(replaced).toMatchObject({ created: false, size: 9 });
    expect(readFileSync(path, "utf8")).toBe("one three");
    const meanwhile = files.edit(path, () => {
      writeFileSync(path, "somebody else's");
      return bytesOf("mine");
    });
    await expect(meanwhile).rejects.toMatchObject({ code: "changed" });
    expect(readFileSync(path, "utf8")).toBe("somebody else's");
    expect(readdirSync(t.inside)).toEqual(["notes.txt", "secret.txt"]);
    const base = new Map<number, string>();
    const edits = [1, 2, 3].map((n) =>
      files.edit(path, (bytes) => {
        base.set(n, new TextDecoder().decode(bytes));
        return bytesOf(`edit ${n}`);
      }),
    );
    const settled = await Promise.allSettled(edits);
    // How many succeed depends on when each one reads. No two that succeed may have begun with the same content.
    const used = settled.flatMap(({ status }, at) => (status === "fulfilled" ? [base.get(at + 1)] : []));
    expect(used.length).toBeGreaterThan(0);
    expect(new Set(used).size).toBe(used.length);
  });

  it("walks through folders in one order, as deep and as far as it is told", async () => {
    const t = tree();
    for (const name of ["b/2.txt", "b/1.txt", "a/x/deep.txt", "c.txt", ".git/config", ".env", "a/.ssh/id"]) t.put(name);
    const files = await filesIn(t, { lookup });
    const names = async (options = {}) => {
      const seen: string[] = [];
      for await (const { path } of files.walk(t.inside, options)) seen.push(path.slice(t.inside.length + 1));
      return seen;
    };
    const all = ["a", "b", "c.txt", "secret.txt", "a/x", "a/x/deep.txt", "b/1.txt", "b/2.txt"];
    expect(await names()).toEqual(all);
    expect(await names({ depth: 0 })).toEqual(all.slice(0, 4));
    expect(await names({ maxEntries: 3 })).toHaveLength(3);
    await expect(names({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  });

  it("reads a file that grows meanwhile whole, and none that grows too long", async () => {
    const path = tree().put("grows.txt", "0123456789");
    const fd = openSync(path, "r");
    try {
      const at = { maxBytes: 100, shown: path, signal: undefined };
      // Three bytes were there when it was looked at, or nine, or all.
      for (const size of [3, 9, 10]) expect(new TextDecoder().decode(await readWhole(fd, size, at))).toBe("0123456789");
      for (const size of [3, 4])
        await expect(readWhole(fd, size, { ...at, maxBytes: 5 })).rejects.toMatchObject({ code: "too-large" });
    } finally {
      closeSync(fd);
    }
  });

  it("opens a file once for many reads", async () => {
    const t = tree();
    const path = t.put("data.csv", "0123456789");
    const file = await (await filesIn(t, { lookup })).open(path);
    renameSync(path, `${path}.moved`);
    t.put("data.csv", "another");
    const into = new Uint8Array(4);
    expect([await file.read(into, 8), new TextDecoder().decode(into.subarray(0, 2))]).toEqual([2, "89"]);
    expect(await file.read(into, 10)).toBe(0);
    if (lookup === procLookup) expect(readFileSync(file.handlePath, "utf8")).toBe("0123456789");
    file.close();
    file.close();
  });

  it("refuses what is too large, and a folder for a file", async () => {
    const t = tree();
    const path = t.put("long.txt", "12345");
    const files = await filesIn(t, { lookup });
    await expect(files.read(path, { maxBytes: 4 })).rejects.toMatchObject({ code: "too-large" });
    const isFolder = expect.stringContaining("is a folder") as string;
    await expect(files.read(t.inside)).rejects.toMatchObject({ code: "not-a-file", message: isFolder });
    await expect(files.list(path)).rejects.toMatchObject({ code: "not-a-folder" });
    const huge = new Uint8Array(8 * 1024 * 1024 + 1);
    await expect(files.write(path, huge)).rejects.toMatchObject({ code: "too-large" });
    expect((await files.list(t.inside, { limit: 1 })).truncated).toBe(true);
  });

  it("finds its folder again after that was moved away and made anew", async () => {
    const t = tree();
    t.put("file.txt", "old");
    const files = await filesIn(t, { lookup });
    expect(textOf(await files.read(join(t.inside, "file.txt")))).toBe("old");
    renameSync(t.inside, `${t.inside}-moved`);
    await expect(files.read(join(t.inside, "file.txt"))).rejects.toMatchObject({ code: "not-found" });
    mkdirSync(t.inside);
    t.put("file.txt", "new");
    expect(textOf(await files.read(join(t.inside, "file.txt")))).toBe("new");
  });
});

it("tells of changes to a file and to a folder's entries until it is told to stop", async () => {
  const t = tree();
  const path = t.put("watched.txt", "1");
  const policy = await filePolicy(t);
  const system = new FileSystem(() => policy);
  const [file, folder, secret] = [vi.fn(), vi.fn(), vi.fn()];
  const stops = [system.watch(path, file), system.watch(t.inside, folder)];
  system.watch(join(t.outside, "secret.txt"), secret);
  // Watching begins in a while that nobody can wait for: so it is changed until it is noticed.
  await vi.waitUntil(() => (writeFileSync(path, String(performance.now())), file.mock.calls.length > 0), {
    timeout: 10_000,
  });
  await vi.waitUntil(() => folder.mock.calls.length > 0, { timeout: 10_000 });
  for (const stop of stops) stop();
  system.close();
  expect(secret).not.toHaveBeenCalled();
});

it("lists a folder for the files in it that are allowed, and is handed single files", async () => {
  const t = tree();
  for (const name of ["data/a.csv", "data/b.txt", "data/sub/c.csv", "single.md"]) t.put(name);
  const policy = await parsePolicy(
    `version: "1.0"\nfilesystem: { readable_paths: ["${t.inside}/data/*.csv", "${t.inside}/single.md"] }\n`,
    { file: "/nowhere/policy.yaml" },
  );
  const system = new FileSystem(() => policy);
  const files = system.files();
  const folder = join(t.inside, "data");
  expect(await files.info(folder)).toMatchObject({ kind: "folder" });
  expect((await files.list(folder)).entries.map(({ name }) => name)).toEqual(["a.csv"]);
  expect(textOf(await files.read(join(folder, "a.csv")))).toBe("content");
  expect(textOf(await files.read(join(t.inside, "single.md")))).toBe("content");
  for (const name of ["data/b.txt", "data/sub/c.csv", "secret.txt"]) {
    await expect(files.read(join(t.inside, name))).rejects.toMatchObject({ code: "denied" });
  }
  await expect(files.list(t.inside)).rejects.toMatchObject({ code: "denied" });
  await expect(files.write(join(folder, "a.csv"), bytesOf("x"))).rejects.toMatchObject({ code: "denied" });
  system.close();
});

it.runIf(process.platform === "linux")("leaves nothing open, whatever came of an operation", async () => {
  const t = tree();
  const policy = await filePolicy(t);
  const system = new FileSystem(() => policy);
  const files = system.files();
  const path = t.put("a/file.txt");
  symlinkSync(t.outside, join(t.inside, "out"));
  const open = (): number => readdirSync("/proc/self/fd").filter((fd) => opensIn(fd, t.base)).length;
  for (const name of [
    path,
    `${path}/x`,
    join(t.inside, "none"),
    join(t.inside, "out/secret.txt"),
    join(t.inside, "a"),
  ]) {
    await files.read(name).catch(() => undefined);
    await files.write(name, bytesOf("x")).catch(() => undefined);
    await files.edit(name, () => bytesOf("y")).catch(() => undefined);
    await files.list(name).catch(() => undefined);
  }
  expect(open()).toBe(0);
  system.close();
  expect(open()).toBe(0);
});

function opensIn(fd: string, folder: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
  } catch {
    return false;
  }
}
