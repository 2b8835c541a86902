// A runtime like those at the edge: modules, web globals, and nothing else. Needs --experimental-vm-modules.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createContext, SourceTextModule } from "node:vm";

/** What all server runtimes of the web share (WinterTC's minimum common API), as far as a server needs it. */
const WEB_GLOBALS = [
  ..."AbortController AbortSignal ByteLengthQueuingStrategy CountQueuingStrategy DOMException Event".split(" "),
  ..."EventTarget Headers ReadableStream Request Response TextDecoder TextEncoder TransformStream URL".split(" "),
  ..."URLSearchParams WritableStream atob btoa clearInterval clearTimeout console crypto fetch".split(" "),
  ..."performance queueMicrotask setInterval setTimeout structuredClone".split(" "),
];
/** What runtimes at the edge refuse outside of a request. */
const NOT_AT_START = {
  setTimeout: () => refuse("setTimeout"),
  setInterval: () => refuse("setInterval"),
  fetch: () => refuse("fetch"),
  crypto: { getRandomValues: () => refuse("getRandomValues"), randomUUID: () => refuse("randomUUID") },
};

/** Loads a worker and gives its default export. Rejects when anything it imports is not made for the web. */
export async function loadWorker(url) {
  const globals = Object.fromEntries(WEB_GLOBALS.map((name) => [name, globalThis[name]]));
  const context = createContext({ ...globals, ...NOT_AT_START });
  const modules = new Map();
  const load = (file) => {
    if (!modules.has(file)) modules.set(file, read(file, context));
    return modules.get(file);
  };
  const worker = await load(url);
  await worker.link((specifier, from) => load(resolve(specifier, from.identifier)));
  await worker.evaluate();
  Object.assign(context, globals);
  return worker.namespace.default;
}

function refuse(name) {
  throw new Error(`${name} was called outside of a request`);
}

async function read(file, context) {
  return new SourceTextModule(await readFile(fileURLToPath(file), "utf8"), { context, identifier: file });
}

function resolve(specifier, from) {
  const resolved = specifier.startsWith(".") ? new URL(specifier, from).href : import.meta.resolve(specifier);
  if (resolved.startsWith("file:")) return resolved;
  throw new Error(`${from} imports ${specifier}, which only Node has`);
}
