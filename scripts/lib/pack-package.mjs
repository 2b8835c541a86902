// Packs a workspace and unpacks it where a stranger's installation would have put it.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./run-command.mjs";

/**
 * Packs the workspace at `path` (from the root) into `folder` and unpacks it below `folder`/node_modules.
 * @returns {Promise<{ path: string, name: string, version: string, tarball: string, place: string, manifest: any, files: string[] }>}
 */
export async function pack(path, folder) {
  const { code, output } = await run("npm", ["pack", "--json", "--silent", "--pack-destination", folder], {
    cwd: join(root, path),
  });
  if (code !== 0) throw new Error(`npm pack in ${path} failed: ${output}`);
  const [{ name, version, filename, files }] = Object.values(JSON.parse(output.slice(output.search(/[[{]\s/))));
  const tarball = join(folder, filename);
  const place = join(folder, "node_modules", name);
  mkdirSync(place, { recursive: true });
  const unpacked = await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", place]);
  if (unpacked.code !== 0) throw new Error(`cannot unpack ${tarball}: ${unpacked.output}`);
  const manifest = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  return { path, name, version, tarball, place, manifest, files: files.map((file) => file.path) };
}

/** What a program imports of a packed library: one specifier for each of its subpaths. */
export function subpathsOf({ name, manifest }) {
  const subpaths = Object.keys(manifest.exports ?? {}).filter((subpath) => subpath !== "./package.json");
  return subpaths.map((subpath) => name + subpath.slice(1));
}
