// Each page of docs/library compiles as it stands, runs, and prints what it says it prints.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { blocksOf, compiledPages, filesOf, outputOf, PAGES } from "../../../../scripts/lib/doc-pages.mjs";

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

const run = promisify(execFile);

/** As the first lines of the first page make it, with the library as `npm install` would have it. */
function folderOfFirstPage(): string {
  const folder = mkdtempSync(join(tmpdir(), "first-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules/@secure-local"), { recursive: true });
  symlinkSync(fileURLToPath(new URL("../..", import.meta.url)), join(folder, "node_modules/@secure-local/mcp"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

it("first-server.md: its files, written as it says, do what it says by its own commands", async () => {
  const folder = folderOfFirstPage();
  const { files: written, commands } = filesOf(readFileSync(join(PAGES, "first-server.md"), "utf8"));
  expect([[...written.keys()], commands.length]).toEqual([["server.js", "try.js"], 1]);
  for (const [name, text] of written) writeFileSync(join(folder, name), text);
  for (const { command, printed } of commands) {
    const [program = "", ...args] = command.split(" ");
    expect((await run(program, args, { cwd: folder })).stdout).toBe(printed);
  }
});

describe.each(files)("%s", (file) => {
  const text = readFileSync(join(PAGES, file), "utf8");

  // No page says how TypeScript is run, and the oldest Node that is supported runs none.
  it("has a program that plain Node reads as it stands", async () => {
    const folder = folderOfFirstPage();
    writeFileSync(join(folder, "page.js"), blocksOf(text).program);
    await run(process.execPath, ["--check", join(folder, "page.js")]);
  });

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
