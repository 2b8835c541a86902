// What earlier runs of `--prove` found out, a small file each, named by the hash of all that the verdict depends on: a run that was
// stopped goes on where it was, and runs beside each other do not get into each other's way.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { root } from "../../scripts/lib/run-command.mjs";

const FOLDER = join(root, "node_modules/.prove");
/** What every goal runs: the product, and what runs the goals. */
const PRODUCT = ["packages", "scorecard/product", "scorecard/report", "scripts/lib", "scripts/bundle-product.mjs"];
const LOCK = "package-lock.json";
/** Made of what is hashed, or no part of what the goals run. */
const LEFT_OUT = new Set(["node_modules", "dist", "test", "site", ".git"]);
const IMPORT = /(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g;

let product;

/** The name of the verdict on a goal with a change made, or none: another one as soon as anything differs that could change it. */
export function verdictName(goalFile, change, steps) {
  product ??= hashOf([...PRODUCT.flatMap((path) => filesIn(join(root, path))), join(root, LOCK)]);
  const settings = Object.entries(process.env).filter(([name]) => /^(?:SCORECARD_|SOAK$)/.test(name));
  const own = hashOf([...importedBy(goalFile)]);
  const all = JSON.stringify([product, own, change ?? null, steps, settings.sort(), process.version, process.platform]);
  return createHash("sha256").update(all).digest("hex");
}

export function keptVerdict(name) {
  try {
    return JSON.parse(readFileSync(join(FOLDER, name), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`${join(FOLDER, name)} cannot be read: delete it, or say --fresh`, { cause: error });
  }
}

export function keepVerdict(name, verdict) {
  mkdirSync(FOLDER, { recursive: true });
  const fresh = join(FOLDER, `${name}.${process.pid}`);
  writeFileSync(fresh, JSON.stringify(verdict));
  renameSync(fresh, join(FOLDER, name));
}

function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    const bytes = readFileSync(file);
    hash.update(`${relative(root, file)}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}

function filesIn(path) {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const below = join(path, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : filesIn(below);
    return entry.isFile() ? [below] : [];
  });
}

/** The goal's file, all that it imports by a path, and so on. What it reads otherwise lies in data. */
function importedBy(file) {
  const found = new Set(filesIn(join(root, "scorecard/data")));
  const left = [file];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    if (found.has(at)) continue;
    found.add(at);
    if (!/\.m?[jt]s$/.test(at)) continue;
    for (const [, path] of readFileSync(at, "utf8").matchAll(IMPORT)) left.push(resolve(dirname(at), path));
  }
  return found;
}
