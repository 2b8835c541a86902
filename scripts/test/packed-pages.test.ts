// Pages in a tarball lead to what is in it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { deadLinks, packedPages } from "../lib/packed-pages.mjs";

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "packed-pages-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

it("keep the words alone of links that lead out of it", () => {
  const folder = folderWith({
    "a.md": "[b](b.md#part) [c](../c.md) [d](https://d.example) ![e](e.png)",
    "b.md": "[a](a.md)",
  });
  const pages = ["a.md", "b.md"].map((name): [string, string] => [`docs/${name}`, join(folder, name)]);
  expect(packedPages(pages)).toEqual([
    ["docs/a.md", "[b](b.md#part) c [d](https://d.example) e"],
    ["docs/b.md", "[a](a.md)"],
  ]);
});

it("are named with each link to what is not there", () => {
  const folder = folderWith({
    "README.md": "[a](docs/a.md) [b](docs/b.md) [docs](docs)",
    "docs/a.md": "[r](../README.md) [x](#x)",
  });
  expect(deadLinks(folder, ["README.md", "docs/a.md"])).toEqual(["README.md: docs/b.md"]);
});
