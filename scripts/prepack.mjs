#!/usr/bin/env node
// Runs before a package is packed: a tarball without the build would install and do nothing.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./lib/run-command.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILT = ["packages/mcp/dist/server.js", "packages/secure-local/dist/mcp-secure-local.cjs"];

if (BUILT.some((file) => !existsSync(join(root, file)))) {
  if (!existsSync(join(root, "node_modules"))) {
    console.error("run npm install at the root first: the package is built there");
    process.exit(1);
  }
  const { code, output } = await run("npm", ["run", "build", "--silent"], { cwd: root });
  if (code !== 0) console.error(output);
  process.exitCode = code;
}
