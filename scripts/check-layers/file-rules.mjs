// The rules about one file by itself: its name, its size, how it opens, and what it may not contain.
import { basename } from "node:path";
import { within } from "./house.mjs";

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/;
/** The source of a package, whether it has layers or, as the page of the console and the launcher, none. */
const SOURCE = /^packages\/[^/]+\/(?:src|launcher)\//;
const SENTENCE = /^[`"'A-Z0-9][^]*[.:](?:\s|$)/;

/** Yields the faults of a source file of a package. */
export function* sourceFaults(house, file, limits) {
  const over = file.lines > limits.sourceLines;
  if (over) yield fault(file, limits.sourceLines + 1, `${file.lines} lines, split it at ${limits.sourceLines}`);
  yield* functionFaults(file, limits);
  for (const { line } of file.anys) yield fault(file, line, "type any, write the type or use unknown");
  if (!within(house.inside(file.path), house.table.reExports)) yield* reExportFaults(house, file);
  if (house.table.revisions) yield* revisionFaults(house, file);
}

function* functionFaults(file, limits) {
  for (const { name, line, lines } of file.functions) {
    if (lines <= limits.functionLines) continue;
    yield fault(file, line, `function ${name} has ${lines} lines, split it at ${limits.functionLines}`);
  }
}

function* reExportFaults(house, file) {
  const place = house.table.reExports.length > 0 ? "only entries/ re-exports" : "this package re-exports nothing";
  for (const { value, line } of file.reExports) {
    yield fault(file, line, `re-export of ${value}, import it where it is used, ${place}`);
  }
}

function* revisionFaults(house, file) {
  const { dates, allowed } = house.table.revisions;
  if (within(house.inside(file.path), allowed)) return;
  for (const { value, line } of file.texts) {
    const date = dates.find((one) => value.includes(one));
    if (date) yield fault(file, line, `revision ${date} as a literal, ask the revision table for what differs`);
  }
}

/** Yields the faults of a test, script, example or benchmark, and of a package's source without layers. */
export function* otherFaults(file, limits) {
  const over = file.lines > limits.otherLines;
  if (over) yield fault(file, limits.otherLines + 1, `${file.lines} lines, split it at ${limits.otherLines}`);
  if (SOURCE.test(file.path)) yield* functionFaults(file, limits);
}

/** Yields the faults every file can have: it does not parse, its name, and (where asked) how it opens. */
export function* commonFaults(file, table) {
  for (const { value, line } of file.errors) yield fault(file, line, `does not parse (${value}), correct it`);
  const name = basename(file.path);
  const stem = name.slice(0, name.indexOf("."));
  // An entry has the name of its subpath.
  if (table.forbiddenNames.includes(stem) && !file.path.includes("/entries/"))
    yield fault(file, 1, `file name ${name}, name the file for its one idea`);
  else if (!KEBAB.test(name)) yield fault(file, 1, `file name ${name}, write it in kebab-case`);
  if (table.openingComments.some((folder) => file.path.startsWith(`${folder}/`)) && !SENTENCE.test(file.opening)) {
    yield fault(file, 1, "does not open with a comment, begin with a sentence that says what the file is");
  }
}

function fault(file, line, text) {
  return { path: file.path, line, text };
}
