#!/usr/bin/env node
// Puts the WebAssembly of end-of-string.wat into long-answers.ts. With --check it only says whether what stands there is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";
import { root } from "./lib/run-command.mjs";

const folder = join(root, "packages/mcp/src/gateway");
const target = join(folder, "long-answers.ts");
const module = (await wabt()).parseWat("end-of-string.wat", readFileSync(join(folder, "end-of-string.wat"), "utf8"), {
  simd: true,
});
module.validate();
const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");

const PLACE = /(?<=\nconst END_OF_STRING =\n)(?: *"[\w+/=]*"(?: \+\n)?)+(?=;\n)/g;
/** Characters of a line of it. */
const WIDTH = 116;
const lines = base64.match(new RegExp(`.{1,${WIDTH}}`, "g")).map((part) => `  "${part}"`);
const text = readFileSync(target, "utf8");
const [written, ...more] = text.match(PLACE) ?? [];
if (written === undefined || more.length > 0) fail("long-answers.ts has no constant END_OF_STRING of strings on lines");
else if (!process.argv.includes("--check")) writeFileSync(target, text.replace(PLACE, lines.join(" +\n")));
else if (written.replaceAll(/[^\w+/=]|\+\n/g, "") !== base64)
  fail("long-answers.ts does not hold what end-of-string.wat is assembled to; run node scripts/assemble.mjs");

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
