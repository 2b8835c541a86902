#!/usr/bin/env node
// Measures a reader's walk: which source files one warm call enters, counted by the engine itself. Fails where a walk is
// longer than layers.json allows. `--files` prints the files of each walk in the order in which they were loaded.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./lib/run-command.mjs";
import { walks } from "./check-path/walks.mjs";

const limits = JSON.parse(readFileSync(join(root, "layers.json"), "utf8")).walks;
const shown = process.argv.includes("--files");
let failed = 0;

for (const { name, files } of await walks()) {
  const limit = limits[name];
  const over = limit === undefined || files.length > limit;
  if (over) failed += 1;
  console.log(`${over ? "MISS" : "ok  "} ${name}: ${files.length} files, at most ${limit ?? "?"}`);
  if (shown) for (const file of files) console.log(`       ${file}`);
}
process.exitCode = failed > 0 ? 1 : 0;
