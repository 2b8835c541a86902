// Lists and parses the files under a folder; nothing but TypeScript and JavaScript files is seen.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseFile } from "./parse-file.mjs";

const SKIPPED = new Set(["node_modules", "dist", "fixtures", ".git"]);
const SEEN = /\.(?:[cm]?[jt]s|tsx)$/;

/** Returns the paths of every source file under `root/folder`, relative to `root`, sorted, with `/` between folders. */
export function listFiles(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  const found = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) found.push(...listFiles(root, path));
    else if (entry.isFile() && SEEN.test(entry.name)) found.push(path);
  }
  return found.sort();
}

/** Parses every source file under `root/folder`. */
export function readTree(root, folder) {
  return listFiles(root, folder).map((path) => parseFile(path, readFileSync(join(root, path), "utf8")));
}
