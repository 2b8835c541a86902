// Storage in a folder: shared by two servers, whole after a crash, and damaged only where something was damaged.
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { StorageError, type StoredValue } from "../../src/capabilities/refusals.js";
import { claimedStorage, StorageFolder, storagePlace } from "../../src/capabilities/storage-folder.js";
import { codePoint } from "../../../mcp/test/support/code-point.js";

const place = mkdtempSync(join(tmpdir(), "storage-folder-"));
const KIB = 1_024;
let folders = 0;

function empty(): string {
  folders += 1;
  return join(place, String(folders));
}

afterAll(() => rmSync(place, { recursive: true }));

describe("storage", () => {
  test("gives back what JSON can hold, under any key that fits", async () => {
    const storage = new StorageFolder(empty(), 64 * KIB);
    const keys = fc.string({ unit: codePoint, minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(keys, fc.jsonValue(), async (key, value) => {
        await storage.set(key, value as StoredValue);
        expect(await storage.get(key)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(await storage.keys()).toEqual([key]);
        expect(await storage.delete(key)).toBe(true);
      }),
      { numRuns: 8 },
    );
  });

  test("is one for two servers, and counts what the other one keeps", async () => {
    const folder = empty();
    const [one, other] = [new StorageFolder(folder, KIB), new StorageFolder(folder, KIB)];
    await Promise.all([one.set("a", "x".repeat(500)), one.set("A", 1)]);
    expect(await other.get("a")).toHaveLength(500);
    await expect(other.set("b", "x".repeat(600))).rejects.toThrow(StorageError);
    await other.set("a", 2);
    await other.set("b", "x".repeat(600));
    expect(await one.keys()).toEqual(["A", "a", "b"]);
  });

  test("is bounded in keys, but what is there may be changed", async () => {
    const storage = new StorageFolder(empty(), 64 * KIB);
    await storage.set("0", 0);
    const folder = join(place, String(folders));
    const file = (key: number): string => join(folder, `${Buffer.from(String(key)).toString("hex")}.json`);
    // A thousand names of one file are made in no time, a thousand files are not.
    writeFileSync(file(1), "1");
    for (let key = 2; key < KIB; key += 1) linkSync(file(1), file(key));
    await expect(storage.set("more", 1)).rejects.toThrow("There are 1024 keys already");
    await storage.set("7", 2);
    expect(await storage.get("7")).toBe(2);
  });

  test("passes over what a crash left, and tidies it up when it is old", async () => {
    const folder = empty();
    const storage = new StorageFolder(folder, KIB);
    await storage.set("a", 1);
    for (const name of ["old.tmp", "new.tmp"]) writeFileSync(join(folder, name), "half");
    utimesSync(join(folder, "old.tmp"), 0, 0);
    expect(await storage.keys()).toEqual(["a"]);
    await storage.set("b", 2);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual(["new.tmp"]);
  });

  test("tells what was damaged, and forgets it when asked to", async () => {
    const folder = empty();
    const storage = new StorageFolder(folder, KIB);
    await storage.set("a", 1);
    writeFileSync(join(folder, "61.json"), "{");
    await expect(storage.get("a")).rejects.toThrow('What is kept under "a" was damaged; delete it.');
    expect(await storage.delete("a")).toBe(true);
    expect(await storage.get("a")).toBeUndefined();
  });

  test("says so where it cannot be", async () => {
    const file = join(place, "file");
    writeFileSync(file, "");
    await expect(new StorageFolder(join(file, "x"), KIB).get("a")).rejects.toThrow(/It cannot be reached \(ENOTDIR\)/);
    await expect(new StorageFolder(join(file, "x"), KIB).set("a", 1)).rejects.toThrow(StorageError);
    for (const key of ["", "x".repeat(121), "ä".repeat(61)])
      await expect(new StorageFolder(empty(), KIB).get(key)).rejects.toThrow(/1 to 120 bytes/);
  });
});

describe("two plugins of one name", () => {
  const plugins = (): { root: string; ada: string; eve: string } => {
    const root = empty();
    const [ada, eve] = [join(root, "ada/notes"), join(root, "eve/notes")];
    for (const path of [ada, eve]) mkdirSync(path, { recursive: true });
    return { root: join(root, "kept"), ada: realpathSync(ada), eve: realpathSync(eve) };
  };

  test("from two places see nothing of each other's, and the first keeps the folder of the name", async () => {
    const { root, ada, eve } = plugins();
    const open = (path: string): StorageFolder => new StorageFolder(claimedStorage(root, { name: "notes", path }), KIB);
    await open(ada).set("diary", "hers");
    expect(await open(eve).keys()).toEqual([]);
    await open(eve).set("diary", "other");
    expect(await open(ada).get("diary")).toBe("hers");
    expect(storagePlace(root, { name: "notes", path: ada })).toEqual({ folder: join(root, "notes") });
    expect(storagePlace(root, { name: "notes", path: eve }).taken).toEqual({ folder: join(root, "notes"), by: ada });
  });

  test("what was kept before goes on for the first that comes", async () => {
    const { root, ada, eve } = plugins();
    await new StorageFolder(join(root, "notes"), KIB).set("old", 1);
    const first = new StorageFolder(claimedStorage(root, { name: "notes", path: ada }), KIB);
    const second = new StorageFolder(claimedStorage(root, { name: "notes", path: eve }), KIB);
    expect([await first.get("old"), await second.get("old")]).toEqual([1, undefined]);
  });

  test("a plugin that was moved has its data again when the file says its new place", async () => {
    const { root, ada, eve } = plugins();
    await new StorageFolder(claimedStorage(root, { name: "notes", path: ada }), KIB).set("a", 1);
    expect(readFileSync(join(root, "notes/plugin-folder"), "utf8")).toBe(ada);
    writeFileSync(join(root, "notes/plugin-folder"), `${eve}\n`);
    expect(await new StorageFolder(claimedStorage(root, { name: "notes", path: eve }), KIB).get("a")).toBe(1);
  });
});
