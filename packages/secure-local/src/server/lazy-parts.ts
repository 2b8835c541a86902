// The parts that most sessions never need, loaded with their first use, because all want to start fast: databases,
// files, requests, commands, plugins.
import { type Answer, type Call, type Context, type Middleware, type Next, RpcError } from "@secure-local/mcp/server";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { replaceKnown } from "../audit/secret-shapes.js";
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyDatabases } from "../capabilities/databases/policy-databases.js";
import type { PolicyFetch } from "../capabilities/fetch.js";
import type { Reader } from "../capabilities/files/file-rules.js";
import type { FileSystem, ReadLog } from "../capabilities/files/file-system.js";
import type { Files } from "../capabilities/files/files.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import type { Run, TellCommandRefusals } from "../capabilities/policy-run.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { RecordedAction } from "../plugins/plugin-powers.js";
import type { PluginSet, PluginSetOptions } from "../plugins/plugin-set.js";
import type { PluginHealth } from "../plugins/plugin.js";
import type { Policy } from "../policy/policy.js";
import type { SharedPowers } from "../tools/tool.js";
import { learnSecret, watchFile } from "./follow-policy-file.js";
import type { BuiltInNames } from "./plugin-names.js";
import type { PluginRegistrations } from "./plugin-registrations.js";
import type { LockChange, PluginReview } from "./plugin-reviews.js";

/** `policy` is asked at every operation; `own` are the program's own files, which no database is. */
export function lazyDatabases(policy: () => Policy, own: readonly string[]): Databases {
  let loading: Promise<PolicyDatabases> | undefined;
  const load = (): Promise<PolicyDatabases> => (loading ??= startDatabases(policy, own));
  return {
    list: () =>
      [...policy().databases.values()].map(({ name, store, readOnly }) => ({ name, kind: store.kind, readOnly })),
    query: async (options) => (await load()).query(options),
    schema: async (database, signal) => (await load()).schema(database, signal),
    watchSchema(database, table, changed) {
      let stop: (() => void) | undefined;
      let stopped = false;
      void load().then((databases) => {
        if (!stopped) stop = databases.watchSchema(database, table, changed);
      });
      return () => {
        stopped = true;
        stop?.();
      };
    },
    importTable: async (options) => (await load()).importTable(options),
  };
}

async function startDatabases(policy: () => Policy, own: readonly string[]): Promise<PolicyDatabases> {
  const module = await import("../capabilities/databases/policy-databases.js");
  return new module.PolicyDatabases(policy, { own });
}

// Puts off what a start does beside serving until the client has its first answer: a record and its sync take 3 ms.

