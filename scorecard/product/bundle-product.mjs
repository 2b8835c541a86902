// Bundles the parts of the product and the library that the cases use, which exist only as sources: rolled up as they ship.
import { copyFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { productBundle } from "../../bench/measure/bundle-product.mjs";

const DIST = fileURLToPath(new URL("../../packages/secure-local/dist/", import.meta.url));
/** The thread that runs SQL, and its WebAssembly: files of their own, beside the bundle, as they ship. */
const BESIDE = /^sql-worker\.cjs$|\.wasm$/;

/** The path of the bundle's module. */
export async function bundleProduct() {
  const bundle = productBundle(new URL("parts.ts", import.meta.url), "scorecard");
  await bundle.prepare();
  // The command line says its version, which is written in the package alone.
  copyFileSync(join(DIST, "..", "package.json"), join(dirname(bundle.path), "..", "package.json"));
  for (const name of readdirSync(DIST))
    if (BESIDE.test(name)) copyFileSync(join(DIST, name), join(dirname(bundle.path), name));
  return bundle.path;
}
