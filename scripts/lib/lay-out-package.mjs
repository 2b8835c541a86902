// Lays a workspace out as npm would pack and install it, without npm: for tests, which would spend most of their time there.
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { root } from "./run-command.mjs";

/** npm packs it whatever "files" says. */
const ALWAYS = "package.json";

/** Whether `path` is what a pattern of "files" names; only the forms our packages use: `*` in a name, and `**` for folders. */
function named(pattern, path) {
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  const source = escaped.replace(/\*\*\/|\*/g, (star) => (star === "*" ? "[^/]*" : "(?:.*/)?"));
  return new RegExp(`^${source}$`).test(path);
}

function filesOf(place, { files }) {
  const folders = new Set(files.filter((pattern) => pattern.includes("/")).map((pattern) => pattern.split("/")[0]));
  const inside = [...folders].flatMap((folder) =>
    readdirSync(join(place, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath ?? entry.path, entry.name)
          .slice(place.length + 1)
          .replaceAll(sep, "/"),
      ),
  );
  const all = [...inside, ...readdirSync(place)];
  return all.filter((path) => path === ALWAYS || files.some((pattern) => named(pattern, path)));
}

/**
 * Copies what npm would pack of the workspace at `path` (from the root) below `folder`/node_modules. That npm packs the
 * same is tested with SOAK=1; what it packs is looked through by `npm run pack:check`.
 * @returns {{ name: string, version: string, place: string, manifest: any, files: string[] }}
 */
export function layOut(path, folder) {
  const from = join(root, path);
  const manifest = JSON.parse(readFileSync(join(from, ALWAYS), "utf8"));
  const { name, version } = manifest;
  const place = join(folder, "node_modules", name);
  const files = filesOf(from, manifest);
  for (const file of files) {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    copyFileSync(join(from, file), join(place, file));
  }
  return { name, version, place, manifest, files };
}
