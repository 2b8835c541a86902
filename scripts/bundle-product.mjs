#!/usr/bin/env node
// Bundles the product's command into packages/secure-local/dist: a launcher, one file for what every start needs, one
// for each `import()`. CommonJS, because the launcher can hand V8 the code of an earlier start only for that.
//
// Libraries are bundled in, because resolving them file by file at start costs more than running them (yaml: 26 ms
// against 9 ms, htmlparser2: 25 ms against 5 ms), and each stays behind its own `import()`. Nothing is shaken out and
// nothing is rewritten: a bundler that guesses what is pure can delete a security check. Names and white space are
// shortened and everything is ASCII, because V8 reads that in half the time.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { decode, encode } from "@jridgewell/sourcemap-codec";
import { rolldown } from "rolldown";
import { ascii } from "./lib/ascii.mjs";
import { packedPages } from "./lib/packed-pages.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const product = join(root, "packages/secure-local");
const COMMAND = "mcp-secure-local.cjs";
const MAIN = "main.cjs";
const LAUNCHER = join(product, "launcher/launcher.cjs");
/** Run in threads of their own, or inside a sandbox, so each is an entry of its own, whole in one file. */
const ALONE = ["sql-worker.cjs", "strip-types.cjs"].map((name) => join(product, "launcher", name));
/** Loaded by the thread's libraries from beside the code they are bundled into. */
const WASM = ["node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm", "libpg-query/wasm/libpg-query.wasm"];
const LICENSES = "third-party-licenses.txt";
const MAN_PAGE = "mcp-secure-local.1";
/** Only found where a person installed it, beside an SDK of their own: bundled it could be another version than the SDK's. */
const external = ["@opentelemetry/api"];
const PACKAGE = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/**
 * The same libraries as modules: yaml loads a third faster so, and the other one's CommonJS finds its parts by a name that no
 * bundler can follow.
 */
const alias = {
  yaml: join(root, "node_modules/yaml/browser/index.js"),
  "jsonc-parser": join(root, "node_modules/jsonc-parser/lib/esm/main.js"),
};

/** The name of a chunk is the package it begins with, so that a stack trace says whose code it was. */
function chunkName(chunk) {
  const name = PACKAGE.exec(chunk.facadeModuleId ?? "")?.[2] ?? chunk.name;
  return `${name.replace(/[^\w.-]+/g, "-")}.cjs`;
}

/**
 * Puts everything the entry imports, and what that imports, into one file. Every start loads all of it, and left alone
 * the bundler makes a file of each part that some `import()` shares with it: twenty of them cost a millisecond.
 */
function startInOneFile() {
  const wanted = new Set();
  const plugin = {
    name: "start-in-one-file",
    buildEnd() {
      const open = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id).isEntry);
      for (let id = open.pop(); id !== undefined; id = open.pop()) {
        if (wanted.has(id)) continue;
        wanted.add(id);
        open.push(...this.getModuleInfo(id).importedIds);
      }
    },
  };
  return { plugin, group: { name: "start", test: (id) => wanted.has(id) } };
}

/**
 * What mounting the servers of a policy takes, in one file too: each start that names some loads all of it. What plugins and the client
 * take as well stays in files of its own.
 */
const MOUNTING =
  /\/mcp\/src\/(?:gateway\/|entries\/gateway\.)|\/secure-local\/src\/server\/(?:server-(?:reviews|launch|links|reach)|pinned-package)\.ts$/;
/** What speaking with them takes: loaded with the first server that is opened. */
const RELAYING = /\/secure-local\/src\/server\/(?:server-(?:words|questions)|sandbox-hints)\.ts$/;
/** What was approved, and what differs from it: of mounting, of plugins, and of the commands that review either. */
const APPROVED =
  /\/inspection\/src\/(?:items\/drift|texts\/finding)\.ts$|\/secure-local\/src\/server\/plugin-lock\.ts$/;

