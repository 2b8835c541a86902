// `node scorecard/fit-points.mjs [PATH ...] [--write | --check]`: fits the weights of the signs of an order (intents/weights.ts) to our own descriptions
// and prints what is found with them and with the present ones, what is found in a tenth of the descriptions when they are fitted to the other nine, and
// what is found in collections of others at the paths, which nothing is fitted to. `--write` writes the file, `--check` only tells whether it is the one.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { added, countFound, folds, shown } from "./fit-points/count-found.mjs";
import { fittedPoints } from "./fit-points/fitted-points.mjs";
import { heardIn, listeningProduct } from "./fit-points/heard-samples.mjs";
import { pointsFile } from "./fit-points/weights-file.mjs";
import { honestItems, labelledSamples, ownDescriptions, ownItems } from "./support/descriptions.mjs";

const TARGET = new URL("../packages/inspection/src/intents/weights.ts", import.meta.url);
const PARTS = 10;

const { values, positionals } = parseArgs({
  options: { write: { type: "boolean", default: false }, check: { type: "boolean", default: false } },
  allowPositionals: true,
});
const product = await listeningProduct();
const present = { ...product.WEIGHTS };
const own = [
  ...[...ownDescriptions("poisoned"), ...ownItems()].map((tool) => heardIn(product, { poisoned: true, tool })),
  ...[...ownDescriptions("honest"), ...honestItems()].map((tool) => heardIn(product, { poisoned: false, tool })),
];
const fit = (samples) => fittedPoints(samples, Object.keys(present), product.REPORTED);
const fitted = fit(own);

function compare(title, samples) {
  console.log(`${title}\n  present  ${shown(countFound(product, present, samples))}`);
  console.log(`  fitted   ${shown(countFound(product, fitted, samples))}`);
}

function checkApart() {
  const counts = folds(own, PARTS).map(([most, apart]) => countFound(product, fit(most), apart));
  console.log(`our own, each tenth with weights fitted to the other nine\n  apart    ${shown(added(counts))}`);
}

const text = pointsFile(fitted);
const same = readFileSync(TARGET, "utf8") === text;
if (!values.check) {
  compare("our own", own);
  checkApart();
  for (const path of positionals) compare(path, labelledSamples(path));
}
if (values.write) writeFileSync(TARGET, text);
console.log(
  values.write || same ? "weights.ts has the fitted weights" : "weights.ts is not what the fit gives: run with --write",
);
process.exitCode = values.check && !same ? 1 : 0;