/** Stands before the audit log: whatever is recorded, the start is recorded before it. */
export class DeferredStart implements AuditSink {
  readonly #audit: AuditSink;
  #start: (() => void) | undefined;

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  /** Calls `start` once what has arrived already is answered, or right before the next record, whichever is sooner. */
  after(start: () => void): void {
    this.#start = start;
    // The first turn of the event loop reads what the client has sent and the end of it writes the answers.
    setImmediate(() => setImmediate(() => this.#begin()));
  }

  record(event: AuditEvent): Promise<void> {
    this.#begin();
    return this.#audit.record(event);
  }

  close(): Promise<void> {
    return this.#audit.close();
  }

  get failure(): Error | undefined {
    return this.#audit.failure;
  }

  #begin(): void {
    const start = this.#start;
    this.#start = undefined;
    start?.();
  }
}

// A tool's `fetch`, loaded with the first request: most sessions never make one, and all of them want to start fast.

/** `policy` is asked at every request and redirect. */
export function lazyFetch(policy: () => Policy): PolicyFetch {
  let loading: Promise<PolicyFetch> | undefined;
  return async (url, request) => {
    loading ??= load(policy);
    return (await loading)(url, request);
  };
}

async function load(policy: () => Policy): Promise<PolicyFetch> {
  const { createFetch } = await import("../capabilities/fetch.js");
  return createFetch(policyEgress(policy));
}

// The file system under the policy, loaded with the first request: most sessions never open a file, and all want to start fast.

interface LazyFileSystem {
  /** The files of one call, narrowed by its client's roots where it declares any; without a call, by the policy alone. */
  readonly files: (ctx?: Context, reader?: Reader) => Files;
  /** As `FileSystem.watch`. */
  watch(path: string, changed: () => void): () => void;
}

/** `policy` is asked at every operation; `own` are the program's own files, which nobody reaches. */
export function lazyFileSystem(policy: () => Policy, own: readonly string[]): LazyFileSystem {
  let loading: Promise<FileSystem> | undefined;
  const load = (): Promise<FileSystem> => (loading ??= startFileSystem(policy, own));
  return {
    files: (ctx, reader) => lazyFiles(load, clientRoots(ctx), reader),
    watch(path, changed) {
      let stop: (() => void) | undefined;
      let stopped = false;
      void load().then((system) => {
        if (!stopped) stop = system.watch(path, changed);
      });
      return () => {
        stopped = true;
        stop?.();
      };
    },
  };
}

/** The URIs of a client's roots; undefined when it has never heard of roots. */
function clientRoots(ctx: Context | undefined): (() => Promise<readonly string[]>) | undefined {
  if (ctx?.clientCapabilities.roots === undefined) return undefined;
  return async () => (await ctx.roots()).map(({ uri }) => uri);
}

function lazyFiles(
  load: () => Promise<FileSystem>,
  roots: (() => Promise<readonly string[]>) | undefined,
  reader: Reader,
): Files {
  let made: Promise<Files> | undefined;
  const files = (): Promise<Files> => (made ??= load().then((system) => system.files(roots, reader)));
  return {
    roots: async () => (await files()).roots(),
    judge: async (path, op) => (await files()).judge(path, op),
    info: async (path) => (await files()).info(path),
    read: async (path, options) => (await files()).read(path, options),
    open: async (path) => (await files()).open(path),
    write: async (path, bytes, options) => (await files()).write(path, bytes, options),
    edit: async (path, change, options) => (await files()).edit(path, change, options),
    remove: async (path) => (await files()).remove(path),
    list: async (path, options) => (await files()).list(path, options),
    async *walk(path, options) {
      yield* (await files()).walk(path, options);
    },
  };
}

async function startFileSystem(policy: () => Policy, own: readonly string[]): Promise<FileSystem> {
  const { FileSystem } = await import("../capabilities/files/file-system.js");
  return new FileSystem(policy, { own });
}

/** `policy` is asked at every read; `own` are the program's own files, which no log is. */
export function lazyLog(policy: () => Policy, own: readonly string[]): ReadLog {
  let loading: Promise<ReadLog> | undefined;
  return async (maxBytes) => {
    loading ??= import("../capabilities/files/file-system.js").then(({ logTail }) => logTail(policy, own));
    return (await loading)(maxBytes);
  };
}

// `run`, loaded with the first command: most sessions never run one, and all of them want to start fast.

/** `policy` is asked at every run; `own` are the program's own files, which no command sees. */
export function lazyRun(policy: () => Policy, own: readonly string[], refused: TellCommandRefusals): Run {
  let loading: Promise<Run> | undefined;
  return async (name, args, options) => {
    loading ??= import("../capabilities/policy-run.js").then(({ createRun }) => createRun(policy, own, refused));
    return (await loading)(name, args, options);
  };
}

// The plugins of the policy, loaded with the first policy that names some: most name none, and all want to start fast.

const NOTHING: PluginRegistrations = {
  withheld: new Map(),
  owners: new Map(),
  tools: [],
  prompts: new Map(),
  resources: new Map(),
};

export interface LazyPluginsOptions extends Omit<PluginSetOptions, "learn" | "records" | "unapproved"> {
  readonly audit: AuditSink;
  /** Whether what is not as it was approved is started too, to be looked at. Default: it is not. */
  readonly startUnapproved?: boolean | undefined;
  /** `about`: the line tells of a plugin, and the operator may know that in another way. */
  readonly say: (line: string, about?: "plugin") => void;
  /** Leave for what a plugin asks for in the course of a call. */
  readonly acts: SharedPowers["acts"];
  /** Names that no plugin's may be or look like. */
  readonly builtIn: BuiltInNames;
  /** Told what came of the lock's file when that is not as before. */
  readonly locked: (news: LockChange) => void;
}

export class LazyPlugins {
  readonly #options: LazyPluginsOptions;
  #set: Promise<PluginSet> | undefined;
  #wanted: Policy | undefined;
  #offer: () => PluginRegistrations = () => NOTHING;
  #health: () => readonly PluginHealth[] = () => [];
  #contentOf: (name: string) => string | undefined = () => undefined;
  #reviews: () => readonly PluginReview[] = () => [];
  #readLock: () => LockChange | undefined = () => undefined;
  #reconsider: () => void = () => undefined;
  #unwatch: () => void = () => undefined;

