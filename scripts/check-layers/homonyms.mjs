// One exported noun has one meaning in a package: finds names that several of its files export, each its own thing.

/**
 * Yields one `{ path, line, text }` for each further file that exports a name another file exported before it. What
 * `house.table.homonyms` names, or all of a folder that it names, may have a meaning of its own, each with its reason; a
 * reason nobody needs is a fault too.
 */
export function* homonymFaults(house, files) {
  const reasons = house.table.homonyms ?? {};
  const needed = new Set();
  const owners = new Map();
  const folders = Object.keys(reasons).filter((name) => name.endsWith("/"));
  for (const file of files) {
    const apart = folders.find((folder) => house.inside(file.path).startsWith(folder));
    if (apart !== undefined) needed.add(apart);
    for (const { name, line } of apart === undefined ? uniqueNames(file.exports) : []) {
      const first = owners.get(name);
      if (first === undefined) owners.set(name, file.path);
      else if (Object.hasOwn(reasons, name)) needed.add(name);
      else yield { path: file.path, line, text: `exports ${name}, as ${first} does, give each meaning its own name` };
    }
  }
  for (const name of Object.keys(reasons)) {
    if (needed.has(name)) continue;
    const text = `${house.name}.homonyms allows ${name}, which has one meaning, take it out`;
    yield { path: "layers.json", line: 1, text };
  }
}

/** A type and a value of one name in one file are one thing. */
function uniqueNames(exports) {
  return new Map(exports.map((one) => [one.name, one])).values();
}
