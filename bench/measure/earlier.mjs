// Our servers as of an earlier commit, beside those of now: `--beside REF` builds that commit from git and runs its
// servers in the same rounds, so that whatever disturbs the machine disturbs both alike.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fixed, table } from "./markdown.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Builds are kept: a commit does not change. */
const KEPT = join(ROOT, "bench/dist/earlier");
const BUILD = ["scripts/bundle-library.mjs", "scripts/bundle-product.mjs"];
const OURS = new Set(["library", "chain", "chain-synced", "command", "command-policy"]);

/**
 * `servers` with ours as of the commit `ref` behind them, which its own `bench/NAME/servers.mjs` lists; `place` is what
 * that list is made of. Without a `ref` they stay as they are.
 */
export async function withEarlier(servers, { ref, name, place }) {
  if (ref === undefined) return servers;
  const folder = earlierBuild(ref);
  const { allServers } = await import(pathToFileURL(join(folder, "bench", name, "servers.mjs")).href);
  const earlier = allServers(...place)
    .filter(({ id }) => OURS.has(id) && servers.some((server) => server.id === id))
    .map((server) => ({ ...server, id: earlierId(server.id), label: `${server.label}, as of ${ref}` }));
  return [...servers, ...earlier];
}

/** What each of our servers takes now, over what it took then: a row a server, a column a workload. */
export function besideSection(figures, servers, { ref, workloads }) {
  const rows = servers
    .filter(({ id }) => servers.some((server) => server.id === earlierId(id)))
    .map(({ id, label }) => [label, ...workloads.map((each) => fixed(figures.ratio(each, id, earlierId(id)), 3))]);
  const note = `What is compared in each workload, now over then: medians of the ratios within a repetition.`;
  return `## Beside ${ref}\n\n${note}\n\n${table(["server", ...workloads], rows)}\n`;
}

const earlierId = (id) => `${id}-earlier`;

/** The folder with that commit, built by its own scripts. Its packages are its own; those of others are ours. */
function earlierBuild(ref) {
  const commit = execFileSync("git", ["rev-parse", "--verify", `${ref}^{commit}`], {
    cwd: ROOT,
    encoding: "utf8",
  }).trim();
  const folder = join(KEPT, commit);
  if (existsSync(folder)) return folder;
  const making = `${folder}.new`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(join(making, "node_modules"), { recursive: true });
  // A policy that others than its owner may write is refused.
  const archive = ["-c", "tar.umask=0022", "archive", commit];
  const files = execFileSync("git", archive, { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", making], { input: files });
  linkPackages(making);
  const built = { cwd: making, stdio: ["ignore", "ignore", "inherit"] };
  execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-b"], built);
  for (const script of BUILD) execFileSync(process.execPath, [script], built);
  renameSync(making, folder);
  return folder;
}

/** Our packages as they were, and those of others as they are now. */
function linkPackages(folder) {
  const ours = readdirSync(join(folder, "packages")).map((name) => [packageName(join(folder, "packages", name)), name]);
  const links = new Map(ours.map(([own, name]) => [own, join(folder, "packages", name)]));
  for (const name of installed(join(ROOT, "node_modules")))
    if (!links.has(name)) links.set(name, join(ROOT, "node_modules", name));
  for (const [name, target] of links) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(realpathSync(dirname(link)), target), link);
  }
}

const packageName = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name;

function installed(folder) {
  const names = readdirSync(folder).filter((name) => !name.startsWith("."));
  return names.flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(folder, name)).map((each) => `${name}/${each}`) : [name],
  );
}
