// Approves what `servers review` or `plugins lock` shows of a policy, by the digest that stands under it: for measurements and pictures.
import { spawnSync } from "node:child_process";

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
    const { status: code, stdout, stderr } = spawnSync(process.execPath, args, { ...options, encoding: "utf8" });
    return { code, stdout, stderr };
  };
  const shown = review();
  const [, digest] = /--digest ([0-9a-f]{64})/.exec(shown.stderr) ?? [];
  return digest === undefined ? shown : review("--yes", "--digest", digest);
}
