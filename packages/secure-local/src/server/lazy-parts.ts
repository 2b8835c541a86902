// The parts that most sessions never need, loaded with their first use, because all want to start fast: databases,
// files, requests, commands, plugins.
import type * as Drift from "@secure-local/inspection/drift";
import type * as Gateway from "@secure-local/mcp/gateway";
import type { Context } from "@secure-local/mcp/server";
import type { AuditSink } from "../audit/audit-event.js";
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
import type * as Opening from "./open-server.js";
import type { BuiltInNames } from "./plugin-names.js";
import type { PluginRegistrations } from "./plugin-registrations.js";
import type { LockChange, PluginReview } from "./plugin-reviews.js";
import type * as Launch from "./server-launch.js";
import type * as Links from "./server-links.js";
import type * as Questions from "./server-questions.js";
import type * as Reach from "./server-reach.js";
import type * as Locks from "./plugin-lock.js";
import type * as Reviews from "./server-reviews.js";
import type * as Words from "./server-words.js";

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

// The servers of a policy: what mounting them takes is loaded with the first policy that names one, and what speaking with them takes
// before the first of them is opened.

export type Mounting = typeof Reviews &
  Pick<typeof Gateway, "Mounts" | "mountedName" | "unwrapUri" | "wrapUri"> &
  Pick<typeof Launch, "isAsApproved" | "launchDigest" | "launchReason"> &
  Pick<typeof Links, "alikeOf" | "decideUri" | "linkRules" | "safeIcons"> &
  Pick<typeof Reach, "sameGrant" | "serverReach"> &
  Pick<typeof Locks, "serverLockFile"> &
  Pick<typeof Drift, "canonicalJson">;

export async function loadMounting(): Promise<Mounting> {
  const [reviews, gateway, launch, links, reach, locks, drift] = await Promise.all([
    import("./server-reviews.js"),
    import("@secure-local/mcp/gateway"),
    import("./server-launch.js"),
    import("./server-links.js"),
    import("./server-reach.js"),
    import("./plugin-lock.js"),
    import("@secure-local/inspection/drift"),
  ]);
  const { Mounts, mountedName, unwrapUri, wrapUri } = gateway;
  const { isAsApproved, launchDigest, launchReason } = launch;
  const { alikeOf, decideUri, linkRules, safeIcons } = links;
  const { sameGrant, serverReach } = reach;
  return {
    ...reviews,
    ...{ Mounts, mountedName, unwrapUri, wrapUri, isAsApproved, launchDigest, launchReason },
    ...{ alikeOf, decideUri, linkRules, safeIcons, sameGrant, serverReach, serverLockFile: locks.serverLockFile },
    canonicalJson: drift.canonicalJson,
  };
}

export type Relaying = Pick<typeof Opening, "requireSecrets"> &
  Pick<typeof Questions, "askable" | "undeclared"> &
  Pick<typeof Words, "serverWords">;

export async function loadRelaying(): Promise<Relaying> {
  const [{ requireSecrets }, { serverWords }, { askable, undeclared }] = await Promise.all([
    import("./open-server.js"),
    import("./server-words.js"),
    import("./server-questions.js"),
  ]);
  return { requireSecrets, serverWords, askable, undeclared };
}

export type AllWords = Required<Gateway.RelayedWords>;

/** Words that are made once what they take is loaded. Before that nothing is said by a server, and what would be said is an error. */
export function lazyWords(words: () => AllWords | undefined, failed: AllWords["failed"]): AllWords {
  const made = (): AllWords => {
    const all = words();
    if (all === undefined) throw new Error("a server says something and was never opened");
    return all;
  };
  return {
    question: (question, pass) => made().question(question, pass),
    answer: (answer, item) => made().answer(answer, item),
    error: (error, call, asked) => made().error(error, call, asked),
    logger: (logger) => made().logger(logger),
    progress: (message) => made().progress(message),
    meta: (meta) => made().meta(meta),
    // Told of what ended before anything was opened as well.
    failed: (failure) => (words()?.failed ?? failed)(failure),
  };
}
