// Installs other people's packages, each into a folder of its own in the user's cache, without running their scripts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Kept between runs: what is there in the wanted version is not fetched again. It lies outside of the repository, where a
 * package that forgets to name what it needs would find it among our own development tools.
 */
export const FOLDER =
  process.env.WORLD_FOLDER ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "mcp-secure-local-world");
/** A package with all it needs, on a slow line. */
const TIME_LIMIT_MS = 300_000;

/** What is under way, by folder: several rows may want the same package at once. */
const underWay = new Map();

/**
 * The folder in whose node_modules `package` lies in `version` ("latest" is asked for anew in each run), with the packages of `with`
 * ("name@version") beside it. Rejects with what npm said.
 */
export function installed({ package: name, version, with: more = [] }) {
  const folder = join(FOLDER, [`${name}@${version}`, ...more].join("+").replace(/[^\w.@+-]+/g, "_"));
  if (!underWay.has(folder)) underWay.set(folder, install(folder, [`${name}@${version}`, ...more]));
  return underWay.get(folder);
}

/** The registry, or npm, does not give a package. */
export class NotInstalled extends Error {}

async function install(folder, packages) {
  const mark = join(folder, "installed");
  if (!packages.some((name) => name.endsWith("@latest")) && existsSync(mark)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  let said = await npmInstall(folder, packages);
  // Once more: a registry that stumbles, or another npm that tidies the cache, is no reason to go without.
  if (said !== undefined) said = await npmInstall(folder, packages);
  if (said !== undefined) throw new NotInstalled(`${packages[0]} cannot be installed: ${said}`);
  writeFileSync(mark, "");
  return folder;
}

/** What npm complained of; undefined when all is there. */
async function npmInstall(folder, packages) {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error", "--prefer-offline"];
  const child = spawn("npm", ["install", ...flags, "--prefix", folder, ...packages], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: TIME_LIMIT_MS,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const [code] = await once(child, "close");
  return code === 0 ? undefined : said.trim().slice(0, 300) || `npm ended with ${code}`;
}

/** The path of a package's program; `bin` names it where there are several. */
export function programOf(folder, name, bin) {
  const place = join(folder, "node_modules", name);
  const { bin: bins } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  if (typeof bins === "string") return join(place, bins);
  const chosen = bins?.[bin] ?? bins?.[name.split("/").pop()] ?? Object.values(bins ?? {})[0];
  if (chosen === undefined) throw new Error(`${name} has no program`);
  return join(place, chosen);
}

/** The version that is installed. */
export function versionOf(folder, name) {
  return JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
}
