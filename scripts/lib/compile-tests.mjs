// Compiles the tests and the sources they import, each file by itself, into files that Node loads without any help.
//
// Left alone, vite transforms each file when a worker first asks for it and runs it in a module loader of its own: that
// is a third of the time of a run. Types are not looked at here, that is a check of its own.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { BEFORE_FILES, COMPILED } from "./compiled-tests.mjs";
import { root } from "./run-command.mjs";

const FOLDERS = [
  "packages/mcp/test",
  "packages/secure-local/test",
  "packages/mcp-tools/test",
  "packages/inspection/test",
  "scripts/test",
  "examples/test",
  "conformance/test",
];
// Only vite's loader can put another module into a module's place, or finds the sources by a name made at run time.
const FOR_VITE = /\bvi\.(?:mock|doMock|hoisted)\(|\bimport\((?!")/;
const PACKAGE = /^(?:node:|@?[a-z])/;
// Packages of this workspace are sources; what `using` is compiled to is not installed but given by the compiler.
const OURS = /^(?:@secure-local\/|@oxc-project\/runtime)/;
const META = /\bimport\.meta\.(?:url|filename|dirname)\b/;
const META_NAMES = new Set(["url", "filename", "dirname"]);

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
      let [text, from] = ["", 0];
      // A program in a text of the test's means itself, so only expressions count.
      for (const { start, end, property } of metaProperties(parseAst(code, { lang: "ts" }, filename))) {
        text += code.slice(from, start) + JSON.stringify(place[property.name]);
        from = end;
      }
      return { code: text + code.slice(from), map: null };
    },
  },
};

/**
 * Each file begins without the secrets that the files before it in its worker taught the process: every text that a later one
 * looks through would be searched for all of them. The product has no way to forget one, so its compiled form gets it here.
 */
const forgetsSecrets = {
  name: "forgets-secrets",
  transform: {
    filter: { id: /[\\/]secure-local[\\/]src[\\/]audit[\\/]secret-shapes\.ts$/ },
    handler: (code) => ({ code: `${code}\n${FORGETTING}`, map: null }),
  },
};
const FORGETTING = `(globalThis.${BEFORE_FILES} ??= []).push(() => {
  for (const known of [valuesOf, names, plainNames]) known.clear();
  pattern = escapes = encodings = undefined;
  longest = 0;
  version += 1;
});
`;

/** The expressions `import.meta.url`, `.filename` and `.dirname` of a syntax tree, in their order. */
function* metaProperties(node) {
  if (node === null || typeof node !== "object") return;
  const { object, property } = node;
  if (node.type === "MemberExpression" && object.type === "MetaProperty" && META_NAMES.has(property.name)) yield node;
  else for (const child of Object.values(node)) yield* metaProperties(child);
}

async function compiled() {
  const build = await rolldown({
    input: testFiles(),
    platform: "node",
    treeshake: false,
    external: (id) => PACKAGE.test(id) && !OURS.test(id),
    resolve: { conditionNames: ["@secure-local/source", "node", "import", "default"] },
    transform: { target: "node20" },
    plugins: [placeOfSource, forgetsSecrets],
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
