// Small questions about request params, shared by the checks of all methods.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { peerWords } from "../jsonrpc/visible-text.js";
import type { ParamsFault } from "./method.js";

/** Builds the fault for the member that `keys` lead to, counted from the params. */
export function fault(keys: readonly string[], constraint: string, missing = false): ParamsFault {
  const path = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const what = `${missing ? "is required and " : ""}must be ${constraint}`;
  return { path, constraint, message: `params.${peerWords(keys.join("."))} ${what}` };
}

export function requireString(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return typeof value === "string" ? undefined : fault([key], "a string", value === undefined);
}

export function optionalString(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return value === undefined || typeof value === "string" ? undefined : fault([key], "a string");
}

export function requireObject(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return isJsonObject(value) ? undefined : fault([key], "an object", value === undefined);
}

export function optionalObject(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return value === undefined || isJsonObject(value) ? undefined : fault([key], "an object");
}

/** An absolute URI: it names its scheme and holds no spaces or control characters. */
export function requireUri(params: JsonObject, key: string): ParamsFault | undefined {
  const value = params[key];
  return typeof value === "string" && isUri(value) ? undefined : fault([key], "an absolute URI", value === undefined);
}

/** Every value of the object at `holder[key]`, when there is one, is a string. `at` leads from the params to the holder. */
export function optionalStringMap(
  holder: JsonObject,
  key: string,
  at: readonly string[] = [],
): ParamsFault | undefined {
  const map = holder[key];
  if (map === undefined) return undefined;
  if (!isJsonObject(map)) return fault([...at, key], "an object of strings");
  for (const name in map) {
    if (typeof map[name] !== "string") return fault([...at, key, name], "a string");
  }
  return undefined;
}

/** Whether a person may be sent there: an absolute URL of http or https. */
export function isWebAddress(url: unknown): url is string {
  if (typeof url !== "string" || !isUri(url)) return false;
  try {
    const { protocol } = new URL(url);
    return protocol === "https:" || protocol === "http:";
  } catch {
    return false;
  }
}

// oxlint-disable-next-line no-control-regex -- control characters cannot stand in a URI
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\u0000-\u001f\u007f-\u009f<>"{}|\\^`]+$/u;

/** Whether `text` is an absolute URI by the generic syntax; the scheme's own rules are not looked at. */
export function isUri(text: string): boolean {
  return URI.test(text);
}
