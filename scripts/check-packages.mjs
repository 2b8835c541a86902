#!/usr/bin/env node
// Packs both packages and checks the tarballs as a stranger would find them: contents, metadata, types, imports, command.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseFile } from "./check-layers/parse-file.mjs";
import { pack, subpathsOf } from "./lib/pack-package.mjs";
import { deadLinks } from "./lib/packed-pages.mjs";
import { root, run } from "./lib/run-command.mjs";
import { runSteps } from "./lib/run-steps.mjs";
import { bundleSizes, sizeTable, tooLarge } from "./lib/bundle-sizes.mjs";

const PACKAGES = ["packages/mcp", "packages/secure-local"];

/** Written by the build itself: it tells who imports the command that it is none. */
const ROOT_ENTRY = "root";

/** What must and must not be in a tarball; a file that nothing leads to was left behind by a rename. */
function contents({ path, place, files, manifest }) {
  const faults = ["LICENSE", "README.md", "package.json"].filter((name) => !files.includes(name));
  const lines = faults.map((name) => `${path}: ${name} is missing, add it`);
  const targets = [...Object.values(manifest.exports ?? {}), ...Object.values(manifest.bin ?? {})];
  const loaded = loadedFrom(targets.flatMap(codeOf).map((target) => join(place, target)));
  for (const file of files) {
    if (/\.tsbuildinfo$|(?:^|\/)test\/|\.new$/.test(file))
      lines.push(`${path}: ${file} is packed, exclude it in "files"`);
    const declared = /^dist\/(.+?)\.d\.ts$/.exec(file)?.[1];
    const stale = declared && declared !== ROOT_ENTRY && !existsSync(join(root, path, "src", `${declared}.ts`));
    if (stale || (/\.m?js$/.test(file) && !PAGE.test(file) && !loaded.has(join(place, file)))) {
      lines.push(`${path}: nothing leads to ${file} any more, delete ${path}/dist and build again`);
    }
  }
  for (const link of deadLinks(place, files)) lines.push(`${path}: ${link} leads to what is not packed`);
  if (manifest.scripts?.install || manifest.scripts?.postinstall)
    lines.push(`${path}: runs an install script, remove it`);
  return { code: lines.length > 0 ? 1 : 0, output: lines.join("\n"), seconds: 0 };
}

/** The files that a target of "exports" or "bin" leads programs to: on Node, and where a bundler takes them. */
function codeOf(target) {
  return typeof target === "string" ? [target] : [target.node, target.default].filter((file) => file !== undefined);
}

/** The built files that are loaded, at once or on demand, when `entries` are. */
function loadedFrom(entries) {
  const seen = new Set(entries);
  for (const path of seen) {
    if (!/\.m?js$/.test(path)) continue;
    for (const specifier of importsOf(path)) if (specifier.startsWith(".")) seen.add(join(dirname(path), specifier));
  }
  return seen;
}

function importsOf(path) {
  return parseFile(path, readFileSync(path, "utf8")).imports.map(({ specifier }) => specifier);
}

/** Public subpaths that are for Node by nature. */
const FOR_NODE = new Set([
  "./stdio",
  "./http",
  "./compat/http",
  "./task-files",
  "./cluster",
  "./redis",
  "./auth/client/node",
  "./client/node",
  "./host/node",
]);

/** Read as files by the command: the console's page, whose folder the build empties. */
const PAGE = /^dist\/console\//;

/** Everything else runs where there is no Node, as it came out of the build too. */
function neutral({ place, manifest }) {
  const subpaths = Object.entries(manifest.exports).filter(([subpath]) => !FOR_NODE.has(subpath));
  const entries = subpaths.flatMap(([, target]) => codeOf(target)).map((target) => join(place, target));
  const lines = [];
  for (const path of loadedFrom(entries)) {
    if (!path.endsWith(".js")) continue;
    for (const name of importsOf(path).filter((one) => one.startsWith("node:"))) {
      lines.push(`${path} imports ${name}, keep it out of the runtime-neutral entries`);
    }
  }
  return { code: lines.length > 0 ? 1 : 0, output: lines.join("\n"), seconds: 0 };
}

/** A subpath of types only. */
const TYPES = "@secure-local/mcp/types";

