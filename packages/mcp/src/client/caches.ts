// What a client keeps of a server: its tools, to repeat arguments as headers and check results, and results for as long
// as the server allows.
import { mirrorsOf } from "./versions.js";
import type { HeaderArgument } from "../era/codec.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Awaitable, JsonObject } from "../jsonrpc/message.js";
import type { CallToolResult, Tool } from "../protocol/features/tools.js";
import type { JsonSchemaValidator } from "../schema/json-schema/compile.js";
import type { Fault } from "../schema/schema.js";
import type { InferStandard, StandardSchema } from "../schema/standard-schema.js";

/** One tool. Its output schema is compiled when the first result comes. */
export interface KnownTool {
  readonly tool: Tool;
  readonly mirrored: readonly HeaderArgument[] | undefined;
  /** What structured content has to be; undefined where nothing is promised, or the revision has no such promise. */
  readonly outputSchema: Tool["outputSchema"];
  validator?: JsonSchemaValidator | LocalError;
}

/** How a page of tools is to be taken. */
export interface PageOfTools {
  /** Arguments have to be repeated in headers. */
  readonly mirrors: boolean;
  /** The revision has output schemas. */
  readonly promises: boolean;
  /** The list has changed since the page was asked for: nothing is noted of it. */
  readonly outdated: boolean;
}

export interface ToolBookOptions {
  readonly validateOutput: "strict" | "warn" | "off";
  warn(text: string): void;
}

/** Faults named in one message. */
const MOST_FAULTS = 5;
/** Tools remembered: more would be no list a model can read. */
const MOST_TOOLS = 10_000;

export class ToolCache {
  readonly #options: ToolBookOptions;
  readonly #tools = new Map<string, KnownTool>();

  constructor(options: ToolBookOptions) {
    this.#options = options;
  }

  get(name: string): KnownTool | undefined {
    return this.#tools.get(name);
  }

  /** Notes the tools of one page, and returns those that may be called. */
  note(tools: readonly Tool[], page: PageOfTools): Tool[] {
    return tools.filter((tool) => {
      const fault = nameFault(tool) ?? this.#keep(tool, page);
      if (fault !== undefined) this.#options.warn(`The tool ${show(tool.name)} was dropped from the list: ${fault}`);
      return fault === undefined;
    });
  }

  /** The list is no longer what it was: nothing is known until it is read again. */
  clear(): void {
    this.#tools.clear();
  }

  /** The result as it is. Rejects with INVALID_OUTPUT, or warns, when its structured content does not fit the tool's schema. */
  checked(known: KnownTool, result: CallToolResult): Awaitable<CallToolResult> {
    const { validateOutput } = this.#options;
    if (validateOutput === "off" || known.outputSchema === undefined || result.isError === true) return result;
    return this.#judged(known, result);
  }

  async #judged(known: KnownTool, result: CallToolResult): Promise<CallToolResult> {
    const error = await outputFault(known, result);
    if (error === undefined) return result;
    if (this.#options.validateOutput === "strict") throw error;
    this.#options.warn(error.message);
    return result;
  }

  #keep(tool: Tool, { mirrors, promises, outdated }: PageOfTools): string | undefined {
    const mirrored = mirrors ? mirrorsOf(tool.inputSchema) : undefined;
    if (typeof mirrored === "string") return mirrored;
    if (outdated) return undefined;
    if (this.#tools.size >= MOST_TOOLS && !this.#tools.has(tool.name)) return `there are more than ${MOST_TOOLS} tools`;
    const outputSchema = promises ? (tool.outputSchema ?? undefined) : undefined;
    this.#tools.set(tool.name, { tool, mirrored: mirrored?.length === 0 ? undefined : mirrored, outputSchema });
    return undefined;
  }
}

function nameFault({ name, inputSchema }: Tool): string | undefined {
  if (typeof name !== "string" || name === "") return "it has no name";
  return typeof inputSchema === "object" && inputSchema !== null ? undefined : "it has no inputSchema";
}

async function outputFault(known: KnownTool, result: CallToolResult): Promise<LocalError | undefined> {
  const fault = await promiseFault(known, result);
  if (fault !== undefined) return invalid(known.tool.name, fault);
  return known.validator instanceof LocalError ? known.validator : undefined;
}

/** Why structured content is not what the tool promises; undefined where it is, or the promise cannot be read. */
export async function promiseFault(
  known: KnownTool,
  { structuredContent }: Pick<CallToolResult, "structuredContent">,
): Promise<string | undefined> {
  if (structuredContent === undefined)
    return "it has no structuredContent, though the tool promises some in its outputSchema";
  known.validator ??= await compiled(known);
  if (known.validator instanceof LocalError || known.validator.check(structuredContent)) return undefined;
  const outcome = known.validator.validate(structuredContent);
  // Defaults are not filled in here: what only they make valid is taken as it is.
  if (outcome.ok) return undefined;
  return faultsIn(outcome);
}

function faultsIn({ faults }: { readonly faults: readonly Fault[] }): string {
  return faults
    .slice(0, MOST_FAULTS)
    .map(({ message }) => message)
    .join("; ");
}

// Loaded for the first result that has to be checked: a quarter of what a page in a browser would load otherwise.
async function compiled({ tool: { name }, outputSchema = {} }: KnownTool): Promise<JsonSchemaValidator | LocalError> {
  try {
    const { compileJsonSchema } = await import("../schema/json-schema/compile.js");
    const { tolerantPatterns } = await import("../schema/json-schema/pattern.js");
    return compileJsonSchema(outputSchema, { fallbackToDraft07: true, regExp: tolerantPatterns() });
  } catch (error) {
    return invalid(name, `its outputSchema is of no use: ${(error as Error).message}`);
  }
}

