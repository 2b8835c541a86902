#!/usr/bin/env node
// Runs before a package is published: nothing goes out under an address that is not real, or without the changelog's word.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
const faults = [];
for (const path of ["packages/mcp/package.json", "packages/secure-local/package.json"]) {
  const manifest = read(path);
  for (const key of ["repository", "homepage", "bugs"])
    if (JSON.stringify(manifest[key] ?? "").includes(".example"))
      faults.push(`${path}: ${key} is a placeholder; write the address of the repository, here and in server.json`);
  if (!readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`## ${manifest.version}\n`))
    faults.push(`CHANGELOG.md has no section "## ${manifest.version}"; date and describe the release`);
}
const { version, mcpName } = read("packages/secure-local/package.json");
const server = read("packages/secure-local/server.json");
if (server.version !== version || server.packages[0].version !== version)
  faults.push("server.json has another version");
if (server.name !== mcpName) faults.push("server.json has another name than mcpName of package.json");
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
