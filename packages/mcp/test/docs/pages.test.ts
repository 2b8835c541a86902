// Each page of docs/library compiles as it stands, runs, and prints what it says it prints.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { compiledPages, outputOf, PAGES } from "../../../../scripts/lib/doc-pages.mjs";

interface Page {
  readonly name: string;
  readonly program: string;
  readonly printed: string;
}

/** The compiler reads the declarations of the whole package once. */
const COMPILE_MS = 120_000;
const LONGEST_LINE = 120;

const files = readdirSync(PAGES).filter((file) => file.endsWith(".md"));
let pages: readonly Page[];

beforeAll(async () => {
  pages = await compiledPages();
}, COMPILE_MS);

it.each(files)("%s prints what it says", { timeout: 60_000 }, async (file) => {
  const page = pages.find(({ name }) => `${name}.md` === file);
  expect(await outputOf(file.replace(/\.md$/, ""))).toBe(page?.printed);
});

describe.each(files)("%s", (file) => {
  const text = readFileSync(join(PAGES, file), "utf8");

  it("has short lines", () => {
    const long = text.split("\n").filter((line) => line.length > LONGEST_LINE && !line.startsWith("|"));
    expect(long).toEqual([]);
  });

  it("links to pages that are there, and is linked from the first one", () => {
    const links = [...text.matchAll(/\]\(((?!https?:)[^)#]+)/g)].map(([, target]) => target ?? "");
    const there = new Set(readdirSync(join(dirname(fileURLToPath(import.meta.url)), "../../../../docs/library")));
    expect(links.filter((target) => !target.startsWith("../") && !there.has(target))).toEqual([]);
    const first = readFileSync(join(PAGES, "index.md"), "utf8");
    expect(file === "index.md" || first.includes(`(${file})`)).toBe(true);
  });
});
