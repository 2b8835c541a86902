// Lets a Node that knows no TypeScript load modules written in it: takes the types out and leaves every line and column
// where it was, as newer Nodes do by themselves. Bundled into a file of its own; it runs inside the sandbox of a plugin.
"use strict";
const { readFile } = require("node:fs/promises");
const { fileURLToPath } = require("node:url");
const { transformSync } = require("@swc/wasm-typescript");

/** A hook for `module.register`. */
exports.load = async function load(url, context, next) {
  if (!/^file:.*\.m?ts$/.test(url)) return next(url, context);
  const path = fileURLToPath(url);
  const source = await readFile(path, "utf8");
  return { format: "module", source: stripped(source, path), shortCircuit: true };
};

/** The source without its types. */
exports.stripped = stripped;

function stripped(source, filename) {
  try {
    return transformSync(source, { mode: "strip-only", module: true, filename }).code;
  } catch (error) {
    // What is thrown belongs to the WebAssembly. The author needs the place in their file, not ours.
    const { message = String(error), startLine = 1, startColumn = 0 } = Object(error);
    const refusal = new SyntaxError(`${filename}:${startLine}:${startColumn + 1}: ${message}`);
    refusal.stack = `SyntaxError: ${refusal.message}`;
    throw refusal;
  }
}
