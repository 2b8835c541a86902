// Lets the suite start on Node 20: it imports `globSync` from `fs`, which Node has since 22, for a command we never run.
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

const FS = `export * from "node:fs";
export function globSync() { throw new Error("globSync needs Node 22"); }`;

if (isMainThread) register(import.meta.url);

/** Gives the suite, and nobody else, an `fs` with the missing name. */
export function resolve(specifier, context, next) {
  const asker = context.parentURL ?? "";
  if (specifier !== "fs" || !asker.includes("/@modelcontextprotocol/conformance/dist/"))
    return next(specifier, context);
  return { url: `data:text/javascript,${encodeURIComponent(FS)}`, shortCircuit: true };
}
