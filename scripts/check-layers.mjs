#!/usr/bin/env node
// Checks the house rules of layers.json over every source file: layers, cycles, sizes, names.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { checkHouse } from "./check-layers/check-house.mjs";

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
const { faults, files } = checkHouse(root);
for (const fault of faults) console.error(fault);
console.log(`${files} files, ${faults.length} ${faults.length === 1 ? "fault" : "faults"}`);
process.exitCode = faults.length > 0 ? 1 : 0;