async function bundle(input, entryFileNames = MAIN) {
  const start = startInOneFile();
  const build = await rolldown({
    input,
    plugins: [start.plugin],
    platform: "node",
    treeshake: false,
    external,
    // Whatever is split off finds what it needs where that is.
    preserveEntrySignatures: "allow-extension",
    resolve: { alias, conditionNames: ["@secure-local/source", "import", "default"] },
    // The library loads later what small programs may do without; the product has it at hand.
    checks: { ineffectiveDynamicImport: false },
    onLog(level, log, handler) {
      // An import that cannot be resolved would only be noticed by the person who needs it.
      handler(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log);
    },
  });
  const minify = { compress: false, mangle: true, codegen: { removeWhitespace: true } };
  const options = {
    format: "cjs",
    minify,
    entryFileNames,
    chunkFileNames: chunkName,
    dynamicImportInCjs: false,
    codeSplitting: {
      groups: [
        start.group,
        { name: "mounting", test: (id) => MOUNTING.test(id) },
        { name: "relaying", test: (id) => RELAYING.test(id) },
        { name: "approved", test: (id) => APPROVED.test(id) },
      ],
      // Else what they need of others would move to them.
      includeDependenciesRecursively: false,
    },
    sourcemap: true,
    sourcemapExcludeSources: true,
  };
  const { output } = await build.generate(options);
  await build.close();
  return output.filter(({ type }) => type === "chunk");
}

/** What stands before the code of a file that the launcher runs. */
const OPENING = "(function (exports, require, module, __filename, __dirname) {";

/**
 * The map of a file as it is written: escapes make a line longer, and its first line begins with `opening`. With --debug
 * the command reads stacks by it; nothing else does, so the code does not name it.
 */
function mapOf({ fileName, code, map }, opening = "") {
  const lines = code.split("\n");
  const mappings = decode(map.mappings).map((segments, at) => {
    const [line, shift] = [lines[at] ?? "", at === 0 ? opening.length : 0];
    // Columns by which escapes before them are counted once, not for each segment of lines that are a file long.
    let [counted, longer] = [0, shift];
    return segments.map(([column, ...rest]) => {
      for (; counted < column; counted++) if (line.charCodeAt(counted) > 0x7f) longer += ESCAPE_LENGTH - 1;
      return [column + longer, ...rest];
    });
  });
  const sources = map.sources.map((source) => relative(root, resolve(root, "dist", source)).replaceAll("\\", "/"));
  return JSON.stringify({ version: 3, file: fileName, names: [], sources, mappings: encode(mappings.map(nameless)) });
}

/** What the bundler wrote itself has no map. */
function mapsOf(chunks, opening) {
  const mapped = chunks.filter(({ map }) => map !== null);
  return mapped.map((chunk) => [`${chunk.fileName}.map`, mapOf(chunk, opening)]);
}

/** Functions keep their shortened names in a stack; the line says which one it is. */
function nameless(segments) {
  return segments.map((segment) => segment.slice(0, 4));
}

/** `\\uXXXX`. */
const ESCAPE_LENGTH = 6;

/** What the launcher runs: a function of what a CommonJS file is given. */
function asFunction(code) {
  return `${OPENING}${code}\n})`;
}

/** The launcher with the bundle's hash written in: code kept for another build is not found. */
function launcher(files) {
  const hash = createHash("sha256");
  for (const [name, text] of files) hash.update(`${name}\n${text}\n`);
  const build = hash.digest("hex").slice(0, 16);
  return readFileSync(LAUNCHER, "utf8").replace('"development"', JSON.stringify(build));
}

