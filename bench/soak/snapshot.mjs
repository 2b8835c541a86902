// Reads what a heap snapshot says that a program holds, apart from what the engine made of its code.
import { readFileSync } from "node:fs";

/** Compiled code, feedback about it, shapes: they grow for as long as the engine still learns, and end. */
const ENGINES = new Set(["code", "hidden", "object shape", "synthetic"]);

/** Bytes of objects, arrays, strings, closures and what hangs on them. */
export function heldBytes(file) {
  const { snapshot, nodes } = JSON.parse(readFileSync(file, "utf8"));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [kind, size] = [fields.indexOf("type"), fields.indexOf("self_size")];
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    if (!ENGINES.has(types[kind][nodes[at + kind]])) bytes += nodes[at + size];
  }
  return bytes;
}
