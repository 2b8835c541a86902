// Holds ARCHITECTURE.md to the code: every file on the path of a call exists.
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const ROOT = new URL("../../../", import.meta.url);

it("ARCHITECTURE.md names only files that exist on the path of a call", () => {
  const text = readFileSync(new URL("ARCHITECTURE.md", ROOT), "utf8");
  const paths = [...text.matchAll(/<!-- path:begin[^>]*-->([\s\S]*?)<!-- path:end -->/g)].map(
    (match) => match[1] ?? "",
  );
  expect(paths).toHaveLength(2);
  const files = [...paths.join().matchAll(/`([^`]+\.ts)`/g)].map((match) => match[1] as string);
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
});
