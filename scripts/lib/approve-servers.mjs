// Approves what `servers review` or `plugins lock` shows of a policy, by the digest that stands under it: for measurements and pictures.
import { spawnSync } from "node:child_process";

/** Bytes of a review: five hundred tools with their schemas are more than the one MiB after which Node ends a program. */
const MOST_SHOWN = 64 * 1024 * 1024;

/** `program`: the built command. @returns how the approving ended, and what it said; of the review itself where nothing waits */
export function approveServers(program, policy, options) {
  return approve(["servers", "review"], { program, policy, options });
}

/** The same for plugins. */
export function approvePlugins(program, policy, options) {
  return approve(["plugins", "lock"], { program, policy, options });
}

function approve(command, { program, policy, options }) {
  const review = (...more) => {
    const args = [program, ...command, ...more, "--policy", policy];
    const {
      error,
      status: code,
      stdout,
      stderr,
    } = spawnSync(process.execPath, args, { maxBuffer: MOST_SHOWN, ...options, encoding: "utf8" });
    if (error !== undefined) throw error;
    return { code, stdout, stderr };
  };
  const shown = review();
  const [, digest] = /--digest ([0-9a-f]{64})/.exec(shown.stderr) ?? [];
  return digest === undefined ? shown : review("--yes", "--digest", digest);
}
