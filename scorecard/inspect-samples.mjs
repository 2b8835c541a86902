// `node scorecard/inspect-samples.mjs [PATH ...]`: how many labelled descriptions the inspection tells apart, in files or folders of JSON and
// among our own. Prints recall and false positives, counted with every finding and with the serious ones; names what was missed.
import { pathToFileURL } from "node:url";
import { bundleProduct } from "./product/bundle-product.mjs";
import { labelledSamples, ownDescriptions } from "./support/descriptions.mjs";

const parts = await import(pathToFileURL(await bundleProduct()).href);
const percent = (count, of) => (of === 0 ? "none" : `${count}/${of} = ${((100 * count) / of).toFixed(1)} %`);

function measure(title, samples) {
  const counts = { poisoned: 0, found: 0, foundHard: 0, honest: 0, wrong: 0, wrongHard: 0 };
  for (const { id, poisoned, server, tool, beside = [], peers = [] } of samples) {
    const all = parts.inspectOffering({ server, tools: [tool, ...beside] }, peers);
    const findings = all.filter(({ item }) => item === tool.name);
    const [any, hard] = [findings.length > 0, findings.some(({ tier }) => tier === "hard")];
    counts[poisoned ? "poisoned" : "honest"] += 1;
    if (any) counts[poisoned ? "found" : "wrong"] += 1;
    if (hard) counts[poisoned ? "foundHard" : "wrongHard"] += 1;
    if (any !== poisoned)
      console.log(`  ${poisoned ? "missed" : "wrong"} ${id}: ${findings.map((one) => one.id).join(", ")}`);
  }
  const { poisoned, found, foundHard, honest, wrong, wrongHard } = counts;
  console.log(`${title}\n  recall ${percent(found, poisoned)}, with serious findings ${percent(foundHard, poisoned)}`);
  console.log(`  false positives ${percent(wrong, honest)}, with serious findings ${percent(wrongHard, honest)}`);
}

const own = ["poisoned", "honest"].flatMap((file) =>
  ownDescriptions(file).map((tool) => ({ id: tool.name, poisoned: file === "poisoned", server: "server", tool })),
);
measure("our own", own);
for (const path of process.argv.slice(2)) measure(path, labelledSamples(path));
process.exit(0);
