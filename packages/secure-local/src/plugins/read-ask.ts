// Reads what a plugin asks for, as words of a stranger.
import type { PolicyRequest } from "../capabilities/redirect.js";
import type { StoredValue } from "../capabilities/storage.js";
import { PluginError } from "./plugin-error.js";

type Json = Readonly<Record<string, unknown>>;

export type StorageAsk =
  | { readonly do: "get" | "delete"; readonly key: string }
  | { readonly do: "set"; readonly key: string; readonly value: StoredValue }
  | { readonly do: "keys" };

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const MAX_HEADERS = 64;
const HEADER_NAME = /^[!#$%&'*+.^`|~\w-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/;
/** Those the host writes itself. */
const NOT_THEIRS =
  /^(?:host|connection|content-length|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;
const MAX_ARGUMENTS = 1_000;

/** @throws PluginError */
export function readFetchAsk(given: unknown): PolicyRequest & { readonly url: string } {
  const { url, method = "GET", headers = {}, body, timeoutMs } = object(given, "fetch");
  const known = METHODS.find((each) => each === String(method).toUpperCase());
  if (known === undefined) throw new PluginError(`The method of a request is one of ${METHODS.join(", ")}.`);
  if (body !== undefined && body !== null && typeof body !== "string")
    throw new PluginError("The body of a request is a text.");
  const timeout = typeof timeoutMs === "number" && timeoutMs > 0 ? { timeoutMs } : {};
  return {
    url: text(url, "fetch.url"),
    method: known,
    headers: readHeaders(headers),
    ...(typeof body === "string" ? { body } : {}),
    ...timeout,
  };
}

function readHeaders(given: unknown): Record<string, string> {
  const headers = Object.entries(object(given, "fetch.headers"));
  if (headers.length > MAX_HEADERS) throw new PluginError(`A request has at most ${MAX_HEADERS} headers.`);
  const read: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!HEADER_NAME.test(name) || typeof value !== "string" || !HEADER_VALUE.test(value))
      throw new PluginError(`"${name.slice(0, 100)}" is no header, or its value no text of Latin-1.`);
    if (!NOT_THEIRS.test(name)) read[name.toLowerCase()] = value;
  }
  return read;
}

/** @throws PluginError */
export function readRunAsk(given: unknown): { readonly command: string; readonly args: readonly string[] } {
  const { command, args = [] } = object(given, "run");
  if (!Array.isArray(args) || args.length > MAX_ARGUMENTS || !args.every((arg) => typeof arg === "string"))
    throw new PluginError("run.args must be a list of texts.");
  return { command: text(command, "run.command"), args };
}

/** `{"get": KEY}`, `{"set": KEY, "value": …}`, `{"delete": KEY}` or `{"keys": true}`. @throws PluginError */
export function readStorageAsk(given: unknown): StorageAsk {
  const asked = object(given, "storage");
  if ("get" in asked) return { do: "get", key: text(asked["get"], "storage.get") };
  if ("delete" in asked) return { do: "delete", key: text(asked["delete"], "storage.delete") };
  if ("keys" in asked) return { do: "keys" };
  if (!("set" in asked)) throw new PluginError("storage takes get, set, delete or keys.");
  if (asked["value"] === undefined) throw new PluginError("storage.value is missing.");
  return { do: "set", key: text(asked["set"], "storage.set"), value: asked["value"] as StoredValue };
}

function object(given: unknown, place: string): Json {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Json;
  throw new PluginError(`${place} must be a mapping.`);
}

function text(given: unknown, place: string): string {
  if (typeof given === "string") return given;
  throw new PluginError(`${place} must be a text.`);
}
