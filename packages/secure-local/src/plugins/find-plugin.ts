// Finds out what a plugin is, by the copy of its content: a module, or an executable with a manifest.
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { parse } from "yaml";
import type { CachedPlugin, PluginCache } from "./plugin-cache.js";
import { isSystem } from "./plugin-content.js";
import { type PluginDescription, PluginError, readDescription } from "./plugin-description.js";
import { ownFiles, writtenPlaces } from "../capabilities/files/own-files.js";
import type { SecretBroker } from "../capabilities/secret-broker.js";
import { sandboxEnvironment, type SandboxEnvironment } from "../capabilities/sandbox-environment.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { didYouMean } from "../policy/section.js";
import { findWall } from "../sandbox/find-wall.js";
import type { Wall } from "../sandbox/wall.js";

/** Paths are those of the source, where people know the plugin to be; `pathInCopy` makes those of the copy of them. */
export type PluginSource =
  | { readonly kind: "module"; readonly entry: string }
  | {
      readonly kind: "executable";
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

type Copied = Pick<CachedPlugin, "root" | "source" | "kind">;

/** Where in the copy a file of the plugin lies; any other path stays as it is. */
export function pathInCopy({ root, source }: Pick<CachedPlugin, "root" | "source">, path: string): string {
  return path === source || path.startsWith(`${source}/`) ? `${root}${path.slice(source.length)}` : path;
}

/** @throws PluginError saying what is missing */
export function findPlugin(copied: Copied): PluginSource {
  const { root, source, kind } = copied;
  if (kind === "file") {
    if (MODULES.some((name) => extname(name) === extname(source))) return { kind: "module", entry: source };
    throw new PluginError(`${source} is no module (.mjs, .js, .ts); an executable needs a folder with a ${MANIFEST}.`);
  }
  if (existsSync(join(root, MANIFEST))) return fromManifest(copied);
  const entry = MODULES.find((name) => existsSync(join(root, name)));
  if (entry === undefined)
    throw new PluginError(`${source} has neither a ${MANIFEST} nor one of ${MODULES.join(", ")}.`);
  return { kind: "module", entry: join(source, entry) };
}

function fromManifest(copied: Copied): PluginSource {
  const manifest = join(copied.source, MANIFEST);
  const text = readManifest(copied);
  const read = parsed(manifest, text);
  refuseUnknownKeys(manifest, read, MANIFEST_KEYS);
  const run = read["run"];
  if (!Array.isArray(run) || run.length === 0 || !run.every((part): part is string => typeof part === "string")) {
    throw new PluginError(`${manifest}: run must be a list of texts, such as [python3, main.py].`);
  }
  const [program = "", ...args] = run;
  return {
    kind: "executable",
    executable: programOf(program, copied),
    args: args.map((arg) => inFolder(arg, copied)),
    persistent: read["persistent"] === true,
    description: readDescription(read),
  };
}

const TOP: readonly string[] = ["name", "version", "needs", "tools", "resources", "prompts"];
/** What may stand further in, by its path: `*` is any name. */
const INNER: Readonly<Record<string, readonly string[]>> = {
  needs: ["network", "filesystem", "commands", "secrets", "storage"],
  "tools.*": ["name", "title", "description", "input", "output", "annotations"],
  "resources.*": ["uri", "name", "description", "mimeType"],
  "prompts.*": ["name", "title", "description", "arguments"],
  "prompts.*.arguments.*": ["description", "required"],
};
/** What a manifest may say. */
const MANIFEST_KEYS: Readonly<Record<string, readonly string[]>> = { "": [...TOP, "run", "persistent"], ...INNER };

/** What a module says of itself may have no other keys; its functions are not told. @throws PluginError */
export function refuseUnknownMembers(source: string, said: unknown): void {
  if (typeof said === "object" && said !== null && !Array.isArray(said))
    refuseUnknownKeys(source, said as Readonly<Record<string, unknown>>, { "": TOP, ...INNER });
}

/** What its host found: things of a module without the function that answers. @throws PluginError */
export function refuseMissingHandlers(source: string, lacks: unknown): void {
  const [first] = Array.isArray(lacks) ? (lacks as readonly unknown[]) : [];
  if (typeof first !== "object" || first === null) return;
  const { where, wanted, has } = first as Readonly<Record<string, unknown>>;
  const [other] = Array.isArray(has) ? (has as readonly unknown[]) : [];
  const cut = (text: unknown): string => String(text).slice(0, MAX_NAME);
  const instead = other === undefined ? "" : `, and a function "${cut(other)}" that nobody calls`;
  throw new PluginError(
    `${source}: ${cut(where)} has no function "${cut(wanted)}"${instead}; write ${cut(wanted)}: async (…) => … there`,
  );
}

/** A key that is misspelt would be taken for one that is left out. @throws PluginError */
function refuseUnknownKeys(
  source: string,
  read: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, readonly string[]>>,
): void {
  for (const [path, keys] of Object.entries(known)) {
    for (const [where, mapping] of mappingsAt(read, path)) {
      const unknown = Object.keys(mapping).find((key) => !keys.includes(key));
      if (unknown === undefined) continue;
      const hint = didYouMean(unknown, keys) || `; known keys are ${keys.join(", ")}`;
      const place = where === "" ? "" : ` in ${where}`;
      throw new PluginError(`${source}: there is no key "${unknown.slice(0, MAX_NAME)}"${place}${hint}`);
    }
  }
}

const MAX_NAME = 80;

/** The mappings at a path, each with where it stands. */
function mappingsAt(read: Readonly<Record<string, unknown>>, path: string): [string, object][] {
  let found: [string, unknown][] = [["", read]];
  for (const step of path === "" ? [] : path.split(".")) {
    found = found.flatMap(([where, value]): [string, unknown][] => {
      if (typeof value !== "object" || value === null) return [];
      const members = step === "*" ? Object.entries(value) : Object.entries(value).filter(([key]) => key === step);
      return members.map(([key, member]) => [where === "" ? key : `${where}.${key}`, member]);
    });
  }
  return found.flatMap(([where, value]): [string, object][] =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? [[where, value]] : [],
  );
}

function readManifest({ root, source }: Copied): string {
  const path = join(root, MANIFEST);
  if (statSync(path).size > MAX_MANIFEST_BYTES)
    throw new PluginError(`${join(source, MANIFEST)} is longer than ${MAX_MANIFEST_BYTES} bytes.`);
  return readFileSync(path, "utf8");
}

function parsed(manifest: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = parse(text, { maxAliasCount: 0 });
    if (typeof read === "object" && read !== null) return { ...read, ...writtenVersion(read, text) };
  } catch (error) {
    // What follows the first line draws the place.
    const [message] = String(error instanceof Error ? error.message : error).split("\n");
    throw new PluginError(`${manifest}: ${message?.replace(/:$/, "")}; correct it there.`);
  }
  throw new PluginError(`${manifest} must be a mapping.`);
}

