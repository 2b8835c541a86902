// No handle of a file or folder outlives its operation, however it ends; and each failure is told in words about the path as it was given.
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileErrorOf } from "../../src/capabilities/files/finder.js";
import { FileError, type Files } from "../../src/capabilities/files/files.js";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { filesIn, type Tree, tree } from "./tree.js";

const BYTES = new TextEncoder().encode("text");

/** Everything that can be done with a path. */
const OPERATIONS: Readonly<Record<string, (files: Files, path: string) => Promise<unknown>>> = {
  judge: (files, path) => files.judge(path, "read"),
  info: (files, path) => files.info(path),
  read: (files, path) => files.read(path),
  "read a part": (files, path) => files.read(path, { maxBytes: 1 }),
  open: async (files, path) => (await files.open(path)).close(),
  list: (files, path) => files.list(path),
  "list in vain": (files, path) => files.list(path, { signal: AbortSignal.abort() }),
  walk: async (files, path) => {
    for await (const entry of files.walk(path)) void entry;
  },
  "walk a little": async (files, path) => {
    for await (const entry of files.walk(path)) return entry;
    return undefined;
  },
  write: (files, path) => files.write(path, BYTES),
  create: (files, path) => files.write(path, BYTES, { mode: "create" }),
  edit: (files, path) => files.edit(path, () => BYTES),
  "edit nothing": (files, path) => files.edit(path, () => undefined),
  "edit and fail": (files, path) =>
    files.edit(path, () => {
      throw new Error("no");
    }),
  remove: (files, path) => files.remove(path),
};

function fill(t: Tree): string[] {
  for (const folder of ["full/deep", "empty", ".ssh"]) mkdirSync(join(t.inside, folder), { recursive: true });
  for (const name of ["plain.txt", "full/deep/a.txt", "full/b.txt", ".ssh/id_rsa"])
    writeFileSync(join(t.inside, name), "text");
  symlinkSync(t.outside, join(t.inside, "out"));
  symlinkSync("plain.txt", join(t.inside, "link.txt"));
  symlinkSync("nowhere", join(t.inside, "dangling"));
  const names = [
    "plain.txt",
    "link.txt",
    "full",
    "empty",
    "absent.txt",
    "absent/x.txt",
    "plain.txt/x",
    "dangling",
    ".ssh/id_rsa",
  ];
  return [
    ...names.map((name) => join(t.inside, name)),
    join(t.inside, "out/secret.txt"),
    join(t.outside, "secret.txt"),
    "a\0b",
  ];
}

/** What this process holds open below a folder. */
function heldBelow(folder: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}

it.runIf(process.platform === "linux").each([
  ["procLookup", procLookup],
  ["portableLookup", portableLookup],
])("nothing is left open with %s, and every failure has its words", async (_name, lookup) => {
  for (const [name, operate] of Object.entries(OPERATIONS)) {
    const t = tree();
    const paths = fill(t);
    const files = await filesIn(t, { lookup });
    const before = heldBelow(t.base);
    for (const path of paths) {
      const error: unknown = await operate(files, path).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error instanceof FileError) expect(error.message, `${name} ${path}`).toMatch(/\S \S/);
      expect(heldBelow(t.base), `${name} ${path}`).toEqual(before);
    }
  }
});

it.each([
  ["ENOENT", "not-found", "does not exist"],
  ["ENOTDIR", "not-found", "is no folder"],
  ["ELOOP", "not-found", "round in circles"],
  ["ENAMETOOLONG", "bad-path", "too long"],
  ["EINVAL", "bad-path", "no path this system knows"],
  ["EACCES", "system", "the system denies it"],
  ["EPERM", "system", "the system denies it"],
  ["EROFS", "system", "cannot be written"],
  ["ENOSPC", "system", "disk is full"],
  ["EDQUOT", "system", "quota"],
  ["EFBIG", "too-large", "larger than this system allows"],
  ["EMFILE", "system", "too many files are open"],
  ["ENFILE", "system", "too many files are open"],
  ["EEXIST", "exists", "exists already"],
  ["EISDIR", "not-a-file", "is a folder"],
  ["ENOTEMPTY", "exists", "not empty"],
  ["ENXIO", "not-a-file", "no regular file"],
  ["EIO", "system", "could not be used (EIO)"],
])("%s is told as %s: it %s", (code, kind, words) => {
  const told = fileErrorOf(Object.assign(new Error("of the system's"), { code }), "as/given");
  expect(told).toBeInstanceOf(FileError);
  expect(told).toMatchObject({ code: kind, message: expect.stringMatching(/^"as\/given" [^]*\.$/) as string });
  expect((told as FileError).message).toContain(words);
});

it("what is no failure of a file passes as it is, and one without words gets some", () => {
  for (const error of [new Error("fault"), Object.assign(new Error("x"), { code: "ABORT_ERR" }), undefined, "text"])
    expect(fileErrorOf(error, "a")).toBe(error);
  const own = new FileError("denied", "words of its own");
  expect(fileErrorOf(own, "a")).toBe(own);
  expect(fileErrorOf(new FileError("denied", ""), "a")).toMatchObject({
    code: "not-found",
    message: '"a" does not exist.',
  });
});