/** A tool's result whose structured content was checked by the caller's own schema, unless it says that the tool failed. */
export type TypedResult<S extends StandardSchema> = Omit<CallToolResult, "isError" | "structuredContent"> &
  (
    | { readonly isError: true; readonly structuredContent?: unknown }
    | { readonly isError?: false; readonly structuredContent: InferStandard<S> }
  );

/** Checks by the caller's schema; what that makes of the structured content takes its place. Throws INVALID_OUTPUT. */
export async function typedResult(
  name: string,
  result: CallToolResult,
  schema: StandardSchema,
): Promise<CallToolResult> {
  if (result.isError === true) return result;
  // Few calls have one, and a page does not load for them what judges it.
  const { standardOutcome } = await import("../schema/standard-schema.js");
  const checked = await standardOutcome(schema, result.structuredContent);
  if (checked.ok) return { ...result, structuredContent: checked.value as JsonObject };
  const faults = faultsIn(checked);
  const text = `The output of the tool ${show(name)} does not fit the schema given with the call: ${faults}.`;
  throw new LocalError("INVALID_OUTPUT", text);
}

function invalid(name: string, what: string): LocalError {
  const text = `The output of the tool ${show(name)} is not what it promises: ${what}. Report it to the server, or set validateOutput to "warn".`;
  return new LocalError("INVALID_OUTPUT", text);
}

/** Names come from the server: shown, never at any length. */
function show(name: unknown): string {
  return JSON.stringify(String(name).slice(0, 200));
}

// Keeps results for as long as their server allows (`ttlMs`, `cacheScope`), each for whom it was meant.

/** One result that may be given again. */
export interface CachedResult {
  readonly result: JsonObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where results are kept. Share one among clients whose `identity` tells their users apart. */
export interface ResultStore {
  get(key: string): CachedResult | undefined;
  set(key: string, cached: CachedResult): void;
  delete(key: string): void;
  /** All keys that begin so. */
  keys(prefix: string): Iterable<string>;
}

/** Where results are kept as long as a server allows, and for whom. */
export interface CacheOptions {
  /** Default: one of this client's own. */
  readonly store?: ResultStore;
  /** Who is asking, for results that are private to them. Default: this client and nobody else. */
  readonly identity?: string;
  /** Names the server for results that are public. Default: this client's server and no other. */
  readonly server?: string;
}

/** Pages of lists and resources of one server: more are read anew. */
const MOST_RESULTS = 500;
/** Characters of all results together, as JSON: a server that allows much to be kept must not fill the memory. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Keeps results in memory: the latest five hundred, and sixteen million characters at most. */
export class MemoryResults implements ResultStore {
  readonly #results = new Map<string, CachedResult>();
  readonly #lengths = new Map<string, number>();
  #characters = 0;

  get(key: string): CachedResult | undefined {
    return this.#results.get(key);
  }

  set(key: string, cached: CachedResult): void {
    this.delete(key);
    const { length } = JSON.stringify(cached.result);
    this.#results.set(key, cached);
    this.#lengths.set(key, length);
    this.#characters += length;
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= MOST_RESULTS && this.#characters <= MOST_CHARACTERS) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#characters -= this.#lengths.get(key) ?? 0;
    this.#lengths.delete(key);
    this.#results.delete(key);
  }

  *keys(prefix: string): Iterable<string> {
    for (const key of [...this.#results.keys()]) if (key.startsWith(prefix)) yield key;
  }
}

let clients = 0;

export class ResponseCache {
  readonly #store: ResultStore;
  readonly #private: string;
  readonly #public: string;

  constructor({ store = new MemoryResults(), identity, server }: CacheOptions = {}) {
    const own = `client ${++clients}`;
    const about = server ?? own;
    this.#store = store;
    this.#public = JSON.stringify([about]);
    this.#private = JSON.stringify([about, identity ?? own]);
  }

  /** The fresh result for a method and the param that matters. */
  get(method: string, param: string | undefined): JsonObject | undefined {
    for (const owner of [this.#private, this.#public]) {
      const key = owner + keyOf(method, param);
      const cached = this.#store.get(key);
      if (cached === undefined) continue;
      if (cached.expiresAt > Date.now()) return cached.result;
      this.#store.delete(key);
    }
    return undefined;
  }

  /** Keeps a result if its server allows; what is not said to be public is private. */
  set(method: string, param: string | undefined, result: JsonObject): void {
    const { ttlMs, cacheScope } = result;
    if (typeof ttlMs !== "number" || !(ttlMs > 0)) return;
    const owner = cacheScope === "public" ? this.#public : this.#private;
    this.#store.set(owner + keyOf(method, param), { result, expiresAt: Date.now() + ttlMs });
  }

  /** Forgets what a method answered, or one of its answers. */
  drop(method: string, param?: string): void {
    for (const owner of [this.#private, this.#public]) {
      if (param !== undefined) this.#store.delete(owner + keyOf(method, param));
      else for (const key of this.#store.keys(`${owner}${method} `)) this.#store.delete(key);
    }
  }
}

function keyOf(method: string, param: string | undefined): string {
  return `${method} ${param === undefined ? "" : JSON.stringify(param)}`;
}