/** A version without quotes is a number to YAML, and 1.10 would be 1.1: what was written counts. */
function writtenVersion(read: object, text: string): { readonly version?: string } {
  const written = /^["']?version["']?\s*:\s*([\d.]+)/m.exec(text)?.[1];
  return "version" in read && typeof read.version === "number" && written !== undefined ? { version: written } : {};
}

/** A path in the folder, or a program of the system: anything else would be in no copy, and in no hash of the plugin. */
function programOf(name: string, copied: Copied): string {
  if (name === "node") return realpathSync(process.execPath);
  if (!name.includes("/")) {
    const found = PROGRAM_FOLDERS.map((each) => join(each, name)).find(existsSync);
    if (found !== undefined) return found;
    throw new PluginError(`There is no program "${name}" in ${PROGRAM_FOLDERS.join(", ")}.`);
  }
  const path = resolve(copied.source, name);
  const copy = pathInCopy(copied, path);
  if (copy === path && !isSystem(path))
    throw new PluginError(`${path} lies outside of the plugin; put it into the plugin's folder, and name it in run.`);
  if (!existsSync(copy)) throw new PluginError(`There is no program ${path}; correct run in ${MANIFEST}.`);
  if (isExecutable(copy)) return path;
  throw new PluginError(`${path} is no program that may be run; make it one: chmod +x ${path}`);
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
function inFolder(arg: string, copied: Copied): string {
  const path = resolve(copied.source, arg);
  const copy = pathInCopy(copied, path);
  return !arg.startsWith("-") && copy !== path && existsSync(copy) ? path : arg;
}

// Prepares the place a plugin runs in: what it is, the wall around it, and what it reaches from there.

export interface PluginPlace {
  readonly wall: Wall;
  readonly source: PluginSource;
  /** The copy of its content that is started. */
  readonly kept: CachedPlugin;
  readonly surroundings: SandboxEnvironment;
}

interface PluginPlaceOptions {
  readonly grant: PluginGrant;
  /** The policy the plugin lives under. */
  readonly granted: Policy;
  readonly own: readonly string[];
  /** Where copies of plugins are kept. */
  readonly copies: PluginCache;
  readonly secrets: SecretBroker;
  /** A connection of it was refused. */
  readonly refused?: ((plugin: string, what: string, rule: string) => void) | undefined;
}

/**
 * Takes the plugin's content once: every start from here is of what was taken, whatever becomes of the files it came from.
 * @throws PluginError, WallError, SecretError
 */
export async function preparePlace(options: PluginPlaceOptions): Promise<PluginPlace> {
  const { grant, granted, own, copies, secrets, refused } = options;
  const { name, path, sha256 } = grant;
  const everyOwn = ownFiles(granted, own);
  const kept = await copies.take(path, { sha256, own, unread: writtenPlaces(everyOwn) });
  try {
    const source = findPlugin(kept);
    const wall = await findWall(granted.sandbox);
    const tell = refused && ((endpoint: string, rule: string): void => refused(name, endpoint, rule));
    const told = tell === undefined ? {} : { refused: tell, refusedFiles: tell };
    const surroundings = await sandboxEnvironment(granted, {
      own: everyOwn,
      wall,
      owner: ["plugin", name],
      secrets,
      ...told,
    });
    return { wall, source, kept, surroundings };
  } catch (error) {
    kept.release();
    throw error;
  }
}