  constructor(options: LazyPluginsOptions) {
    this.#options = options;
  }

  /** What they offer now; `changed` is called when that is something else. */
  offer(): PluginRegistrations {
    return this.#offer();
  }

  /** How each of them is. */
  health(): readonly PluginHealth[] {
    return this.#health();
  }

  /** SHA-256 of the content of one that is started now. */
  contentOf(name: string): string | undefined {
    return this.#contentOf(name);
  }

  /** What was found in what each of them offers. */
  reviews(): readonly PluginReview[] {
    return this.#reviews();
  }

  /** Starts what this policy names, and stops the rest. Resolves when they are starting. */
  async apply(policy: Policy): Promise<void> {
    this.#wanted = policy;
    if (this.#set === undefined && policy.plugins.load.size === 0) return;
    this.#set ??= this.#load();
    const set = await this.#set;
    this.#lockTouched();
    set.apply(this.#wanted ?? policy);
  }

  /** Resolves when every process of theirs is gone. */
  async close(): Promise<void> {
    const set = await this.#set;
    this.#unwatch();
    await set?.close();
  }

  /** Whether another lock is in force now. */
  #relock(): boolean {
    const news = this.#readLock();
    if (news !== undefined) this.#options.locked(news);
    return news?.kind === "lock.loaded";
  }

  #lockTouched(): void {
    if (!this.#relock()) return;
    this.#reconsider();
    this.#options.changed();
  }

  /** Rejects where nothing can be recorded: then nothing may be done. */
  #recorded({ kind, by, plugin, rule, arguments: args }: RecordedAction): Promise<void> {
    const decision = rule && { allowed: true, rule: rule.text, line: rule.line };
    return this.#options.audit.record({ kind, ...by, tool: plugin, arguments: args, decision });
  }

  async #load(): Promise<PluginSet> {
    const { PluginSet } = await import("../plugins/plugin-set.js");
    const { pluginRegistrations } = await import("./plugin-registrations.js");
    const { PluginReviews } = await import("./plugin-reviews.js");
    const { lockFileOf } = await import("./plugin-lock.js");
    const kept = new PluginReviews(this.#options.builtIn);
    const set = new PluginSet({
      ...this.#options,
      // Some file systems do not tell when a file changes.
      changed: () => {
        if (this.#relock()) this.#reconsider();
        this.#options.changed();
      },
      say: (line) => this.#options.say(cleanLine(replaceKnown(line)), "plugin"),
      unapproved: (name, started) =>
        this.#options.startUnapproved === true || this.#wanted === undefined
          ? undefined
          : kept.unapproved(this.#wanted, name, started),
      learn: learnSecret,
      records: (action) => this.#recorded(action),
    });
    this.#contentOf = (name) => set.plugins().find((each) => each.name === name)?.started?.kept.hash;
    this.#reviews = () => (this.#wanted === undefined ? [] : kept.of(this.#wanted, set.plugins()));
    const standing = (plugin: string): ReadonlyMap<string, string> | undefined => {
      if (this.#wanted !== undefined && kept.isTouched(this.#wanted)) this.#lockTouched();
      return this.#reviews().find((review) => review.plugin === plugin)?.withheld;
    };
    this.#reconsider = () => set.reconsider();
    this.#offer = () =>
      pluginRegistrations(set.plugins(), this.#reviews(), {
        standing,
        acts: this.#options.acts,
        say: this.#options.say,
      });
    this.#readLock = () => (this.#wanted === undefined ? undefined : kept.relock(this.#wanted));
    const { file } = this.#wanted ?? {};
    if (file !== undefined)
      this.#unwatch = watchFile(lockFileOf(file), { changed: () => this.#lockTouched(), say: this.#options.say });
    // What a plugin complains of may hold anything.
    this.#health = () =>
      set.health().map((each) => ({ ...each, note: replaceKnown(each.note), output: replaceKnown(each.output) }));
    return set;
  }
}

// Makes whoever asks for what plugins may offer wait while they start: many clients list once, at once, and never again.

/**
 * Longest wait, from the start on: a plugin starts in a few tenths of a second, on a busy machine in two. One that takes longer is
 * told of by `list_changed`, and a person sees a client that starts in the meantime.
 */
const STARTING_MS = 5_000;

/** What shows everything there is, plugins' things too. */
const LISTS: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "completion/complete",
]);

/** What names one thing, by the member that names it and the kind of thing. */
const NAMED: ReadonlyMap<string, readonly [member: string, kind: Kind]> = new Map([
  ["tools/call", ["name", "tool"]],
  ["prompts/get", ["name", "prompt"]],
  ["resources/read", ["uri", "resource"]],
  ["resources/subscribe", ["uri", "resource"]],
]);

/** The tools that look through all others. */
const LOOKING: ReadonlySet<string> = new Set(["search_tools", "list_categories"]);

type Kind = "tool" | "prompt" | "resource";

interface PluginGateOptions {
  /** What is there without plugins waits for nothing. */
  knows(kind: Kind, name: string): boolean;
  /** Why something is not there that a plugin of the policy has, or would have; undefined where that is nobody's. */
  missing(kind: Kind, name: string): string | undefined;
}

type Unknown = readonly [kind: Kind, name: string];

/** Closed while plugins start. */
export class PluginGate {
  /** Called before each request. */
  asked: (() => void) | undefined;
  readonly #options: PluginGateOptions;
  #opened: Promise<void> | undefined;
  #open: () => void = () => undefined;

