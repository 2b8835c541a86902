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
    if (!modules.has(file)) modules.set(file, read(file, context, run));
    return modules.get(file);
  };
  const link = (specifier, from) => load(resolve(specifier, from.identifier));
  async function linkAndEvaluate(module) {
    if (module.status === "unlinked") await module.link(link);
    await module.evaluate();
    return module;
  }
  // Parts that are imported later are linked one after the other: what two of them share may be linked once.
  let last = Promise.resolve();
  function run(specifier, from) {
    const loaded = last.then(async () => linkAndEvaluate(await link(specifier, from)));
    last = loaded.catch(() => undefined);
    return loaded;
  }
  const worker = await linkAndEvaluate(await load(url));
  Object.assign(context, globals);
  return worker.namespace.default;
}

function refuse(name) {
  throw new Error(`${name} was called outside of a request`);
}

async function read(file, context, importModuleDynamically) {
  const text = await readFile(fileURLToPath(file), "utf8");
  return new SourceTextModule(text, { context, identifier: file, importModuleDynamically });
}

function resolve(specifier, from) {
  const resolved = specifier.startsWith(".") ? new URL(specifier, from).href : import.meta.resolve(specifier);
  if (resolved.startsWith("file:")) return resolved;
  throw new Error(`${from} imports ${specifier}, which only Node has`);
}
