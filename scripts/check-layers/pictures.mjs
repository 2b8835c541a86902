// Draws the pictures of ARCHITECTURE.md from the code, as mermaid text: who imports whom by layer, and a call's way.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { housesOf } from "./house.mjs";
import { readTree } from "./read-tree.mjs";

const PAGE = "ARCHITECTURE.md";
const CALL = "call";
/** One picture: a marker with its name, what is drawn, and the marker of its end. */
const PICTURE = /(<!-- picture:([\w-]+) [^\n]*-->\n)([^]*?)(<!-- picture:end -->)/g;
/** The first table of files on the page is the way of a call through a server. */
const WAY = /<!-- path:begin [^\n]*-->([^]*?)<!-- path:end -->/;

/** Yields a fault for each picture of the page that is not what the code gives now. */
export function* pictureFaults(root, table) {
  if (!existsSync(join(root, PAGE))) return;
  const text = readFileSync(join(root, PAGE), "utf8");
  if (drawPictures(root, table, text) === text) return;
  yield { path: PAGE, line: 1, text: "a picture is not what the code gives, run node scripts/draw-pictures.mjs" };
}

/** Returns the page `text` with every picture drawn anew. */
export function drawPictures(root, table, text) {
  const houses = housesOf(root, table);
  const trees = new Map(houses.map((house) => [house.name, readTree(root, house.root)]));
  return text.replace(PICTURE, (_all, begin, name, _old, end) => {
    const house = houses.find((each) => each.name === name);
    const lines = name === CALL ? wayOf(text, houses, trees) : layersOf(house, trees.get(name));
    return `${begin}\n\`\`\`mermaid\n${lines.join("\n")}\n\`\`\`\n\n${end}`;
  });
}

/** An arrow for each layer that imports another, without those that a longer way says already. */
function layersOf(house, tree) {
  const arrows = new Map(Object.keys(house.table.layers).map((layer) => [layer, new Set()]));
  for (const file of tree) {
    const from = house.layerOf(file.path);
    for (const { specifier } of file.imports) {
      const to = layerNamed(house, file, specifier);
      if (from !== undefined && to !== undefined && to !== from) arrows.get(from).add(to);
    }
  }
  const lines = ["flowchart TD"];
  for (const [from, direct] of [...arrows].sort()) {
    const shown = [...direct].filter((to) => ![...direct].some((by) => by !== to && reaches(arrows, by, to))).sort();
    if (shown.length > 0) lines.push(`  ${from} --> ${shown.join(" & ")}`);
  }
  return lines;
}

function layerNamed(house, file, specifier) {
  if (specifier.startsWith(".")) return house.layerOf(house.resolve(file.path, specifier));
  return house.neighbourOf(specifier)?.as;
}

function reaches(arrows, from, to, seen = new Set()) {
  if (seen.has(from)) return false;
  seen.add(from);
  const direct = arrows.get(from) ?? new Set();
  return direct.has(to) || [...direct].some((next) => reaches(arrows, next, to, seen));
}

/** The steps of the table, one below the other: a line where the code of one imports the other's, else a dotted one. */
function wayOf(text, houses, trees) {
  const rows = [...(WAY.exec(text)?.[1] ?? "").matchAll(/^\| (?!-)([^|]+?)\s*\|([^|]+)\|$/gm)].slice(1);
  const steps = rows.map(([, what, files]) => ({
    what,
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, file]) => file),
  }));
  const imported = importsOf(houses, trees);
  const lines = ["flowchart TD"];
  for (const [n, { what, files }] of steps.entries()) {
    const names = files.map((file) => file.replace(/^packages\/([\w-]+)\/src\//, "$1: "));
    lines.push(`  s${n + 1}["${what.replaceAll("`", "")}<br/>${names.join("<br/>")}"]`);
    if (n === 0) continue;
    const joined = steps[n - 1].files.some((one) => files.some((two) => imported(one, two) || imported(two, one)));
    lines.push(`  s${n} ${joined ? "-->" : "-.->"} s${n + 1}`);
  }
  return lines;
}

function importsOf(houses, trees) {
  const pairs = new Set();
  for (const house of houses) {
    for (const file of trees.get(house.name)) {
      for (const { specifier } of file.imports) {
        if (specifier.startsWith(".")) pairs.add(`${file.path} ${house.resolve(file.path, specifier)}`);
      }
    }
  }
  return (from, to) => pairs.has(`${from} ${to}`);
}
