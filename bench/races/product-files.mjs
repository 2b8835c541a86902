// The product's own file system, bundled from its source for a bench: the command keeps it to itself.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const source = fileURLToPath(new URL("../../packages/secure-local/src/", import.meta.url));

/** `FileSystem`, `parsePolicy` and both ways of finding files. */
export async function productFiles() {
  const build = await rolldown({
    input: {
      system: `${source}capabilities/files/file-system.ts`,
      policy: `${source}policy/parse-policy.ts`,
      lookup: `${source}capabilities/files/lookup.ts`,
    },
    platform: "node",
  });
  const folder = mkdtempSync(join(tmpdir(), "product-files-"));
  await build.write({ dir: folder, format: "cjs", entryFileNames: "[name].cjs" });
  await build.close();
  const require = createRequire(import.meta.url);
  const part = (name) => require(join(folder, `${name}.cjs`));
  const [{ FileSystem }, { parsePolicy }] = [part("system"), part("policy")];
  const { portableLookup, procLookup } = part("lookup");
  // Some of it is loaded only when it is used.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return { FileSystem, parsePolicy, lookups: { linux: procLookup, portable: portableLookup } };
}
