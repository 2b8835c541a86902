// How many files the packages have together, and how many lines the middle one has: figures that somebody decided on.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Yields a fault for each group of `table.counts.groups` that has more files than it may, or a middle one outside of
 * `table.limits.medianLines` (or of its own `medianLines`, which needs a `reason`). Each folder `packages/NAME/src`
 * is of one group, or stands in `table.counts.apart` with its reason: nothing new goes uncounted. A folder of a group
 * may stand there, too.
 */
export function* countFaults(root, table, trees) {
  const { groups, apart } = table.counts ?? {};
  if (groups === undefined) return;
  const counted = new Set(Object.keys(apart));
  for (const [name, group] of Object.entries(groups)) {
    for (const house of group.houses) counted.add(table[house].root);
    const files = group.houses.flatMap((house) => trees.get(house) ?? []);
    const isApart = ({ path }) => Object.keys(apart).some((folder) => path.startsWith(`${folder}/`));
    const lines = files.filter((file) => !isApart(file)).map((file) => file.lines);
    yield* groupFaults(name, group, table.limits.medianLines, lines);
  }
  for (const folder of sourceFolders(root).filter((path) => !counted.has(path)))
    yield fault(`${folder} is counted by no group of counts, name its house there, or in counts.apart with a reason`);
  for (const folder of Object.keys(apart).filter((path) => !existsSync(join(root, path))))
    yield fault(`counts.apart allows ${folder}, which is not there, take it out`);
}

function* groupFaults(name, { files, medianLines, reason }, usual, lines) {
  if (lines.length > files)
    yield fault(`${name} has ${lines.length} files, at most ${files}: put small ones into the file of their concept`);
  if (medianLines !== undefined && !reason) yield fault(`counts of ${name} have lines of their own, say why`);
  const [least, most] = medianLines ?? usual;
  const median = lines.toSorted((a, b) => a - b)[lines.length >> 1] ?? 0;
  if (median < least || median > most)
    yield fault(`the middle file of ${name} has ${median} lines, ${least} to ${most} are wanted`);
  else if (medianLines !== undefined && median >= usual[0] && median <= usual[1])
    yield fault(`counts of ${name} need no lines of their own, take them out`);
}

function sourceFolders(root) {
  const packages = join(root, "packages");
  if (!existsSync(packages)) return [];
  const names = readdirSync(packages).sort();
  return names.map((name) => `packages/${name}/src`).filter((path) => existsSync(join(root, path)));
}

function fault(text) {
  return { path: "layers.json", line: 1, text };
}
