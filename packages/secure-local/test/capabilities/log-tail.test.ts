// Reading the end of a file, and nothing that is no file.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { logTail } from "../../src/capabilities/log-tail.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "log-tail-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("starts at the beginning of a line", async () => {
  const path = join(folder, "app.log");
  writeFileSync(path, "first\nsecond é\nthird\n");
  expect(await logTail(path)(1_000)).toBe("first\nsecond é\nthird\n");
  expect(await logTail(path)(10)).toBe("third\n");
  writeFileSync(path, "");
  expect(await logTail(path)(10)).toBe("");
});

it("refuses folders and missing files by their code", async () => {
  await expect(logTail(folder)(10)).rejects.toMatchObject({ code: "not a regular file" });
  await expect(logTail(join(folder, "gone"))(10)).rejects.toMatchObject({ code: "ENOENT" });
});
