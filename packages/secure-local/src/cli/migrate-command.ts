// `mcp-secure-local migrate DIR`: brings a server of the official SDK over to our library by its imports.
import { lstat, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { escapeUnseen } from "../audit/escape-unseen.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { type Leftover, migrateSource } from "./migrate-sources.js";
import { ExitCode, print, printJson } from "./terminal.js";

const SOURCES: ReadonlySet<string> = new Set([".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs"]);
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", "dist", "build", "out", "coverage"]);
/** A project of this many sources is no server: somebody named the wrong folder. */
const MOST_SOURCES = 10_000;
/** Longer files are bundles, which are built anew. */
const LONGEST_SOURCE = 2 * 1024 * 1024;

interface FileReport {
  readonly file: string;
  readonly rewritten: number;
  readonly leftovers: readonly Leftover[];
}

/** Exit code 1 where something is left for a person. */
export async function migrateCommand({ words, json }: CommandLine): Promise<number> {
  const [folder, more] = words;
  if (folder === undefined) throw new UsageError("migrate takes a folder, as in mcp-secure-local migrate src");
  if (more !== undefined) throw new UsageError(`migrate takes one folder, and "${more}" is one too many`);
  const sources = await sourcesOf(folder);
  const reports: FileReport[] = [];
  for (const path of sources) {
    const before = await readFile(path, "utf8");
    const { text, rewritten, leftovers } = migrateSource(before);
    if (text !== before) await replaceFile(path, text);
    if (rewritten > 0 || leftovers.length > 0) reports.push({ file: relative(folder, path), rewritten, leftovers });
  }
  if (json) printJson(reports);
  else tell(reports);
  return reports.some(({ leftovers }) => leftovers.length > 0) ? ExitCode.Failed : ExitCode.Ok;
}

function tell(reports: readonly FileReport[]): void {
  if (reports.length === 0) return print("No source here imports the official SDK.");
  for (const { file, rewritten, leftovers } of reports) {
    print(`${escapeUnseen(file)}: ${rewritten} ${rewritten === 1 ? "import" : "imports"} rewritten`);
    for (const { line, what } of leftovers) print(`  line ${line} is left to you: ${escapeUnseen(what)}`);
  }
  print("Now: npm install @secure-local/mcp, then build and run your tests.");
}

/** Sources below a folder; links are not followed. */
async function sourcesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`migrate cannot read the folder ${next} (${error.code}): name one that is there`);
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith(".") && !LEFT_OUT.has(entry.name)) folders.push(path);
      else if (entry.isFile() && SOURCES.has(extname(entry.name))) found.push(path);
    }
    if (found.length > MOST_SOURCES) {
      throw new UsageError(`there are more than ${MOST_SOURCES} sources in ${folder}: name the folder of the server`);
    }
  }
  const sizes = await Promise.all(found.map(async (path) => (await lstat(path)).size));
  return found.filter((_, i) => (sizes[i] ?? 0) <= LONGEST_SOURCE).sort();
}

/** Whole or not at all: nobody is left with half a source. */
async function replaceFile(path: string, text: string): Promise<void> {
  const { mode } = await lstat(path);
  await writeFile(`${path}.migrating`, text, { mode, flag: "wx" });
  await rename(`${path}.migrating`, path);
}
