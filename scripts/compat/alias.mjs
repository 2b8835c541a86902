// Preloaded (`--import`) into a program written for an official SDK: what it imports of the SDK comes from our compat entries.
import { register } from "node:module";
import Module from "node:module";
import { fileURLToPath } from "node:url";

const dist = new URL("../../packages/mcp/dist/", import.meta.url).href;

/** Where a specifier of an SDK leads; undefined for any other. */
export function placeOf(specifier) {
  const found = /^@modelcontextprotocol\/(sdk|server|node)(?:\/(.*))?$/.exec(specifier);
  if (found === null) return undefined;
  const inside = found[2] ?? "";
  if (inside.startsWith("client")) return undefined;
  if (/stdio(?:\.js)?$/.test(inside)) return `${dist}compat-stdio.js`;
  if (found[1] === "node" || /streamableHttp(?:\.js)?$|^server\/sse(?:\.js)?$/.test(inside))
    return `${dist}compat-http.js`;
  return `${dist}compat.js`;
}

/** The hook of Node's loader, in its own thread. */
export async function resolve(specifier, context, next) {
  const url = placeOf(specifier);
  return url === undefined ? next(specifier, context) : { url, shortCircuit: true, format: "module" };
}

if (process.env.MCP_COMPAT_ALIAS === "yes") {
  register(import.meta.url);
  const { _resolveFilename: before } = Module;
  Module._resolveFilename = function resolveFilename(request, ...rest) {
    const url = placeOf(request);
    return url === undefined ? before.call(this, request, ...rest) : fileURLToPath(url);
  };
}
