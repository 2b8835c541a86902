// The rules between packages of the workspace: no ring of them, and a manifest that says what its package imports.

/** Yields a fault for each package that reaches itself through its neighbours. */
export function* ringFaults(houses) {
  const byName = new Map(houses.map((house) => [house.manifest.name, house]));
  for (const house of houses) {
    const ring = wayBack(house, house, byName, new Set());
    if (ring === undefined) continue;
    const way = [...ring, house].map(({ name }) => name).join(" → ");
    yield {
      path: "layers.json",
      line: 1,
      text: `packages in a ring: ${way}, move what they share into one below both`,
    };
  }
}

/** The packages on a way from `from` back to `to`, or undefined. */
function wayBack(from, to, byName, seen) {
  for (const { name } of from.neighbours) {
    const next = byName.get(name);
    if (next === undefined || seen.has(next)) continue;
    if (next === to) return [from];
    const rest = wayBack(next, to, byName, seen.add(next));
    if (rest !== undefined) return [from, ...rest];
  }
  return undefined;
}

/**
 * Yields a fault for each neighbour that a package imports and its manifest does not name. What is published must not need
 * an unpublished one at run time: nobody could install it.
 */
export function* manifestFaults(house, files) {
  const { manifest, manifestPath: path } = house;
  const named = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies };
  const specifiers = files.flatMap((file) => file.imports.map(({ specifier }) => specifier));
  const used = new Set(specifiers.map((specifier) => house.neighbourOf(specifier)?.name));
  for (const { name, unpublished } of house.neighbours) {
    if (used.has(name) && !Object.hasOwn(named, name))
      yield { path, line: 1, text: `${house.root} imports ${name}, name it among the devDependencies` };
    const needed = { ...manifest.dependencies, ...manifest.peerDependencies };
    if (unpublished && manifest.private !== true && Object.hasOwn(needed, name))
      yield {
        path,
        line: 1,
        text: `needs ${name}, which is not published, bundle it and name it among the devDependencies`,
      };
  }
}
