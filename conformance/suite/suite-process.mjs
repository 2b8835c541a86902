// Starts the suite as a process and gives back what it printed.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of the installed suite. */
export const SUITE = dirname(fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/package.json")));

const HOOK = fileURLToPath(new URL("node20-hook.mjs", import.meta.url));

/** Node's own flag and not NODE_OPTIONS: a client that the suite starts must not inherit it. */
const FLAGS = "globSync" in fs ? [] : ["--import", HOOK];

/** Runs the suite to its end. Resolves to `{ output, code }`: everything it printed, and its exit code. */
export function runSuite(args) {
  const child = spawn(process.execPath, [...FLAGS, join(SUITE, "dist/index.js"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ output, code }));
  });
}
