#!/usr/bin/env node
// Builds the library's code twice into packages/mcp/dist.
//
// For bundlers (the condition "default"): one module a source file, so that they leave out what a program does not use.
//
// For Node (the condition "node"): one file an entry and one for what entries share, made of those modules. The sources
// are many small files, and every module Node resolves costs a fifth of a millisecond at start. Nothing is shaken out
// and nothing is rewritten: a bundler that guesses what is pure can delete a security check. Names inside functions are
// shortened, comments go (the declarations have them) and other characters than ASCII become escapes, because V8 then
// reads half as much: that saves 3 of 24 ms at every start. Lines stay, and so do the names of functions and classes:
// Node prints the line of an uncaught error, and the stack. The source maps lead to the modules.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { ascii } from "./lib/ascii.mjs";
import { packedPages } from "./lib/packed-pages.mjs";

const library = join(dirname(dirname(fileURLToPath(import.meta.url))), "packages/mcp");
const folder = join(library, "dist");
const entries = readdirSync(join(library, "src/entries")).map((file) => file.replace(/\.ts$/, ""));

// How clients read and write is no part of the core: no server needs it to start.
const CORE =
  /packages\/mcp\/dist\/(?:(?:jsonrpc|schema|protocol|endpoint|server)\/|era\/(?!(?:\w+\/)?(?:client|read|write|invalid|request)-)|transport\/stdio-framing\.js|serve\/serve\.js)/;
// Loaded with the first call that returns more than text, or asks: a seventh of what V8 would read at each start.
const LATER =
  /packages\/mcp\/dist\/(?:server\/(?:ask|parking|returned|sealing)|protocol\/(?:elicitation-form|features\/sampling)|jsonrpc\/exact-numbers)\.js/;
// What serving over stdio needs besides, which is made of Node: clients and HTTP share parts of it.
const STDIO = /packages\/mcp\/dist\/(?:node\/(?:process-signals|standard-streams|stdio-server)|serve\/stdio)\.js/;
// What serves the older revisions over HTTP, with what it is made of: on Node it is at hand, and one file.
const HANDSHAKE = /packages\/mcp\/dist\/http\/server\/handshake-requests\.js/;

/** What rolldown makes of `input`, as `[file name, text]`. */
async function generate(input, options) {
  const build = await rolldown({
    input,
    platform: "neutral",
    external: /^(?:node:|jose$|ioredis$)/,
    treeshake: false,
    // What some programs load later others have from the start: there is nothing to mend.
    checks: { ineffectiveDynamicImport: false },
    onLog(level, log, handler) {
      handler(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log);
    },
  });
  const { output } = await build.generate({ dir: folder, format: "esm", comments: false, ...options });
  await build.close();
  return output.map((file) => [file.fileName, ascii(file.type === "chunk" ? file.code : file.source)]);
}

function write(files) {
  for (const [name, text] of files) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

const sources = entries.map((name) => [`entries/${name}`, join(library, `src/entries/${name}.ts`)]);
const modules = await generate(Object.fromEntries(sources), {
  preserveModules: true,
  preserveModulesRoot: join(library, "src"),
  entryFileNames: "[name].js",
});
write(modules);
const built = entries.map((name) => [name, join(folder, `entries/${name}.js`)]);
const bundles = await generate(Object.fromEntries(built), {
  minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
  // The modules are published too: the maps need not hold them.
  sourcemap: true,
  sourcemapExcludeSources: true,
  // What every server loads is one file; what only some load (HTTP, auth) is in files of its own.
  codeSplitting: {
    groups: [
      { name: "core", test: (id) => CORE.test(id) && !LATER.test(id) },
      { name: "stdio", test: STDIO },
      { name: "handshake", test: HANDSHAKE },
      { name: "later", test: LATER },
    ],
  },
  entryFileNames: "[name].js",
  chunkFileNames: "shared-[name].js",
});
write(bundles);

// The library's pages, which link to each other.
const pages = readdirSync(join(dirname(dirname(library)), "docs/library"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => [`docs/${name}`, join(dirname(dirname(library)), "docs/library", name)]);
write(packedPages(pages));

const names = new Set([...modules, ...bundles, ...pages].map(([name]) => name));
for (const found of readdirSync(folder, { recursive: true })) {
  const name = found.replaceAll("\\", "/");
  if (/\.js(?:\.map)?$|^docs\/.*\.md$/.test(name) && !names.has(name)) rmSync(join(folder, name));
}
