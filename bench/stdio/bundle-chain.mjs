// Bundles the bench server with the product's guard chain: the product ships as one file, its parts exist only as sources.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BUNDLER = here("../../scripts/bundle-product.mjs");
const ENTRY = here("servers/ours-product.mjs");
const FOLDER = here("../dist/chain");
let bundled;

/** The bundle; its name is the one the bundler gives every command. */
export const CHAIN_BUNDLE = here("../dist/chain/mcp-secure-local.mjs");

/** Writes the bundle, once a process, the way the product itself is bundled; rejects where its sources do not resolve. */
export function bundleChain() {
  bundled ??= promisify(execFile)(process.execPath, [BUNDLER, ENTRY, FOLDER]);
  return bundled;
}
