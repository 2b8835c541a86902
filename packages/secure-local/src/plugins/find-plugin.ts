// Finds out what a plugin is: a module, or an executable with a manifest.
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { parse } from "yaml";
import { PluginError } from "./plugin-error.js";
import { type PluginDescription, readDescription } from "./plugin-description.js";

/** Free of links. `folder` is what the plugin sees of itself. */
export type PluginSource =
  | { readonly kind: "module"; readonly folder: string; readonly entry: string }
  | {
      readonly kind: "executable";
      readonly folder: string;
      readonly executable: string;
      readonly args: readonly string[];
      /** One process for many calls, or one a call. */
      readonly persistent: boolean;
      readonly description: PluginDescription;
    };

const MANIFEST = "manifest.yaml";
const MODULES = ["plugin.mjs", "plugin.js", "plugin.ts"];
const MAX_MANIFEST_BYTES = 256 * 1024;
const PROGRAM_FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin"];

/** @throws PluginError saying what is missing */
export function findPlugin(given: string): PluginSource {
  if (!existsSync(given)) throw new PluginError(`There is nothing at ${given}; correct its path in plugins.load.`);
  const path = realpathSync(given);
  if (!statSync(path).isDirectory()) {
    if (MODULES.some((name) => extname(name) === extname(path)))
      return { kind: "module", folder: dirname(path), entry: path };
    throw new PluginError(`${given} is no module (.mjs, .js, .ts); an executable needs a folder with a ${MANIFEST}.`);
  }
  const manifest = join(path, MANIFEST);
  if (existsSync(manifest)) return fromManifest(path, manifest);
  const entry = MODULES.map((name) => join(path, name)).find(existsSync);
  if (entry === undefined)
    throw new PluginError(`${given} has neither a ${MANIFEST} nor one of ${MODULES.join(", ")}.`);
  return { kind: "module", folder: path, entry };
}

function fromManifest(folder: string, manifest: string): PluginSource {
  if (statSync(manifest).size > MAX_MANIFEST_BYTES)
    throw new PluginError(`${manifest} is longer than ${MAX_MANIFEST_BYTES} bytes.`);
  const read = parsed(manifest);
  const run = read["run"];
  if (!Array.isArray(run) || run.length === 0 || !run.every((part): part is string => typeof part === "string")) {
    throw new PluginError(`${manifest}: run must be a list of texts, such as [python3, main.py].`);
  }
  const [program = "", ...args] = run;
  return {
    kind: "executable",
    folder,
    executable: programOf(program, folder),
    args: args.map((arg) => inFolder(arg, folder)),
    persistent: read["persistent"] === true,
    description: readDescription(read),
  };
}

function parsed(manifest: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = parse(readFileSync(manifest, "utf8"), { maxAliasCount: 0 });
    if (typeof read === "object" && read !== null) return read as Readonly<Record<string, unknown>>;
  } catch (error) {
    // What follows the first line draws the place.
    const [message] = String(error instanceof Error ? error.message : error).split("\n");
    throw new PluginError(`${manifest}: ${message}`);
  }
  throw new PluginError(`${manifest} must be a mapping.`);
}

/** A path in the folder, or the name of a program of the system. */
function programOf(name: string, folder: string): string {
  if (name === "node") return realpathSync(process.execPath);
  if (name.includes("/")) {
    const path = resolve(folder, name);
    if (!existsSync(path)) throw new PluginError(`There is no program ${path}; correct run in ${MANIFEST}.`);
    if (isExecutable(path)) return path;
    throw new PluginError(`${path} is no program that may be run; make it one: chmod +x ${path}`);
  }
  const found = PROGRAM_FOLDERS.map((each) => join(each, name)).find(existsSync);
  if (found !== undefined) return found;
  throw new PluginError(`There is no program "${name}" in ${PROGRAM_FOLDERS.join(", ")}.`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Files of the plugin are named as they lie beside the manifest, but it does not run there. */
function inFolder(arg: string, folder: string): string {
  const path = resolve(folder, arg);
  return !arg.startsWith("-") && path.startsWith(`${folder}/`) && existsSync(path) ? path : arg;
}
