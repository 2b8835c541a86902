// Reads what a heap snapshot says that a program holds, apart from what the engine made of its code.
import { readFileSync } from "node:fs";

/** Compiled code, feedback about it, shapes: they grow for as long as the engine still learns, and end. */
const ENGINES = new Set(["code", "hidden", "object shape", "synthetic"]);
/** Nodes whose names are constructors or functions; those of strings are the strings themselves. */
const NAMED = new Set(["object", "native", "closure"]);
const NAME_CHARS = 60;

/**
 * What a snapshot says of objects, arrays, strings, closures and what hangs on them: `bytes` of all, and of each kind, by
 * constructor where there is one, its count and bytes.
 */
export function heldObjects(file) {
  const { snapshot, nodes, strings } = JSON.parse(readFileSync(file, "utf8"));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [kind, name, size] = ["type", "name", "self_size"].map((field) => fields.indexOf(field));
  const kinds = new Map();
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    const type = types[kind][nodes[at + kind]];
    if (ENGINES.has(type)) continue;
    bytes += nodes[at + size];
    const label = NAMED.has(type) ? `${type} ${strings[nodes[at + name]].slice(0, NAME_CHARS)}` : type;
    const each = kinds.get(label) ?? { count: 0, bytes: 0 };
    kinds.set(label, { count: each.count + 1, bytes: each.bytes + nodes[at + size] });
  }
  return { bytes, kinds };
}

/** The kinds that grew most from one snapshot to another, as text. */
export function mostGrown({ kinds: before }, { kinds: after }, most) {
  const growth = [...after].map(([label, now]) => {
    const { count = 0, bytes = 0 } = before.get(label) ?? {};
    return { label, count: now.count - count, bytes: now.bytes - bytes };
  });
  return growth
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, most)
    .map(({ label, count, bytes }) => `${label} ${count >= 0 ? "+" : ""}${count} (+${bytes} B)`)
    .join(", ");
}