/** The licence texts of every package whose code is in the bundle: their terms ask for it. */
function licenses(output) {
  const folders = new Map();
  for (const id of output.flatMap((chunk) => chunk.moduleIds)) {
    const [, folder, name] = PACKAGE.exec(id) ?? [];
    if (folder) folders.set(name, folder);
  }
  const texts = [...folders].sort().map(([name, folder]) => {
    const file = readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry));
    if (!file) throw new Error(`${name} is bundled but has no licence file, do not bundle it`);
    return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** What authors of plugins import: types, and one function that returns what it is given. */
function forAuthors() {
  const types = join(product, "dist/types/plugins/define-plugin.d.ts");
  if (!existsSync(types)) throw new Error(`${types} is missing, run tsc -b first`);
  return [
    ["plugins/define-plugin.d.ts", readFileSync(types, "utf8")],
    ["plugins/define-plugin.js", "export const definePlugin = (plugin) => plugin;\n"],
  ];
}

/** Who imports the package by its name wants something that is elsewhere, and is told where. */
function rootEntry() {
  const told =
    "mcp-secure-local is a command, not a module. A plugin imports definePlugin of mcp-secure-local/plugin; " +
    "a server or client of your own is written with @secure-local/mcp (its entries are /server, /client, /stdio, /http); " +
    "to run the command from a program, start the file that require.resolve('mcp-secure-local/package.json') lies beside: " +
    "dist/mcp-secure-local.cjs.";
  return [
    ["root.js", `throw new Error(${JSON.stringify(told)});\n`],
    ["root.d.ts", `/** ${told} */\nexport {};\n`],
  ];
}

/** The pages and units for people who have the package and not the repository. */
function documents() {
  const names = readdirSync(join(root, "docs"), { recursive: true }).filter((name) => name.endsWith(".md"));
  const packed = names
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => !name.startsWith("library/"))
    .map((name) => [`docs/${name}`, join(root, "docs", name)]);
  const beside = ["CHANGELOG.md", "SECURITY.md"].map((name) => [name, join(root, name)]);
  const units = ["mcp-secure-local.service", "local.mcp-secure-local.plist"].map((name) => [
    `deploy/${name}`,
    readFileSync(join(root, "deploy", name), "utf8"),
  ]);
  return [...packedPages([...packed, ...beside]), ...units];
}

/** Written by the command itself, with a home of its own for what it keeps. */
function manPage() {
  const home = mkdtempSync(join(tmpdir(), "man-page-"));
  try {
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      XDG_STATE_HOME: home,
      XDG_CACHE_HOME: home,
      XDG_CONFIG_HOME: home,
    };
    return execFileSync(process.execPath, [join(folder, COMMAND), "help", "man"], { env, encoding: "utf8" });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Writes what changed, each file at once by renaming, so that a command that starts meanwhile sees a whole file. */
function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of files) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (existsSync(path) && readFileSync(path).equals(Buffer.from(text))) continue;
    writeFileSync(`${path}.new`, text);
    if (name === COMMAND) chmodSync(`${path}.new`, 0o755);
    renameSync(`${path}.new`, path);
  }
  for (const name of readdirSync(folder)) {
    if (/\.[cm]js(?:\.map)?$/.test(name) && !files.has(name)) rmSync(join(folder, name));
  }
}

const input = process.argv[2] ?? join(product, "src/cli/main.ts");
const folder = process.argv[3] ?? join(product, "dist");
if (!existsSync(input)) {
  console.error(`${input}: there is no such file to bundle, name one or restore it`);
  process.exit(1);
}
const output = await bundle(input);
const files = new Map(output.map((chunk) => [chunk.fileName, asFunction(ascii(chunk.code))]));
files.set(COMMAND, launcher(files));
const maps = mapsOf(output, OPENING);
if (process.argv[2] === undefined) {
  for (const path of ALONE) {
    const alone = await bundle(path, basename(path));
    output.push(...alone);
    for (const chunk of alone) files.set(chunk.fileName, ascii(chunk.code));
    maps.push(...mapsOf(alone));
  }
  for (const [name, text] of [...forAuthors(), ...rootEntry()]) files.set(name, text);
  for (const path of WASM) files.set(basename(path), readFileSync(join(root, "node_modules", path)));
}
for (const [name, text] of maps) files.set(name, text);
files.set(LICENSES, licenses(output));
if (process.argv[2] === undefined) for (const [name, text] of documents()) files.set(name, text);
write(folder, files);
if (process.argv[2] === undefined) write(folder, new Map([...files, [MAN_PAGE, manPage()]]));
