// Small questions about request params, shared by the checks of all methods.
import type { JsonObject } from "../jsonrpc/message.js";
import type { ParamsFault } from "./method.js";

/** Builds the fault for the member at `path` (without the leading `params.`). */
export function fault(path: string, constraint: string, missing = false): ParamsFault {
  const full = `params.${path}`;
  return { path: full, constraint, message: `${full} ${missing ? "is required and " : ""}must be ${constraint}` };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function requireString(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return typeof value === "string" ? undefined : fault(key, "a string", value === undefined);
}

export function optionalString(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return value === undefined || typeof value === "string" ? undefined : fault(key, "a string");
}

export function requireObject(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return isObject(value) ? undefined : fault(key, "an object", value === undefined);
}

export function optionalObject(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return value === undefined || isObject(value) ? undefined : fault(key, "an object");
}

/** An absolute URI: it names its scheme and holds no spaces or control characters. */
export function requireUri(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return typeof value === "string" && isUri(value) ? undefined : fault(key, "an absolute URI", value === undefined);
}

/** Every value of the object at `params[key]`, when there is one, is a string. */
export function optionalStringMap(params: JsonObject, key: string): ParamsFault | undefined {
  const map = params[key];
  if (map === undefined) return undefined;
  if (!isObject(map)) return fault(key, "an object of strings");
  for (const name in map) {
    if (typeof map[name] !== "string") return fault(`${key}.${name}`, "a string");
  }
  return undefined;
}

const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}<>"{}|\\^`]+$/u;

/** Whether `text` is an absolute URI by the generic syntax; the scheme's own rules are not looked at. */
export function isUri(text: string): boolean {
  return URI.test(text);
}
