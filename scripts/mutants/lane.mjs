// One place where mutants are judged: a copy of the repository with its tests compiled once, and a process that runs them.
import { fork } from "node:child_process";
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "rolldown/utils";
import { ChangedCopy } from "../lib/changed-copy.mjs";
import { root } from "../lib/run-command.mjs";

/** Test files that are nearest to a source are asked first, then more; what those let through meets all that reach it. */
const ROUNDS = [4, 24, Infinity];
/** Longest for one file of tests, and at least for a run: whoever takes longer has been hung up by the mutant. */
const FILE_MS = 10_000;
const LEAST_MS = 60_000;

export class Lane {
  #copy = new ChangedCopy();
  #compiled = join(this.#copy.root, "node_modules/.compiled-tests");
  #child;
  #reached = new Map();
  /** Test files that fail here without any mutant, and those known not to. */
  #failing = new Set();
  #sound = new Set();

  async ready() {
    for (const name of [
      "vitest.config.ts",
      "examples",
      "conformance",
      "docs",
      "README.md",
      "SECURITY.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "layers.json",
      "LICENSE",
    ])
      if (existsSync(join(root, name)))
        cpSync(join(root, name), join(this.#copy.root, name), {
          recursive: true,
          filter: (path) => !/(^|\/)node_modules$/.test(relative(root, path)),
        });
    const { compileTests } = await import(pathToFileURL(join(this.#copy.root, "scripts/lib/compile-tests.mjs")).href);
    await compileTests();
    this.#readImports();
    await this.#start();
  }

  /** Whether a test notices the mutant, and which. */
  async judge({ file, text }) {
    const place = join(this.#compiled, file.replace(/\.ts$/, ".mjs"));
    if (!existsSync(place)) return { noticed: false, by: "nothing reaches it" };
    const before = readFileSync(place, "utf8");
    for (;;) {
      const tests = (this.#reached.get(place) ?? []).filter((test) => !this.#failing.has(test));
      let answer;
      writeFileSync(place, this.#compile(file, text));
      try {
        let from = 0;
        for (const to of ROUNDS) {
          if (answer?.noticed) break;
          answer = await this.#run(tests.slice(from, to));
          from = to;
        }
      } finally {
        writeFileSync(place, before);
      }
      if (answer.file === undefined || (await this.#isSound(answer.file))) return answer;
    }
  }

  /** A test that fails anyway has noticed nothing. */
  async #isSound(file) {
    if (this.#sound.has(file)) return true;
    const { noticed } = await this.#run([file]);
    (noticed ? this.#failing : this.#sound).add(file);
    if (noticed) console.log(`left out: ${relative(this.#copy.root, file)} fails without any mutant`);
    return !noticed;
  }

  /** The tests that reach a source. */
  reached(file) {
    return this.#reached.get(join(this.#compiled, file.replace(/\.ts$/, ".mjs"))) ?? [];
  }

  close() {
    this.#end();
    this.#copy.remove();
  }

  #compile(file, text) {
    const { code } = transformSync(join(this.#copy.root, file), text, {
      lang: "ts",
      target: "node20",
      sourceType: "module",
    });
    const from = join(this.#compiled, file);
    const to = (specifier) => {
      const own = /^@secure-local\/mcp\/(.+)$/.exec(specifier)?.[1];
      const path =
        own === undefined ? resolve(dirname(from), specifier) : join(this.#compiled, "packages/mcp/src/entries", own);
      return `${relativePath(dirname(from), path.replace(/\.js$/, ""))}.mjs`;
    };
    const entries = {
      "client/node": "client-node",
      "auth/client/node": "auth-client-node",
      "auth/client": "auth-client",
      "host/node": "host-node",
    };
    return code
      .replace(
        /(from\s*|import\s*\(?\s*)(["'])(@secure-local\/mcp\/[^"']+|\.\.?\/[^"']+)\2/g,
        (_, lead, quote, specifier) => {
          const name = specifier.replace(
            /^@secure-local\/mcp\/(.+)$/,
            (all, part) => `@secure-local/mcp/${entries[part] ?? part}`,
          );
          return `${lead}${quote}${to(name)}${quote}`;
        },
      )
      .replace(/\bimport\.meta\.url\b/g, JSON.stringify(pathToFileURL(join(this.#copy.root, file)).href));
  }

  /** For each compiled source the tests that reach it, the nearest and lightest first. */
  #readImports() {
    const files = readdirSync(this.#compiled, { recursive: true })
      .filter((name) => name.endsWith(".mjs"))
      .map((name) => join(this.#compiled, name));
    const imports = new Map(files.map((file) => [file, importsOf(file)]));
    const found = new Map();
    for (const test of files.filter((file) => file.endsWith(".test.mjs"))) {
      const steps = new Map([[test, 0]]);
      const queue = [test];
      for (const file of queue)
        for (const next of imports.get(file) ?? [])
          if (!steps.has(next)) {
            steps.set(next, steps.get(file) + 1);
            queue.push(next);
          }
      for (const [file, step] of steps) found.set(file, [...(found.get(file) ?? []), { test, step, size: steps.size }]);
    }
    for (const [file, tests] of found) {
      const folders = dirname(relative(this.#compiled, file)).split(sep);
      const rank = ({ test, step, size }) => {
        const named = basename(test, ".test.mjs") === basename(file, ".mjs");
        const beside = folders.filter((name) => test.includes(`${sep}${name}${sep}`)).length;
        return (named ? 0 : 1e6) - 1e4 * beside + 1e3 * step + size;
      };
      tests.sort((a, b) => rank(a) - rank(b));
      const source = (test) => join(this.#copy.root, relative(this.#compiled, test)).replace(/\.mjs$/, ".ts");
      this.#reached.set(
        file,
        tests.map(({ test }) => source(test)),
      );
    }
  }

  async #start() {
    this.#child = fork(join(this.#copy.root, "scripts/mutants/test-runner.mjs"), {
      cwd: this.#copy.root,
      env: { ...process.env, COMPILED_TESTS: "1", NODE_EXTRA_CA_CERTS: undefined },
      detached: true,
      stdio: ["ignore", "ignore", process.env.MUTANTS_VERBOSE ? "inherit" : "ignore", "ipc"],
    });
    await new Promise((resolve) => this.#child.once("message", resolve));
  }

  #end() {
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }

  async #run(files) {
    if (files.length === 0) return { noticed: false, by: "no test" };
    const child = this.#child;
    const ended = new Promise((resolve) => {
      child.once("message", (told) =>
        resolve(told.broken === undefined ? told : { noticed: false, by: told.broken, again: true }),
      );
      child.once("exit", () => resolve({ noticed: true, by: "the tests' process ended", again: true }));
    });
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(
        () => resolve({ noticed: true, by: "the time limit", again: true }),
        Math.max(LEAST_MS, FILE_MS * files.length),
      );
    });
    child.send({ files });
    const answer = await Promise.race([ended, late]);
    clearTimeout(timer);
    child.removeAllListeners("exit").removeAllListeners("message");
    if (answer.again) {
      this.#end();
      await this.#start();
    }
    return answer;
  }
}

const IMPORT = /^(?:import|export)\b[^"'\n]*["'](\.[^"']+)["']|import\("(\.[^"]+)"\)/gm;

function importsOf(file) {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, stated, later]) =>
    resolve(dirname(file), stated ?? later),
  );
}

function relativePath(from, to) {
  const path = relative(from, to);
  return path.startsWith(".") ? path : `./${path}`;
}
