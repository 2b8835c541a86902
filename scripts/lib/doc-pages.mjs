// The programs on the pages of docs/library: taken out, compiled against the built package, run, and what they print.
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./run-command.mjs";

export const PAGES = join(root, "docs/library");
/** Inside of node_modules, where the package's name leads to the workspace and nothing looks for sources. */
const WORK = join(root, "node_modules/.cache/doc-pages");
/** No page does more than a few calls in its own process. */
const PAGE_MS = 60_000;

const run = promisify(execFile);

/** Blocks of one page: the program, joined, and what it says it prints. `ts serve` would take over standard output. */
export function blocksOf(markdown) {
  const program = [];
  const printed = [];
  for (const [, info, body] of markdown.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)) {
    if (info === "ts") program.push(body);
    else if (info === "ts serve")
      program.push(`async function served() {\n${body.replace(/^import .*$/gm, "")}}\nvoid served;\n`);
    else if (info === "text") printed.push(body);
  }
  return { program: hoisted(program.join("\n"), markdown), printed: printed.join("") };
}

/** The files that a page has people write, each of the blocks below its name, and the commands it has them run. */
export function filesOf(markdown) {
  const files = new Map();
  const commands = [];
  let name;
  const parts = markdown.split(/^```([^\n]*)\n(.*?)^```$/gms);
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [prose, info, body] = parts.slice(at, at + 3);
    name = [...prose.matchAll(/`([\w-]+\.js)`/g)].at(-1)?.[1] ?? name;
    if (/^(?:ts|js)\b/.test(info)) files.set(name, `${files.get(name) ?? ""}${body}\n`);
    if (info !== "console") continue;
    const [, command, printed] = /^\$ ([^\n]+)\n(.*)$/s.exec(body);
    commands.push({ command, printed });
  }
  return { files, commands };
}

/** Imports of a block that is not run stand at the top like all others. */
function hoisted(program, markdown) {
  const served = [...markdown.matchAll(/^```ts serve\n(.*?)^```$/gms)].map(([, body]) => body);
  const imports = served.flatMap((body) => body.match(/^import .*$/gm) ?? []);
  return [...imports, program, "export {};"].join("\n");
}

/** Every page by name, written as a module; resolves once all are compiled. Rejects with the compiler's words. */
export async function compiledPages() {
  rmSync(WORK, { recursive: true, force: true });
  mkdirSync(WORK, { recursive: true });
  const pages = readdirSync(PAGES)
    .filter((file) => file.endsWith(".md"))
    .map((file) => ({ name: basename(file, ".md"), ...blocksOf(readFileSync(join(PAGES, file), "utf8")) }));
  for (const { name, program } of pages) writeFileSync(join(WORK, `${name}.ts`), program);
  const options = {
    ...{ target: "es2023", module: "nodenext", strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...{
      noUncheckedIndexedAccess: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      outDir: "out",
    },
    ...{ rootDir: "." },
  };
  const config = { compilerOptions: options, files: pages.map(({ name }) => `${name}.ts`) };
  writeFileSync(join(WORK, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(WORK, "package.json"), '{ "type": "module" }');
  const tsc = join(root, "node_modules/.bin/tsc");
  await run(tsc, ["-p", WORK]).catch(({ stdout }) => Promise.reject(new Error(`The pages do not compile:\n${stdout}`)));
  return pages;
}

/** What a page's program prints. Rejects with its errors. */
export async function outputOf(name) {
  const { stdout } = await run(process.execPath, [join(WORK, "out", `${name}.js`)], { timeout: PAGE_MS });
  return stdout;
}
