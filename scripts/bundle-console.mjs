#!/usr/bin/env node
// Builds the console's page into packages/secure-local/dist/console: one script, one style, compressed beforehand.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "vite";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "packages/console");
const folder = join(root, "packages/secure-local/dist/console");
/** Bytes of all that a browser loads, compressed: the page is to be there at once on a small machine, too. */
const MAX_BYTES = 60 * 1024;

await build({
  root: page,
  configFile: false,
  logLevel: "warn",
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(page, "dist/page"),
    emptyOutDir: true,
    target: "es2023",
    modulePreload: false,
    assetsInlineLimit: 0,
    sourcemap: false,
    rolldownOptions: {
      output: { entryFileNames: "console.js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});

mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) rmSync(join(folder, name));
let bytes = 0;
for (const name of readdirSync(join(page, "dist/page"))) {
  const content = readFileSync(join(page, "dist/page", name));
  writeFileSync(join(folder, name), content);
  const small = brotliCompressSync(content);
  bytes += small.length;
  if ([".html", ".js", ".css", ".svg"].includes(extname(name))) writeFileSync(join(folder, `${name}.br`), small);
}
if (bytes > MAX_BYTES) {
  console.error(`the console's page has ${bytes} bytes compressed, ${MAX_BYTES} at most: load less`);
  process.exit(1);
}
if (process.argv.includes("--size")) console.log(`${bytes} bytes compressed`);
