// What a file system watches is let go of with it: the system has a bounded number of watches for all programs of a person.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import { filePolicy, tree } from "./tree.js";

/** What the kernel watches for this process. */
function watching(): number {
  const told = readdirSync("/proc/self/fdinfo").map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
    } catch {
      return ""; // closed meanwhile
    }
  });
  return told.join("").split("inotify wd:").length - 1;
}

it.skipIf(process.platform !== "linux")("ends every watch when it is closed", async () => {
  const t = tree();
  const path = t.put("a.txt", "one");
  const policy = await filePolicy(t);
  const before = watching();
  const system = new FileSystem(() => policy);
  system.watch(path, () => undefined);
  await expect.poll(watching).toBe(before + 1);
  system.close();
  expect(watching()).toBe(before);
});
