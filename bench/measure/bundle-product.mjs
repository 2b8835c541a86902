// Bundles a bench server with the product's parts, which exist only as sources: one file, as the product ships, but with
// its names and lines kept so that a profile can be read.
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/**
 * The bundle of the script at `entry` in bench/dist/`folder`: its `path`, and `prepare`, which writes it once a process
 * and rejects where its sources do not resolve.
 */
export function productBundle(entry, folder) {
  const target = fileURLToPath(new URL(`../dist/${folder}`, import.meta.url));
  let written;
  return {
    path: `${target}/server.mjs`,
    prepare: () => (written ??= bundle(fileURLToPath(entry), target)),
  };
}

async function bundle(input, target) {
  const build = await rolldown({
    input,
    platform: "node",
    treeshake: false,
    external: ["@opentelemetry/api"],
    resolve: { conditionNames: ["@secure-local/source", "import", "default"] },
    onLog(level, log, handler) {
      // What the product loads late may be wanted at once here.
      if (log.code === "INEFFECTIVE_DYNAMIC_IMPORT") return;
      handler(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log);
    },
  });
  await build.write({ dir: target, format: "esm", entryFileNames: "server.mjs", chunkFileNames: "[name].mjs" });
  await build.close();
}
