// Counts the programs that were begun while hostile arguments were passed to commands, by the kernel's own account (strace).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const RUNS = fileURLToPath(new URL("traced-runs.mjs", import.meta.url));
/** A thousand runs take half a minute where nobody else computes. */
const LIMIT_MS = 300_000;

/**
 * Rejects when the runs take too long. `ran` and `refused` commands, and `begun`: how often a program of each name was executed, the runs' own Node left out. Undefined
 * where nothing can be traced.
 */
export async function countPrograms(product, mark, wanted) {
  const folder = mkdtempSync(join(tmpdir(), "traced-"));
  const trace = join(folder, "trace");
  const args = ["-f", "-qq", "-z", "-e", "trace=execve,execveat", "-o", trace, process.execPath, RUNS, product, mark];
  try {
    const child = spawn("strace", [...args, String(wanted)], { stdio: ["ignore", "pipe", "inherit"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    const [code, signal] = await once(child, "close").catch(() => [undefined]);
    clearTimeout(timer);
    if (signal === "SIGKILL") throw new Error(`the traced runs took longer than ${LIMIT_MS / 1_000} s`);
    return code === 0 ? { ...JSON.parse(said), begun: begunIn(readFileSync(trace, "utf8")) } : undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function begunIn(text) {
  const begun = new Map();
  const paths = [...text.matchAll(/execve(?:at)?\((?:\w+, )?"([^"]*)"/g)].map(([, path]) => path);
  // The first is the Node that runs them.
  for (const path of paths.slice(1)) begun.set(basename(path), (begun.get(basename(path)) ?? 0) + 1);
  return begun;
}
