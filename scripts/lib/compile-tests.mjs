// Compiles the tests and the sources they import, each file by itself, into files that Node loads without any help.
//
// Left alone, vite transforms each file when a worker first asks for it and runs it in a module loader of its own: that
// is a third of the time of a run. Types are not looked at here, that is a check of its own.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { COMPILED } from "./compiled-tests.mjs";
import { root } from "./run-command.mjs";

const FOLDERS = [
  "packages/mcp/test",
  "packages/secure-local/test",
  "scripts/test",
  "examples/test",
  "conformance/test",
];
// Only vite's loader can put another module into a module's place, or finds the sources by a name made at run time.
const FOR_VITE = /\bvi\.(?:mock|doMock|hoisted)\(|\bimport\((?!")/;
const PACKAGE = /^(?:node:|@?[a-z])/;
// Packages of this workspace are sources; what `using` is compiled to is not installed but given by the compiler.
const OURS = /^(?:@secure-local\/|@oxc-project\/runtime)/;
const META = /\bimport\.meta\.(url|filename|dirname)\b/g;

function testFiles() {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join(root, folder, name))
      .filter((file) => !FOR_VITE.test(readFileSync(file, "utf8"))),
  );
}

/** A compiled file says that it is where its source is: fixtures, pages and programs are found from there. */
const placeOfSource = {
  name: "place-of-source",
  transform: {
    filter: { code: META },
    handler(code, filename) {
      const place = { url: pathToFileURL(filename).href, filename, dirname: dirname(filename) };
      return { code: code.replace(META, (_, property) => JSON.stringify(place[property])), map: null };
    },
  },
};

async function compiled() {
  const build = await rolldown({
    input: testFiles(),
    platform: "node",
    treeshake: false,
    external: (id) => PACKAGE.test(id) && !OURS.test(id),
    resolve: { conditionNames: ["@secure-local/source", "node", "import", "default"] },
    transform: { target: "node20" },
    plugins: [placeOfSource],
    onLog: (level, log, handler) => handler(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log),
  });
  const names = { entryFileNames: "[name].mjs", preserveModules: true, preserveModulesRoot: root };
  const { output } = await build.generate({
    dir: COMPILED,
    format: "esm",
    sourcemap: true,
    sourcemapExcludeSources: true,
    ...names,
  });
  await build.close();
  return new Map(output.map((file) => [file.fileName, file.code ?? file.source]));
}

/** Writes what changed, each file at once by renaming: another run of the tests may be loading them. */
function write(files) {
  for (const [name, text] of files) {
    const path = join(COMPILED, name);
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    mkdirSync(dirname(path), { recursive: true });
    const fresh = `${path}.${process.pid}`;
    writeFileSync(fresh, text);
    renameSync(fresh, path);
  }
  for (const entry of readdirSync(COMPILED, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (/\.(?:mjs|map)$/.test(path) && !files.has(path.slice(COMPILED.length + 1))) rmSync(path, { force: true });
  }
}

export async function compileTests() {
  write(await compiled());
}
