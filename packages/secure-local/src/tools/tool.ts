// The shape of a built-in tool, a plain object handed what power it has, and the pace of long work.
import {
  type Block,
  type Context,
  type JsonSchema,
  result,
  type ToolDefinition,
  type ToolResult,
} from "@secure-local/mcp/server";
import type { Clock } from "../capabilities/clock.js";
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyFetch } from "../capabilities/fetch.js";
import type { Files, FolderEntry } from "../capabilities/files/files.js";
import { FetchError, type Permission, type PermissionRequest } from "../capabilities/refusals.js";

/** What a tool is handed for one call. */
export interface ToolPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  /** Files under the policy, narrowed by the roots of the client that calls. */
  readonly files: Files;
  readonly databases: Databases;
  /** Aborted when the call is cancelled or its time is up. */
  readonly signal: AbortSignal;
  /** Aborted when the call may no longer send anything out: whoever sends by other means than `fetch` ends that then. */
  readonly sendingOver: AbortSignal | undefined;
  /**
   * Reports how far the call is, if the client asked to know. `done` must grow from report to report. Await it: that keeps
   * pace with a slow reader.
   */
  progress(done: number, total?: number, message?: string): Promise<void>;
  /** Leave to do something for this call that a program wants, not its caller. To be asked for right before it is done. */
  acts(act: PermissionRequest): Promise<Permission>;
}

/** The text of an answer, data with a text, or the sentence that says why there is none (a result with `isError: true`). */
export type ToolAnswer = string | ToolData | ToolFailure;

/** An answer in the shape of the tool's `output` schema. */
export interface ToolData {
  readonly structured: Readonly<Record<string, unknown>>;
  /** What a model reads; the data as JSON when both this and `blocks` are absent. */
  readonly text?: string;
  /** Content beside the text: images, links, embedded resources. */
  readonly blocks?: readonly Block[];
}

export interface ToolFailure {
  readonly failed: string;
  /** The rule of the policy that refused, for the audit record; absent when nothing was refused. */
  readonly rule?: string;
}

/** What must be allowed beyond the tool's name, or there is nothing for it to work on: such a tool is not listed. */
export type ToolNeed =
  | "readable-files"
  | "writable-files"
  | "network"
  /** A search service, which the policy names apart from its hosts. */
  | "search-service"
  | "databases"
  | "fillable-databases"
  | "commands";

/** What arguments and answers are: JSON objects. */
export type ToolSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

export interface BuiltinTool<Args> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** One word for what it is about, for `search_tools` and `list_categories`; `other` when absent. */
  readonly category?: string;
  /** Other words people look for it by. */
  readonly aliases?: readonly string[];
  /** JSON Schema 2020-12 of the arguments. */
  readonly input: ToolSchema;
  /** JSON Schema 2020-12 of `structured`; with it every answer that is no failure must have it. */
  readonly output?: ToolSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  readonly needs?: readonly ToolNeed[];
  /** It waits for somebody else, who does not say how far that is: its caller hears every few seconds that it goes on. */
  readonly waits?: true;
  /** Expects arguments that fit `input`. What it throws is unexpected and must not reach the peer. */
  run(args: Args, powers: ToolPowers): ToolAnswer | Promise<ToolAnswer>;
}

// Makes a tool of the library out of a built-in tool and the powers it is given.

/** Names, in the `_meta` of a failed result, the rule that refused what the tool tried; the guard puts it on record. */
const RULE_META = "mcp-secure-local/rule";

/** Whoever waits longer wants to know that it goes on; clients that end calls by their silence do so after minutes. */
const GOING_ON_MS = 2_000;

/** Powers that outlive a call; what depends on the call is made for it. */
export interface SharedPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  readonly files: (ctx: Context) => Files;
  /** Asked before something is done for a call by a program that serves it. */
  readonly acts: (act: PermissionRequest & { readonly ctx: Context }) => Promise<Permission>;
  readonly databases: Databases;
  /** Told what calls do with their powers; without it nobody is. */
  readonly watch?: PowerWatch;
}

