// The package gives away the names of `names.ts` and no others.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { exportedNames } from "../support/module-facts.js";
import { ENTRIES } from "./entries.js";
import { SURFACE } from "./names.js";

interface Manifest {
  readonly name: string;
  readonly exports: Record<string, string | Record<string, string>>;
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
const subpaths = Object.entries(manifest.exports).filter(([, target]) => typeof target === "object");

it("lists every subpath of package.json", () => {
  expect(subpaths.map(([subpath]) => subpath).sort()).toEqual(Object.keys(SURFACE).sort());
  expect(subpaths.map(([subpath]) => subpath).sort()).toEqual(Object.keys(ENTRIES).sort());
});

describe.each(subpaths)("%s", (subpath, target) => {
  const entry = (target as Record<string, string>)["@secure-local/source"] ?? "";

  it("gives away exactly these names", () => {
    expect(exportedNames(join(root, entry))).toEqual(SURFACE[subpath]);
  });

  it("has those that are no types at run time", async () => {
    const module = (await ENTRIES[subpath]?.()) ?? {};
    expect(Object.keys(module).sort()).toEqual(SURFACE[subpath]?.filter((name) => !name.startsWith("type ")));
  });

  it("leads source, types and code to the same entry, types before code", () => {
    const { "@secure-local/source": source, types, node, default: code, ...others } = target as Record<string, string>;
    expect(others).toEqual({});
    expect(Object.keys(target).slice(-3)).toEqual(["types", "node", "default"]);
    // A subpath with slashes leads to one file all the same.
    const name = subpath.slice("./".length).replaceAll("/", "-");
    expect([source, types, node, code]).toEqual([
      `./src/entries/${name}.ts`,
      `./dist/entries/${name}.d.ts`,
      `./dist/${name}.js`,
      `./dist/entries/${name}.js`,
    ]);
  });
});
