// Finds import cycles between files: type imports and dynamic imports count.

/** Yields one `{ path, line, text }` for each group of files that import each other in a ring. */
export function* cycleFaults(house, files) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const edges = new Map();
  for (const file of files) edges.set(file.path, edgesOf(house, file, byPath));
  const state = new Map();
  for (const { path } of files) {
    if (!state.has(path)) yield* follow(path, { edges, state, stack: [] });
  }
}

function edgesOf(house, file, byPath) {
  const relative = file.imports.filter(({ specifier }) => specifier.startsWith("."));
  const targets = relative.map(({ specifier, line }) => ({ to: house.resolve(file.path, specifier), line }));
  return targets.filter(({ to }) => byPath.has(to));
}

/** Walks depth first; an edge back into the current path closes a ring, and each such edge is named once. */
function* follow(path, search) {
  search.state.set(path, "open");
  search.stack.push(path);
  for (const { to, line } of search.edges.get(path)) {
    if (search.state.get(to) === "open") {
      const ring = [...search.stack.slice(search.stack.indexOf(to)), to].join(" → ");
      yield { path, line, text: `import cycle ${ring}, move what they share to a file of its own` };
    } else if (!search.state.has(to)) yield* follow(to, search);
  }
  search.stack.pop();
  search.state.set(path, "done");
}
