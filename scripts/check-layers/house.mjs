// Turns one part of layers.json (a package of the workspace) into questions the import rules can ask.
import { builtinModules } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const BUILTINS = new Set(builtinModules);

/** Tells whether `path` is one of the listed files or stands in one of the listed folders (which end in `/`). */
export function within(path, places) {
  return places === "*" || places.some((place) => (place.endsWith("/") ? path.startsWith(place) : path === place));
}

/** Returns the name of a Node builtin without its `node:` prefix, or undefined when the specifier is not one. */
export function builtinName(specifier) {
  if (specifier.startsWith("node:")) return specifier.slice(5);
  return BUILTINS.has(specifier) ? specifier : undefined;
}

/** The parts of the house at `root`: everything in the table that has a root folder, in its order. */
export function housesOf(root, table) {
  const names = Object.keys(table).filter((name) => table[name].root !== undefined);
  return names.map((name) => new House(name, table, root));
}

/** A part of the house: its root folder, its layers, and the packages of ours beside it whose public subpaths it may import. */
class House {
  constructor(name, whole, root) {
    this.name = name;
    this.table = whole[name];
    this.root = this.table.root;
    this.ambient = whole.ambient;
    this.manifestPath = posix.join(posix.dirname(this.root), "package.json");
    this.manifest = readManifest(join(root, this.manifestPath));
    /** By the name the layers call them: `{ as, name, subpaths }`. */
    this.neighbours = Object.entries(this.table.neighbours ?? {}).map(([as, folder]) =>
      neighbour(as, join(root, folder)),
    );
  }

  /** The neighbour a specifier means, if any. */
  neighbourOf(specifier) {
    return this.neighbours.find(({ name }) => name !== "" && (specifier === name || specifier.startsWith(`${name}/`)));
  }

  /** Whether a file of this part is what a public subpath of its package stands for. */
  isPublic(path) {
    return Object.values(this.manifest.exports ?? {}).some((target) =>
      Object.values(target).includes(`./src/${this.inside(path)}`),
    );
  }

  /** The path of a file inside this part, or undefined when it stands outside. */
  inside(path) {
    return path.startsWith(`${this.root}/`) ? path.slice(this.root.length + 1) : undefined;
  }

  /** The layer a file belongs to: the first folder of its path, or undefined for a file beside the layers. */
  layerOf(path) {
    const inside = this.inside(path) ?? "";
    const name = inside.slice(0, Math.max(0, inside.indexOf("/")));
    return Object.hasOwn(this.table.layers, name) ? name : undefined;
  }

  layer(name) {
    return this.table.layers[name];
  }

  /** Whether files of layer `from` may import layer `to` (a neighbour's name stands for its public subpaths). */
  mayImport(from, to) {
    const { imports } = this.layer(from);
    return from === to || imports === "*" || imports.includes(to);
  }

  /** Where a relative specifier leads, as the source file it stands for (`.js` is written, `.ts` is meant). */
  resolve(from, specifier) {
    return posix.normalize(posix.join(posix.dirname(from), specifier)).replace(/\.js$/, ".ts");
  }
}

function readManifest(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { name: "", exports: {} };
}

function neighbour(as, folder) {
  const { name, exports, private: unpublished = false } = readManifest(join(folder, "package.json"));
  const subpaths = Object.keys(exports ?? {}).map((subpath) => name + subpath.slice(1));
  return { as, name, unpublished, subpaths: new Set(subpaths) };
}