/** Whatever a tool says of itself: what it reads and sends is known by the powers it uses, when it does. */
export interface PowerWatch {
  /** A call has read something private. */
  reads(ctx: Context): void;
  /** Asked before a call sends anything out; why it may not, if it may not. */
  sends(
    ctx: Context,
    hop?: { readonly from: string; readonly to: string },
  ): Promise<{ readonly text: string; readonly rule: string } | undefined>;
  /** See `ToolPowers.sendingOver`. */
  sendingOver(ctx: Context): AbortSignal | undefined;
}

type Definition = ToolDefinition<JsonSchema, JsonSchema | undefined>;

/** Register it with `server.tool(tool.name, toolDefinition(tool, powers))`. */
export function toolDefinition<Args>(tool: BuiltinTool<Args>, powers: SharedPowers): Definition {
  const { title, description, input, output, annotations } = tool;
  return {
    title,
    description,
    input,
    ...(output === undefined ? {} : { output }),
    annotations,
    run(args, ctx) {
      const given = new CallPowers(ctx, powers);
      const answer = tool.run(args as Args, given);
      if (!(answer instanceof Promise)) return toReturn(answer);
      return (tool.waits ? given.goingOn(tool.name, answer) : answer).then(toReturn);
    },
  };
}

/**
 * What one call is handed. Some powers cost something to make, and most tools use few of them; on a prototype not even the
 * way to make them costs anything.
 */
class CallPowers implements ToolPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  readonly #ctx: Context;
  readonly #files: SharedPowers["files"];
  readonly #databases: Databases;
  readonly #acts: SharedPowers["acts"];
  readonly #watch: PowerWatch | undefined;
  /** The tool has said itself how far it is. */
  #told = false;

  constructor(ctx: Context, { fetch, clock, files, databases, acts, watch }: SharedPowers) {
    this.fetch = watch === undefined ? fetch : judged(fetch, (hop) => watch.sends(ctx, hop));
    this.clock = clock;
    this.#databases = databases;
    this.#watch = watch;
    this.#ctx = ctx;
    this.#files = files;
    this.#acts = acts;
  }

  get files(): Files {
    return this.#noted(this.#files(this.#ctx), FILE_METHODS_THAT_TELL_NOTHING);
  }

  get databases(): Databases {
    return this.#noted(this.#databases, DATABASE_METHODS_THAT_TELL_NOTHING);
  }

  get sendingOver(): AbortSignal | undefined {
    return this.#watch?.sendingOver(this.#ctx);
  }

  #noted<Power extends object>(power: Power, silent: ReadonlySet<string>): Power {
    const [watch, ctx] = [this.#watch, this.#ctx];
    if (watch === undefined) return power;
    return noted(power, silent, () => watch.reads(ctx));
  }

  get signal(): AbortSignal {
    return this.#ctx.signal;
  }

  get acts(): ToolPowers["acts"] {
    const ctx = this.#ctx;
    return (act) => this.#acts({ ...act, ctx });
  }

  get progress(): ToolPowers["progress"] {
    const ctx = this.#ctx;
    return (done, total, message) => {
      this.#told = true;
      return ctx.progress(done, total, message);
    };
  }

  /** Tells the caller that it goes on, until the answer is there or the tool says more itself. */
  async goingOn(name: string, answer: Promise<ToolAnswer>): Promise<ToolAnswer> {
    let seconds = 0;
    const timer = setInterval(() => {
      seconds += GOING_ON_MS / 1_000;
      if (this.#told) clearInterval(timer);
      else void this.#ctx.progress(seconds, undefined, `${name} has taken ${seconds} seconds`);
    }, GOING_ON_MS);
    try {
      return await answer;
    } finally {
      clearInterval(timer);
    }
  }
}

/** All others count as reading, those to come too. */
const FILE_METHODS_THAT_TELL_NOTHING: ReadonlySet<string> = new Set(["roots", "judge", "write", "remove"]);
const DATABASE_METHODS_THAT_TELL_NOTHING: ReadonlySet<string> = new Set(["list", "importTable"]);

