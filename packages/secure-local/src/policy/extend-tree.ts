// Puts the presets that a policy extends under its own lines.
import type { Faults } from "./faults.js";
import { didYouMean } from "./near-name.js";
import type { MapTree, Tree } from "./policy-tree.js";
import { PRESET_NAMES, PRESETS, type PresetValue } from "./presets.js";
import type { Place } from "./rule.js";

/** The policy with its presets in it, and their names in the order they were named. */
export interface Extended {
  readonly tree: Tree;
  readonly presets: readonly string[];
}

/**
 * Lists add up: a denial of a preset stays, a permission is added to. A single value that a preset sets may be repeated by the
 * file and not changed; then there is a fault at that value.
 */
export function extendTree(tree: Tree, faults: Faults): Extended {
  const given = tree.kind === "map" ? tree.entries.get("extends")?.value : undefined;
  if (tree.kind !== "map" || given === undefined) return { tree, presets: [] };
  let extended: Tree = tree;
  const presets: string[] = [];
  for (const item of given.kind === "list" ? given.items : [given]) {
    const preset = item.kind === "value" ? PRESETS.find(({ name }) => name === item.value) : undefined;
    if (preset === undefined) {
      const text = item.kind === "value" ? String(item.value).slice(0, 60) : "";
      const hint = didYouMean(text, PRESET_NAMES) || `; known presets are ${PRESET_NAMES.join(", ")}`;
      faults.add(item.place, `extends knows no preset "${text}"${hint}`);
    } else if (presets.includes(preset.name)) {
      faults.add(item.place, `extends names "${preset.name}" twice; remove one`);
    } else {
      presets.push(preset.name);
      const under = treeOf(preset.content, { ...item.place, preset: preset.name });
      extended = merge(under, extended, { path: "", faults });
    }
  }
  return { tree: extended, presets };
}

function treeOf(value: PresetValue, place: Place): Tree {
  if (typeof value !== "object") return { kind: "value", place, value };
  if (isList(value)) return { kind: "list", place, items: value.map((item) => treeOf(item, place)) };
  const entries = Object.entries(value).map(
    ([key, child]) => [key, { key: place, value: treeOf(child, place) }] as const,
  );
  return { kind: "map", place, entries: new Map(entries) };
}

function isList(value: PresetValue): value is readonly PresetValue[] {
  return Array.isArray(value);
}

interface At {
  readonly path: string;
  readonly faults: Faults;
}

/** `over` is the file's. Where the two are of different kinds the file's stands, and reading it tells what is wrong. */
function merge(under: Tree, over: Tree, at: At): Tree {
  if (over.kind === "value" && over.value === null) return under;
  if (under.kind === "map" && over.kind === "map") return mergeMaps(under, over, at);
  if (under.kind === "list" && over.kind === "list") return { ...over, items: [...under.items, ...over.items] };
  if (under.kind === "value" && over.kind === "value" && under.value !== over.value) {
    const preset = under.place.preset ?? "";
    const message = `${at.path} is ${under.value} in the preset "${preset}", which this policy extends; remove this line or the preset`;
    at.faults.add(over.place, message);
  }
  return over;
}

function mergeMaps(under: MapTree, over: MapTree, at: At): MapTree {
  const entries = new Map(under.entries);
  for (const [key, entry] of over.entries) {
    const below = under.entries.get(key);
    const path = at.path === "" ? key : `${at.path}.${key}`;
    entries.set(key, below ? { key: entry.key, value: merge(below.value, entry.value, { ...at, path }) } : entry);
  }
  return { ...over, entries };
}
