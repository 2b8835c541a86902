// The plugins of the policy, loaded with the first policy that names some: most name none, and all want to start fast.
import type { AuditSink } from "../audit/audit-event.js";
import { replaceKnown } from "../audit/secret-shapes.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { Policy } from "../policy/policy.js";
import type { PluginHealth } from "../plugins/plugin.js";
import type { StartedCommand } from "../plugins/plugin-powers.js";
import type { PluginSet, PluginSetOptions } from "../plugins/plugin-set.js";
import type { SharedPowers } from "../tools/tool.js";
import type { BuiltInNames } from "./plugin-names.js";
import type { PluginRegistrations } from "./plugin-registrations.js";
import { learnSecret } from "./remember-secrets.js";
import type { LockChange } from "./plugin-lock-store.js";
import type { PluginReview } from "./plugin-reviews.js";
import { watchFile } from "./watch-file.js";

const NOTHING: PluginRegistrations = {
  withheld: new Map(),
  owners: new Map(),
  tools: [],
  prompts: new Map(),
  resources: new Map(),
};

export interface LazyPluginsOptions extends Omit<PluginSetOptions, "learn" | "runs" | "unapproved"> {
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

  /** Starts what this policy names, and stops the rest. */
  apply(policy: Policy): void {
    this.#wanted = policy;
    if (this.#set === undefined && policy.plugins.load.size === 0) return;
    this.#set ??= this.#load();
    void this.#set.then((set) => {
      this.#lockTouched();
      set.apply(this.#wanted ?? policy);
    });
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

  /** Rejects where nothing can be recorded: then nothing may be run. */
  #recorded({ by, plugin, command, args, rule: { text, line } }: StartedCommand): Promise<void> {
    const decision = { allowed: true, rule: text, line };
    const about = { tool: plugin, arguments: { command, args }, decision };
    return this.#options.audit.record({ kind: "plugin.runs", ...by, ...about });
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
      runs: (started) => this.#recorded(started),
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
