// A short file that one other file of its folder imports, and nobody else, belongs into that file.
import { dirname } from "node:path";

/**
 * Yields a fault for each file of at most `limits.sliverLines` lines with a single importer in its own folder and no
 * test that imports it. Files loaded on demand stay alone, because the bundler splits there; so do those that a
 * public subpath stands for, and those in `house.table.slivers`, each with its reason. A reason nobody needs is a fault too.
 */
export function* sliverFaults(house, files, tests, limits) {
  const reasons = house.table.slivers ?? {};
  const needed = new Set();
  const importers = importersOf(house, [...files, ...tests]);
  for (const file of files) {
    const found = importers.get(file.path);
    const only = found?.size === 1 ? [...found][0] : undefined;
    if (only === undefined || file.lines > limits.sliverLines || house.isPublic(file.path)) continue;
    const [path, onDemand] = only;
    if (onDemand || dirname(path) !== dirname(file.path)) continue;
    if (Object.hasOwn(reasons, house.inside(file.path))) needed.add(house.inside(file.path));
    else yield { path: file.path, line: 1, text: `only ${path} imports these ${file.lines} lines, fold them into it` };
  }
  for (const path of Object.keys(reasons)) {
    if (needed.has(path)) continue;
    yield {
      path: "layers.json",
      line: 1,
      text: `${house.name}.slivers allows ${path}, which needs no reason, take it out`,
    };
  }
}

/** By path of a file: who imports it, and whether only on demand. */
function importersOf(house, files) {
  const importers = new Map();
  for (const file of files) {
    for (const { specifier, dynamic } of file.imports) {
      if (!specifier.startsWith(".")) continue;
      const to = house.resolve(file.path, specifier);
      if (!importers.has(to)) importers.set(to, new Map());
      const known = importers.get(to);
      known.set(file.path, dynamic && (known.get(file.path) ?? true));
    }
  }
  return importers;
}
