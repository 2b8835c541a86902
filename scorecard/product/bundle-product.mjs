// Bundles the parts of the product and the library that the cases use, which exist only as sources: rolled up as they ship.
import { productBundle } from "../../bench/measure/bundle-product.mjs";

/** The path of the bundle's module. */
export async function bundleProduct() {
  const bundle = productBundle(new URL("parts.ts", import.meta.url), "scorecard");
  await bundle.prepare();
  return bundle.path;
}