/** The same power; `note` is called when one of its methods has given something. */
function noted<Power extends object>(power: Power, silent: ReadonlySet<string>, note: () => void): Power {
  return new Proxy(power, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== "function") return member;
      const method = member.bind(target) as (...args: unknown[]) => unknown;
      if (silent.has(String(key))) return method;
      return (...args: unknown[]): unknown => {
        const got = method(...args);
        if (got instanceof Promise) return got.then((value: unknown) => (note(), value));
        note();
        return got;
      };
    },
  });
}

/** Each request is judged, those that redirects ask for as well. */
function judged(
  fetch: PolicyFetch,
  sends: (hop?: { from: string; to: string }) => ReturnType<PowerWatch["sends"]>,
): PolicyFetch {
  const require = async (hop?: { from: string; to: string }): Promise<void> => {
    const refused = await sends(hop);
    if (refused !== undefined) throw new FetchError("denied", refused.text, refused.rule);
  };
  return async (url, request) => {
    await require();
    return fetch(url, { ...request, onward: (to) => require({ from: url, to }) });
  };
}

function toReturn(answer: ToolAnswer): ToolResult | string {
  if (typeof answer === "string") return answer;
  if ("failed" in answer) return failure(answer);
  const { structured, text, blocks = [] } = answer;
  const words = text ?? (blocks.length === 0 ? JSON.stringify(structured) : undefined);
  return result({ content: words === undefined ? blocks : [words, ...blocks], structuredContent: structured });
}

function failure({ failed, rule }: ToolFailure): ToolResult {
  return result({ content: [failed], isError: true, ...(rule === undefined ? {} : { _meta: { [RULE_META]: rule } }) });
}

// Keeps a long search from holding everything else up, and tells the caller how far it is.

/** Milliseconds of work before others get a turn. */
const TURN_MS = 25;
/** Milliseconds between reports. */
const REPORT_MS = 500;

export class Pace {
  readonly #powers: Pick<ToolPowers, "clock" | "progress" | "signal">;
  readonly #began: number;
  #turn: number;
  #reported: number;

  constructor(powers: Pick<ToolPowers, "clock" | "progress" | "signal">) {
    this.#powers = powers;
    this.#began = powers.clock.elapsed();
    this.#turn = this.#began;
    this.#reported = this.#began;
  }

  get elapsedMs(): number {
    return this.#powers.clock.elapsed() - this.#began;
  }

  /** Call often. Throws the signal's reason when the call is cancelled. */
  async step(done: number, message: () => string): Promise<void> {
    const now = this.#powers.clock.elapsed();
    if (now - this.#turn >= TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#powers.signal.throwIfAborted();
      this.#turn = this.#powers.clock.elapsed();
    }
    if (now - this.#reported < REPORT_MS) return;
    this.#reported = now;
    await this.#powers.progress(done, undefined, message());
  }
}

// Where the two searches look: one folder or all that are allowed, without what fills folders and is never meant.

/** Copies of other people's work and git's own records, unless the search begins inside. */
const PASSED_OVER: ReadonlySet<string> = new Set([".git", "node_modules", ".hg", ".svn", "__pycache__", ".venv"]);

export const PASSED_OVER_WORDS: string = [...PASSED_OVER].join(", ");

/** An entry, and its path relative to the folder the search began in. */
interface Visited {
  readonly entry: FolderEntry;
  readonly relative: string;
}

export async function* visit(files: Files, path: string | undefined, signal: AbortSignal): AsyncGenerator<Visited> {
  const folders = path === undefined ? await files.roots() : [(await files.info(path)).path];
  for (const folder of folders) {
    const start = folder.length + (folder.endsWith("/") ? 0 : 1);
    const enter = ({ name }: FolderEntry): boolean => !PASSED_OVER.has(name);
    for await (const entry of files.walk(folder, { enter, signal })) {
      yield { entry, relative: entry.path.slice(start) };
    }
  }
}
