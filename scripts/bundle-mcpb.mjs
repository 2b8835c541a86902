#!/usr/bin/env node
// `node scripts/bundle-mcpb.mjs FILE.mcpb`: the built command as one file that Claude Desktop installs, validated and packed by the
// format's own tool, which the workspace brings.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./lib/run-command.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const product = join(root, "packages/secure-local");
const [target] = process.argv.slice(2);

/** What the command loads: the bundle, and what plugins import. */
function layOut(folder) {
  const server = join(folder, "server");
  mkdirSync(server);
  for (const name of readdirSync(join(product, "dist")))
    if (/\.(?:cjs|wasm)$|^third-party-licenses/.test(name)) cpSync(join(product, "dist", name), join(server, name));
  cpSync(join(product, "dist/plugins"), join(server, "plugins"), { recursive: true });
  for (const name of ["package.json", "LICENSE", "README.md"]) cpSync(join(product, name), join(folder, name));
  const { version } = JSON.parse(readFileSync(join(product, "package.json"), "utf8"));
  const manifest = JSON.parse(readFileSync(join(root, "deploy/mcpb/manifest.json"), "utf8"));
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
}

async function tool(...args) {
  const { code, output } = await run("mcpb", args);
  console.log(output.trim());
  if (code !== 0) throw new Error(`mcpb ${args[0]} failed`);
}

if (target === undefined) {
  console.error("name the file to write, as in node scripts/bundle-mcpb.mjs secure-local.mcpb");
  process.exitCode = 2;
} else {
  const folder = mkdtempSync(join(tmpdir(), "mcpb-"));
  try {
    layOut(folder);
    await tool("validate", join(folder, "manifest.json"));
    await tool("pack", folder, resolve(target));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
