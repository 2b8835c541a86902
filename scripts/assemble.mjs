#!/usr/bin/env node
// Puts the WebAssembly of end-of-string.wat into long-answers.ts. With --check it only says whether what stands there is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";
import { root } from "./lib/run-command.mjs";

const folder = join(root, "packages/mcp/src/gateway");
const target = join(folder, "long-answers.ts");
const source = readFileSync(join(folder, "end-of-string.wat"), "utf8");
const module = (await wabt()).parseWat("end-of-string.wat", source, { simd: true });
const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");

/** Characters of a line of it. */
const WIDTH = 116;
const lines = base64.match(new RegExp(`.{1,${WIDTH}}`, "g")).map((part) => `  "${part}"`);
const written = readFileSync(target, "utf8");
const updated = written.replace(/(const END_OF_STRING =\n)[^;]*;/, (_, begin) => `${begin}${lines.join(" +\n")};`);
if (!process.argv.includes("--check")) writeFileSync(target, updated);
else if (updated !== written || !written.includes(lines[0])) {
  process.stderr.write(
    "long-answers.ts does not hold what end-of-string.wat is assembled to; run node scripts/assemble.mjs\n",
  );
  process.exitCode = 1;
}
