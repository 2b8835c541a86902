// Runs commands with hostile arguments through the product, as a process of its own that somebody traces. Prints how many ran.
import { injections } from "./injections.mjs";

/** Programs that do something with any text: each takes one, whatever it holds. */
const PROGRAMS = ["echo", "printf", "cat", "ls", "wc", "head", "basename", "sha256sum", "sort", "stat"];
const AT_ONCE = 4;

const [product, mark, wanted] = process.argv.slice(2);
const { createRun, parsePolicy, RunError } = await import(product);
const entries = PROGRAMS.map(
  (name) => `    - { name: ${name}, executable: /usr/bin/${name}, arguments: [{ pattern: "(?s).*" }], timeout: 20 }`,
);
const policy = await parsePolicy(`version: "1.0"\ncommands:\n  allowed:\n${entries.join("\n")}\n`, { file: "p.yaml" });
const run = createRun(() => policy);
const all = injections(mark);
const step = all.length / Number(wanted);
const strings = Array.from({ length: Number(wanted) }, (_, index) => all[Math.floor(index * step)]);
const counts = { ran: 0, refused: 0 };
let next = 0;

async function lane() {
  for (let at = next++; at < strings.length; at = next++) {
    try {
      await run(PROGRAMS[at % PROGRAMS.length], [strings[at]]);
      counts.ran += 1;
    } catch (error) {
      if (!(error instanceof RunError) || error.code !== "denied") throw error;
      counts.refused += 1;
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, lane));
process.stdout.write(JSON.stringify(counts), () => process.exit(0));