  constructor(options: PluginGateOptions) {
    this.#options = options;
  }

  readonly middleware: Middleware = (call, next) => {
    this.asked?.();
    const opened = this.#opened;
    const unknown = this.#unknown(call);
    if (unknown === undefined && (opened === undefined || !this.#concerns(call))) return next();
    return this.#late(opened, unknown, next);
  };

  async #late(opened: Promise<void> | undefined, unknown: Unknown | undefined, next: Next): Promise<Answer> {
    await opened;
    try {
      return await next();
    } catch (error) {
      // A name that looks like it is no help where the thing itself is withheld.
      const why = unknown !== undefined && error instanceof RpcError && this.#options.missing(...unknown);
      throw typeof why === "string" ? new RpcError((error as RpcError).code, why, { path: "/name" }) : error;
    }
  }

  /** Plugins are starting, or are about to. */
  close(): void {
    if (this.#opened !== undefined) return;
    this.#opened = new Promise((resolve) => {
      const late = setTimeout(() => this.open(), STARTING_MS);
      // Nobody's process lives for this alone.
      late.unref();
      this.#open = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  /** Each of them offers what it has, or is known not to. */
  open(): void {
    this.#opened = undefined;
    this.#open();
  }

  #concerns({ method, params }: Pick<Call, "method" | "params">): boolean {
    return LISTS.has(method) || LOOKING.has(String((params as { readonly name?: unknown }).name));
  }

  /** What the call names that is not there without plugins. */
  #unknown({ method, params }: Pick<Call, "method" | "params">): Unknown | undefined {
    const named = NAMED.get(method);
    if (named === undefined) return undefined;
    const [member, kind] = named;
    const name = (params as Readonly<Record<string, unknown>>)[member];
    return typeof name === "string" && !this.#options.knows(kind, name) ? [kind, name] : undefined;
  }
}

/** Why a tool or prompt is not there whose plugin does not run, and what to run; undefined where it is no such plugin's. */
export function missingOfPlugin(kind: Kind, name: string, health: readonly PluginHealth[]): string | undefined {
  const owner = health.find((each) => name.startsWith(`${each.name}_`) && each.state !== "ready");
  if (owner === undefined) return undefined;
  const what = `The ${kind} ${name} is not there: its plugin ${owner.name} is ${owner.state}`;
  return `${what}. Its owner can see why: mcp-secure-local plugins list`;
}
