// A copy of the repository with all the mutants of a run in it, each behind its switch: compiled and bundled once.
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { ChangedCopy } from "../lib/changed-copy.mjs";
import { root, run } from "../lib/run-command.mjs";
import { switched } from "./switch-mutants.mjs";

/** What tests read besides what every copy has. */
const MORE = [
  "vitest.config.ts",
  "examples",
  "conformance",
  "world",
  "docs",
  "README.md",
  "SECURITY.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "layers.json",
  "LICENSE",
];
const IMPORT = /^(?:import|export)\b[^"'\n]*["'](\.[^"']+)["']|import\("(\.[^"]+)"\)/gm;

export class SwitchedCopy {
  #copy = new ChangedCopy();
  /** Compiled source -> the tests that reach it, the nearest first. */
  #near = new Map();
  root = this.#copy.root;

  /** Plants the mutants and compiles. Rejects with what the bundlers said. */
  async make(mutants) {
    for (const name of MORE)
      if (existsSync(join(root, name)))
        cpSync(join(root, name), join(this.root, name), {
          recursive: true,
          filter: (path) => !/(^|\/)node_modules$/.test(relative(root, path)),
        });
    for (const file of new Set(mutants.map((mutant) => mutant.file))) {
      const own = mutants.filter((mutant) => mutant.file === file);
      writeFileSync(join(this.root, file), switched(readFileSync(join(root, file), "utf8"), own));
    }
    const { compileTests } = await import(pathToFileURL(join(this.root, "scripts/lib/compile-tests.mjs")).href);
    await compileTests();
    for (const script of ["bundle-library.mjs", "bundle-product.mjs"]) {
      const { code, output } = await run(process.execPath, [join("scripts", script)], { cwd: this.root });
      if (code !== 0) throw new Error(`${script}: ${output}`);
    }
    this.#readImports();
  }

  /** The tests that import a source, by whatever way, the nearest first; paths from the root. */
  near(file) {
    return this.#near.get(file) ?? [];
  }

  remove() {
    this.#copy.remove();
  }

  #readImports() {
    const compiled = join(this.root, "node_modules/.compiled-tests");
    const files = readdirSync(compiled, { recursive: true })
      .filter((name) => name.endsWith(".mjs"))
      .map((name) => join(compiled, name));
    const source = (path) => relative(compiled, path).replace(/\.mjs$/, ".ts");
    const imports = new Map(files.map((file) => [file, importsOf(file)]));
    const found = new Map();
    for (const test of files.filter((file) => file.endsWith(".test.mjs"))) {
      const steps = new Map([[test, 0]]);
      for (const file of steps.keys())
        for (const next of imports.get(file) ?? []) if (!steps.has(next)) steps.set(next, steps.get(file) + 1);
      for (const [file, step] of steps)
        found.set(file, [...(found.get(file) ?? []), { test: source(test), step, size: steps.size }]);
    }
    for (const [path, tests] of found) {
      const file = source(path);
      const rank = nearness(file);
      this.#near.set(
        file,
        tests.toSorted((a, b) => rank(a) - rank(b)).map(({ test }) => test),
      );
    }
  }
}

/** Lower is nearer: the test of that name, those in folders of the same name, few steps of imports, few sources in all. */
function nearness(file) {
  const folders = dirname(file).split(sep);
  return ({ test, step, size }) => {
    const named = basename(test, ".test.ts") === basename(file, ".ts");
    const beside = folders.filter((name) => test.includes(`${sep}${name}${sep}`)).length;
    return (named ? 0 : 1e6) - 1e4 * beside + 1e3 * step + size;
  };
}

function importsOf(file) {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, stated, later]) =>
    resolve(dirname(file), stated ?? later),
  );
}
