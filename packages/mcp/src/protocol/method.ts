// Describes one method of the protocol: its name, what its params must look like, what gates it and what it answers.
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "./capabilities.js";
import { META, type Meta } from "./meta.js";

/** Why params were refused. It becomes a -32602 whose `data` is `{ path, constraint }`. */
export interface ParamsFault {
  /** Where: a JSON Pointer into the params, `/name`. */
  readonly path: string;
  /** What was expected there: `must be` and then this, `a string`. */
  readonly constraint: string;
  /** One sentence for a person: `params.name must be a string`. */
  readonly message: string;
}

/** Looks at params and names the first fault, or returns undefined. Unknown members are always fine. */
export type ParamsCheck = (params: JsonObject) => ParamsFault | undefined;

/** Which projection a result needs before an older peer may see it. */
export type ResultKind =
  | "plain"
  | "empty"
  | "initialize"
  | "discover"
  | "tools"
  | "resources"
  | "templates"
  | "prompts"
  | "callTool"
  | "readResource"
  | "getPrompt"
  | "complete"
  | "task"
  | "tasks";

/** A request a client may send, with the type of its params. */
export interface MethodRecord<Params extends object = object> {
  readonly name: string;
  readonly check: ParamsCheck;
  /** Never set: it carries the type that params have once `check` has passed them. */
  readonly params?: Params;
  /** The server answers -32601 unless it advertises this; undefined: always served. */
  readonly capability: keyof ServerCapabilities | undefined;
  /** Complete results carry `ttlMs` and `cacheScope` where the revision has them. */
  readonly cacheable: boolean;
  /** The method may answer `input_required`. */
  readonly interactive: boolean;
  readonly result: ResultKind;
}

/** Params that the record's `check` has passed, with the type they have then. */
export function checkedParams<Params extends object>(_record: MethodRecord<Params>, params: JsonObject): Params {
  return params as Params;
}

// Params and results of the methods that answer in pages.

/** Params of every list, and of nothing else. */
export interface PaginatedRequestParams {
  /** Where the page before ended: opaque to clients. */
  cursor?: string;
  _meta?: Meta;
}

export interface PaginatedResult {
  /** Absent on the last page. */
  nextCursor?: string;
  _meta?: Meta;
}

/** How long, and for whom, a result may be kept (2026-07-28). */
export interface CacheableResult {
  /** Milliseconds, an integer of at least 0. */
  ttlMs?: number;
  cacheScope?: "public" | "private";
}

export function checkCursor(params: JsonObject): ParamsFault | undefined {
  return optionalString(params, "cursor");
}

// Small questions about request params, shared by the checks of all methods.

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

/** The request's `_meta` when it claims the stateless era: by a version, or by capabilities whose version was forgotten. */
export function claimOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  if (typeof meta !== "object" || meta === null) return undefined;
  return META.protocolVersion in meta || META.clientCapabilities in meta ? meta : undefined;
}
