// Runs the cycles in a process of its own and prints what it held before and after as one line of JSON.
import { CYCLE, cycle } from "./cycle.mjs";
import { holdings } from "./leftovers.mjs";

const [cycles, warmUp, grandchild] = process.argv.slice(2).map(Number);
for (let i = 0; i < warmUp; i += 1) await cycle(grandchild === 1);
const before = await holdings();
const start = performance.now();
for (let i = 0; i < cycles; i += 1) await cycle(grandchild === 1);
const seconds = (performance.now() - start) / 1_000;
const after = await holdings();
process.stdout.write(`${JSON.stringify({ name: CYCLE, seconds, before, after })}\n`);
