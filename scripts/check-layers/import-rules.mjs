// The rules about imports: which layer may import which, where Node and other packages may be named.
import { builtinName, within } from "./house.mjs";

/** Yields `{ path, line, text }` for every import of `file` that the table does not allow. */
export function* importFaults(house, file) {
  const layer = house.layerOf(file.path);
  if (layer === undefined) {
    const names = Object.keys(house.table.layers).join(", ");
    yield fault(file, 1, `belongs to no layer, move it into one of ${names} or add its folder to layers.json`);
    return;
  }
  for (const found of file.imports) {
    const text = judge(house, file, layer, found);
    if (text) yield fault(file, found.line, text);
  }
  yield* wallFaults(house, file);
  yield* globalFaults(house, file, layer);
}

function judge(house, file, layer, found) {
  const { specifier } = found;
  if (specifier.startsWith(".")) return judgeRelative(house, file, layer, specifier);
  const builtin = builtinName(specifier);
  if (builtin !== undefined) return judgeBuiltin(house, file, layer, { ...found, builtin });
  const neighbour = house.neighbourOf(specifier);
  if (neighbour !== undefined) return judgeNeighbour(house, layer, { specifier, ...neighbour });
  return judgePackage(house, layer, specifier);
}

function judgeRelative(house, file, layer, specifier) {
  const target = house.resolve(file.path, specifier);
  if (house.inside(target) === undefined) {
    return `import of "${specifier}" leaves ${house.root}, import the other package through its public subpaths`;
  }
  const other = house.layerOf(target);
  if (other === undefined || house.mayImport(layer, other)) return undefined;
  return (
    `layer ${layer} may not import layer ${other} ("${specifier}"), ` +
    `move the code to a layer both may import or pass it in as an argument (layers.json has the table)`
  );
}

function judgeBuiltin(house, file, layer, { builtin: name, names }) {
  const inside = house.inside(file.path);
  if (!within(inside, house.table.nodeBuiltins)) {
    return `"node:${name}" in a runtime-neutral file, move what needs Node to ${house.root}/node`;
  }
  if (isAmbient(house, inside, layer) && isPower(house.ambient, name, names)) {
    return `layer ${layer} reaches for "node:${name}", use what the capabilities hand out instead`;
  }
  return undefined;
}

/** Whether an import of a builtin gives power over the machine: types do not, nor the functions the table calls pure. */
function isPower({ builtins, pure }, name, names) {
  if (!builtins.includes(name.split("/")[0])) return false;
  return names === undefined || names.some((one) => !pure[name]?.includes(one));
}

function judgeNeighbour(house, layer, { specifier, as, subpaths }) {
  const called = as === "library" ? "the library" : as;
  if (!house.mayImport(layer, as)) return `layer ${layer} may not import ${called} ("${specifier}"), keep it out`;
  if (subpaths.has(specifier)) return undefined;
  return `"${specifier}" is not a public subpath, import one of ${[...subpaths].join(", ")}`;
}

function judgePackage(house, layer, specifier) {
  const { packages, imports } = house.layer(layer);
  if (packages?.some((name) => isPackage(specifier, name))) return undefined;
  if (house.neighbours.length > 0 && imports === "*") return undefined;
  return `layer ${layer} may not import the package "${specifier}", do without or name it for this layer in layers.json`;
}

/** Two families that never meet: neither side imports the other, and only the named files import both. */
function* wallFaults(house, file) {
  const inside = house.inside(file.path);
  for (const { between, joinedBy } of house.table.walls ?? []) {
    if (within(inside, joinedBy)) continue;
    const own = between.find((side) => inside.startsWith(side));
    const seen = new Set(own ? [own] : []);
    for (const { specifier, line } of file.imports) {
      const target = specifier.startsWith(".") && house.inside(house.resolve(file.path, specifier));
      const side = between.find((folder) => target && target.startsWith(folder));
      if (side) seen.add(side);
      if (side && seen.size > 1) {
        yield fault(
          file,
          line,
          `names both ${between.join(" and ")}, only ${joinedBy.join(" and ")} may, go through it`,
        );
        break;
      }
    }
  }
}

function* globalFaults(house, file, layer) {
  if (!isAmbient(house, house.inside(file.path), layer)) return;
  for (const { value, line } of file.globals) {
    if (!house.ambient.globals.includes(value)) continue;
    yield fault(file, line, `layer ${layer} uses the global ${value}, use what the capabilities hand out instead`);
  }
}

/** Whether a file stands in a layer that is handed its powers and may not take any by itself. */
function isAmbient(house, inside, layer) {
  return house.layer(layer).ambient === false && !within(inside, house.table.ambientAllowed ?? []);
}

function isPackage(specifier, name) {
  return name !== "" && (specifier === name || specifier.startsWith(`${name}/`));
}

function fault(file, line, text) {
  return { path: file.path, line, text };
}
