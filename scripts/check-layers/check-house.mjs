// Runs every rule over a repository and returns what it found, in the order of the files.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { countFaults } from "./counts.mjs";
import { cycleFaults } from "./cycles.mjs";
import { commonFaults, otherFaults, sourceFaults } from "./file-rules.mjs";
import { homonymFaults } from "./homonyms.mjs";
import { housesOf } from "./house.mjs";
import { importFaults } from "./import-rules.mjs";
import { pageFaults } from "./page-rules.mjs";
import { pictureFaults } from "./pictures.mjs";
import { readTree } from "./read-tree.mjs";
import { sliverFaults } from "./slivers.mjs";
import { manifestFaults, ringFaults } from "./workspace-rules.mjs";

/** Checks the repository at `root` against its layers.json; returns `{ faults, files }`, `faults` as printable lines. */
export function checkHouse(root) {
  const table = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
  const faults = [];
  const others = table.otherFolders.flatMap((folder) => readTree(root, folder));
  let files = 0;
  const houses = housesOf(root, table);
  const trees = new Map();
  for (const house of houses) {
    const tree = readTree(root, house.root);
    trees.set(house.name, tree);
    files += tree.length;
    if (tree.length === 0) faults.push(unseen(house));
    for (const file of tree) {
      faults.push(
        ...commonFaults(file, table),
        ...importFaults(house, file),
        ...sourceFaults(house, file, table.limits),
      );
    }
    faults.push(...cycleFaults(house, tree), ...homonymFaults(house, tree));
    faults.push(...sliverFaults(house, tree, others, table.limits), ...manifestFaults(house, tree));
  }
  for (const file of others) {
    files++;
    faults.push(...commonFaults(file, table), ...otherFaults(file, table.limits));
  }
  faults.push(
    ...countFaults(root, table, trees),
    ...ringFaults(houses),
    ...pageFaults(root, table),
    ...pictureFaults(root, table),
  );
  return { files, faults: faults.map(({ path, line, text }) => `${path}:${line}: ${text}`) };
}

/** A check that looks at nothing passes, so seeing nothing is itself a fault. */
function unseen(house) {
  return { path: "layers.json", line: 1, text: `no file seen in ${house.root}, correct the root of "${house.name}"` };
}
