// Bundles a bench server with the product's parts: the product ships as one file, its parts exist only as sources.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const BUNDLER = fileURLToPath(new URL("../../scripts/bundle-product.mjs", import.meta.url));

/**
 * The bundle of the script at `entry` in bench/dist/`folder`: its `path` (the name is the one the bundler gives every
 * command), and `prepare`, which writes it once a process and rejects where its sources do not resolve.
 */
export function productBundle(entry, folder) {
  const target = fileURLToPath(new URL(`../dist/${folder}`, import.meta.url));
  let written;
  return {
    path: `${target}/mcp-secure-local.cjs`,
    prepare: () => (written ??= promisify(execFile)(process.execPath, [BUNDLER, fileURLToPath(entry), target])),
  };
}