/** Imports every public subpath; one that exports nothing is as wrong as one that throws. */
function importAll(folder, subpaths) {
  const file = join(folder, "import-all.mjs");
  const lines = subpaths.map((subpath) => `["${subpath}", Object.keys(await import("${subpath}")).length]`);
  const text = `for (const [name, count] of [${lines.join(", ")}]) {
    if (count === 0 && name !== "${TYPES}") throw new Error(name + " exports nothing at run time");
  }
  process.exit(0);`;
  writeFileSync(file, text);
  return run(process.execPath, [file], { cwd: folder });
}

/** Compiles a Node program that imports everything, library declarations checked: no type may lean on our own settings. */
function compile(folder, subpaths) {
  const imports = subpaths.map((subpath, n) => `import * as all${n} from "${subpath}";\nconsole.log(all${n});`);
  writeFileSync(join(folder, "program.mts"), imports.join("\n"));
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.mts"] }));
  return run("tsc", ["-p", folder], { cwd: folder });
}

/** What the library adds to a program that is bundled; printed whole when something has grown. */
async function sizes(folder) {
  const found = await bundleSizes(folder);
  return { code: tooLarge(found).length > 0 ? 1 : 0, output: sizeTable(found), seconds: 0 };
}

async function command({ place, version, manifest }) {
  const [bin] = Object.values(manifest.bin);
  const result = await run(process.execPath, [join(place, bin), "--version"], { cwd: tmpdir() });
  const right = result.code === 0 && result.output.includes(version);
  return { ...result, code: right ? 0 : 1, output: `--version printed ${result.output}, expected ${version}` };
}

/** Packed and validated by the format's own tool. */
function desktopBundle(folder) {
  return run(process.execPath, ["scripts/bundle-mcpb.mjs", join(folder, "secure-local.mcpb")]);
}

/** Says how long it takes from `npm install` to the first guarded call. */
async function firstSuccess() {
  const result = await run(process.execPath, ["scripts/check-installed.mjs", "--fresh"]);
  if (result.code === 0) process.stdout.write(result.output);
  return result;
}

/** Dependencies that run a program of theirs when they are installed: `npm install` would run it on every reader's machine. */
function installScripts(folder) {
  const found = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const place = join(folder, entry.name);
    if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
    if (entry.name.startsWith("@")) found.push(...installScripts(place));
    const file = join(place, "package.json");
    const { scripts = {} } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    const runs = ["preinstall", "install", "postinstall"].some((name) => scripts[name] !== undefined);
    if (runs || (existsSync(file) && existsSync(join(place, "binding.gyp")))) found.push(place);
    if (existsSync(join(place, "node_modules"))) found.push(...installScripts(join(place, "node_modules")));
  }
  return found;
}

function noInstallScripts() {
  const lines = installScripts(join(root, "node_modules")).map(
    (place) => `${place} runs a script when it is installed`,
  );
  return { code: lines.length > 0 ? 1 : 0, output: lines.join("\n"), seconds: 0 };
}

/** What a person's npm would install beside the package. */
function install(folder, { manifest }) {
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  }
}

async function check(folder) {
  const [library, product] = await Promise.all(PACKAGES.map((path) => pack(path, folder)));
  install(folder, library);
  const subpaths = subpathsOf(library);
  return runSteps([
    ...[library, product].flatMap((one) => [
      { name: `contents of ${one.name}`, run: async () => contents(one) },
      { name: `publint ${one.name}`, run: () => run("publint", ["run", one.tarball, "--strict"]) },
    ]),
    { name: "dependencies run nothing when they are installed", run: async () => noInstallScripts() },
    { name: `${library.name} without Node`, run: async () => neutral(library) },
    ...[library, product].map((one) => ({
      name: `types of ${one.name}`,
      run: () => run("attw", [one.tarball, "--profile", "esm-only", "--no-emoji"]),
    })),
    { name: `a program against ${library.name}`, run: () => compile(folder, subpaths) },
    { name: `import of ${subpaths.join(", ")}`, run: () => importAll(folder, subpaths) },
    { name: "sizes of programs by esbuild, rollup and webpack", run: () => sizes(folder) },
    { name: `the command ${product.name}`, run: () => command(product) },
    { name: "a bundle for Claude Desktop", run: () => desktopBundle(folder) },
    { name: "the first success, word for word, and the tarball on its own", run: () => firstSuccess() },
  ]);
}

const built = await run("npm", ["run", "build", "--silent"]);
if (built.code !== 0) {
  console.error(`${built.output}The build failed, no package was checked.`);
  process.exitCode = 1;
} else {
  const folder = mkdtempSync(join(tmpdir(), "packages-"));
  try {
    process.exitCode = (await check(folder)) > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
