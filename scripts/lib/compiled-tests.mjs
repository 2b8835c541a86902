// Where the compiled form of a test file is, and how a place in it is found in the file a person wrote.
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { root } from "./run-command.mjs";

/** In node_modules, where nothing is searched, checked or committed. */
export const COMPILED = join(root, "node_modules/.compiled-tests");

/** Global name of what a worker does before each file, so that none meets what another left behind in modules they share. */
export const BEFORE_FILES = "__beforeTestFiles";

const PLACE = new RegExp(`(${pathToFileURL(COMPILED).href}/[^\\s()]+\\.mjs):(\\d+):(\\d+)`, "g");
const maps = new Map();

/** The URL of a test file's compiled form; undefined when it has none. */
export function compiledForm(file) {
  const path = join(COMPILED, relative(root, file)).replace(/\.ts$/, ".mjs");
  return existsSync(path) ? pathToFileURL(path).href : undefined;
}

/** A stack trace with places in sources instead of those in compiled files. */
export function inSources(stack) {
  return stack.replace(PLACE, (place, url, line, column) => {
    const { fileName, lineNumber, columnNumber } = mapOf(url).findOrigin(Number(line), Number(column));
    return fileName === undefined ? place : `${new URL(fileName, url).href}:${lineNumber}:${columnNumber}`;
  });
}

function mapOf(url) {
  let map = maps.get(url);
  if (map === undefined) {
    map = new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), "utf8")));
    maps.set(url, map);
  }
  return map;
}
