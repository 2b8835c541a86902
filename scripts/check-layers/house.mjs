// Turns one part of layers.json (the library or the product) into questions the import rules can ask.
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

/** A part of the house: its root folder, its layers, and the library subpaths it may import. */
export class House {
  constructor(name, table, root) {
    this.name = name;
    this.table = table;
    this.root = table.root;
    this.library = table.library ? readLibrary(join(root, table.library, "package.json")) : undefined;
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

  /** Whether files of layer `from` may import layer `to` ("library" stands for the library's public subpaths). */
  mayImport(from, to) {
    const { imports } = this.layer(from);
    return from === to || imports === "*" || imports.includes(to);
  }

  /** Where a relative specifier leads, as the source file it stands for (`.js` is written, `.ts` is meant). */
  resolve(from, specifier) {
    return posix.normalize(posix.join(posix.dirname(from), specifier)).replace(/\.js$/, ".ts");
  }
}

function readLibrary(path) {
  const manifest = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { name: "", exports: {} };
  const subpaths = Object.keys(manifest.exports).map((subpath) => manifest.name + subpath.slice(1));
  return { name: manifest.name, subpaths: new Set(subpaths) };
}
