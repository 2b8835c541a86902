// One plugin under supervision: started when it may be, asked, restarted with growing waits, stopped for good.
import { homedir } from "node:os";
import { isAbsolute, normalize } from "node:path";
import { type LearnSecret, SecretBroker, SecretError } from "../capabilities/secret-broker.js";
import { ownFiles, writtenPlaces } from "../capabilities/files/own-files.js";
import { grantedPolicy, secretFiles } from "../policy/granted-policy.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { startWalled } from "../sandbox/start-walled.js";
import { type Wall, WallError } from "../sandbox/wall.js";
import {
  type PluginPlace,
  type PluginSource,
  preparePlace,
  refuseMissingHandlers,
  refuseUnknownMembers,
} from "./find-plugin.js";
import type { CachedPlugin, PluginCache } from "./plugin-cache.js";
import { type Placeholders, pluginCommand } from "./plugin-command.js";
import { type PluginDescription, PluginError, readDescription } from "./plugin-description.js";
import {
  type CallOptions,
  exitText,
  lastLines,
  type PluginCall,
  PluginProcess,
  reportOf,
  type StrayLines,
} from "./plugin-process.js";
import { PluginPowers, type RecordedAction } from "./plugin-powers.js";
import { decide } from "../policy/decide.js";

/** A process has this long to say what it is. */
const START_MS = 10_000;

/** A program that cannot be loaded has ended by then. */
const TRY_MS = 600;

type PluginState = "starting" | "ready" | "unresponsive" | "waiting" | "broken" | "refused" | "stopped";

const SILENT = "it has something to answer and gives no sign of life";

/** How a plugin is, for people. */
export interface PluginHealth {
  readonly name: string;
  readonly state: PluginState;
  readonly version: string | undefined;
  readonly tools: number;
  readonly starts: number;
  /** Why it is not ready, or what else there is to know. */
  readonly note: string;
  /** SHA-256 of the content that is started; see `PluginContent`. */
  readonly content: string | undefined;
  /** What it wrote last that is no answer; of the process before where there is none. */
  readonly output: string;
  /** Whether its process has said anything yet; one that has not may still turn out to be broken. */
  readonly heard: boolean;
  readonly wall: Wall["name"] | undefined;
}

export interface PluginOptions {
  readonly policy: Policy;
  readonly grant: PluginGrant;
  /** The program's own files, which no plugin sees. */
  readonly own: readonly string[];
  /** Where the copy of its content is kept that is started. */
  readonly copies: PluginCache;
  /** Why a process of this content may not be started: it is not what was approved. Default: it may. */
  readonly unapproved?: ((name: string, started: StartedContent) => string | undefined) | undefined;
  /** Whether one that starts for each call is started once at the start, to see whether it can be. Default: it is not. */
  readonly tryPlugins?: boolean | undefined;
  /** Whether what it prints in a call that does not fail is told as well. Default: it is not. */
  readonly tellPrinted?: boolean | undefined;
  /** What it offers, or how it is, has changed. */
  readonly changed: () => void;
  /** Told, one line at a time, what only the operator should know. */
  readonly say?: ((line: string) => void) | undefined;
  /** A connection, or a command, of it was refused. */
  readonly refused?: (plugin: string, what: string, rule: string) => void;
  /** Where plugins keep what they may keep; absent: nowhere. */
  readonly storage?: string | undefined;
  /** Keeps values of its secrets out of every text. */
  readonly learn: LearnSecret;
  /** Has a command recorded before it is run. */
  readonly records: (action: RecordedAction) => Promise<void>;
}

/** What of a plugin is started. */
export interface StartedContent {
  readonly source: PluginSource;
  readonly kept: Pick<CachedPlugin, "hash" | "source">;
}

export class Plugin {
  readonly name: string;
  readonly #options: PluginOptions;
  readonly #granted: Policy;
  /** Files no part of it reaches; those of all secrets among them, since it is granted but some. */
  readonly #own: readonly string[];
  readonly #plan = new RestartPlan();
  readonly #secrets: SecretBroker;
  #placeholders: Placeholders = { secrets: {}, env: {} };
  readonly #powers: PluginPowers;
  #state: PluginState = "starting";
  #note = "";
  /** What is not as it was with the files its content was taken from. */
  #sourceNote = "";
  #starts = 0;
  /** Calls it has to answer. */
  #calls = 0;
  /** What was told last, so that a plugin that falls again and again is told of once. */
  #told = "";
  #output = "";
  #place: PluginPlace | undefined;
  #process: PluginProcess | undefined;
  /** How much of what each wrote to stderr was told. */
  readonly #printed = new WeakMap<PluginProcess, number>();
  /** Of the calls under way of one that is started for each call. */
  readonly #ofCalls = new Set<PluginProcess>();
  #description: PluginDescription | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PluginOptions) {
    this.#options = options;
    this.name = options.grant.name;
    const { policy, grant, own, storage, learn, records } = options;
    const granted = grantedPolicy(policy, grant);
    this.#own = [...own, ...secretFiles(policy.secrets)];
    this.#granted = granted;
    const unusable = (): string | undefined => (this.#calls > 0 ? undefined : "no call of the plugin is under way");
    this.#secrets = new SecretBroker(granted.secrets.values(), { learn, unusable });
    const refused = (what: string, rule: string): void => options.refused?.(this.name, what, rule);
    this.#powers = new PluginPowers({
      granted,
      grant,
      own: this.#own,
      storage,
      secrets: this.#secrets,
      refused,
      records,
    });
  }

  /** What it offers, once it has said so; it stays while the plugin is started again. */
  get description(): PluginDescription | undefined {
    return this.#state === "refused" ? undefined : this.#description;
  }

  /** What is started, once it was found. */
  get started(): StartedContent | undefined {
    return this.#place;
  }

  get health(): PluginHealth {
    const { name, description } = this;
    const tools = description?.tools.length ?? 0;
    const silent = this.#state === "ready" && this.#process?.silent === true;
    const note = this.#note || (silent ? SILENT : this.#sourceNote);
    const output = this.#named(this.#process?.output || this.#output);
    const content = this.#place?.kept.hash;
    const heard = this.#process?.heard ?? true;
    const wall = this.#place?.wall.name;
    const state = silent ? "unresponsive" : this.#state;
    const version = this.#description?.version;
    return { name, state, version, tools, starts: this.#starts, note, content, output, heard, wall };
  }

  /** Finds it, and starts it where it has to run to say what it offers. Never rejects. */
  async start(): Promise<void> {
    try {
      this.#placeholders = { secrets: this.#secrets.placeholders(), env: this.#secrets.variables() };
      this.#place ??= await this.#prepared();
      // Stopped while its place was prepared.
      if (this.#state === "stopped") return await this.stop();
      const { source } = this.#place;
      if (source.kind === "executable") this.#accept(source.description);
      const isPerCall = source.kind === "executable" && !source.persistent;
      if (isPerCall && this.#options.tryPlugins !== true) return;
      const unapproved = this.#options.unapproved?.(this.name, this.#place);
      if (isPerCall && unapproved === undefined) return await this.#tryOut(this.#place);
      if (unapproved === undefined) this.#launch(this.#place);
      else this.#refuse(unapproved);
    } catch (error) {
      if (this.#state === "stopped") return;
      const known = error instanceof PluginError || error instanceof WallError || error instanceof SecretError;
      this.#refuse(known ? error.message : String(error));
    }
  }

  /** Resolves with the line it answered. @throws PluginError */
  async call(asked: PluginCall, options: CallOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#calls += 1;
    try {
      return await this.#called(asked, options);
    } finally {
      this.#calls -= 1;
    }
  }

  async #called(asked: PluginCall, options: CallOptions): Promise<Readonly<Record<string, unknown>>> {
    const place = this.#place;
    if (place?.source.kind === "executable" && !place.source.persistent && this.#state === "ready") {
      const process = this.#spawn(place, (ended) => this.#fell(ended, ended.unanswered ? ended.end : undefined));
      this.#ofCalls.add(process);
      try {
        return await this.#answerOf(process, asked, options);
      } finally {
        this.#ofCalls.delete(process);
        process.kill();
      }
    }
    if (this.#process !== undefined && this.#state === "ready")
      return await this.#answerOf(this.#process, asked, options);
    throw new PluginError(`The plugin ${this.name} is ${this.#state}${this.#note === "" ? "" : `: ${this.#note}`}`);
  }

  /** Of a call that failed it is told what was printed meanwhile, and of each other where the operator wants that. */
  async #answerOf(process: PluginProcess, asked: PluginCall, options: CallOptions): ReturnType<Plugin["call"]> {
    const before = process.writtenOnStandardError;
    const answer = await process.call(asked, this.#toldWhenLate(process, asked, options));
    const failed = answer["failed"] === true;
    if (!failed && this.#options.tellPrinted !== true) return answer;
    // It may have come by its own pipe at the same moment as the answer.
    await new Promise((resolve) => setImmediate(resolve));
    if (failed) this.#tellFailure(process, before, answer["error"]);
    else this.#tellPrinted(process, before);
    return answer;
  }

  /** What it printed in the course of the call; of calls that overlap each line once. */
  #tellPrinted(process: PluginProcess, before: number): void {
    const printed = this.#named(process.standardErrorSince(Math.max(before, this.#printed.get(process) ?? 0)));
    this.#printed.set(process, process.writtenOnStandardError);
    for (const line of lastLines(printed)) this.#options.say?.(`plugin ${this.name} | ${line}`);
  }

  /** What it printed in the course of the call, and what it threw, which the host prints last. */
  #tellFailure(process: PluginProcess, before: number, error: unknown): void {
    const thrown = typeof error === "string" ? error : "";
    const printed = process.standardErrorSince(before);
    const [first = ""] = thrown.split("\n", 1);
    const all = printed.includes(first) ? printed : `${printed}\n${thrown}`.trim();
    this.#printed.set(process, process.writtenOnStandardError);
    this.#tell("a call of it failed", ownFrames(all));
  }

  /** Whoever asks why there is no answer hears what kind of thing came instead, and the operator what it was. */
  #toldWhenLate(
    process: PluginProcess,
    { tool, prompt, resource }: PluginCall,
    options: CallOptions,
  ): Parameters<PluginProcess["call"]>[1] {
    const { late, ...rest } = options;
    const what = `a call of it (${tool ?? prompt ?? resource}) was not answered in time`;
    const asks = (stray: () => StrayLines) => (): string => {
      const { count, first } = stray();
      const lines = count === 1 ? "1 line" : `${count} lines`;
      const wrote =
        count === 0
          ? "it wrote no line to stdout meanwhile"
          : `stdout is for answers, and it wrote ${lines} there meanwhile that answer nothing (an answer has the id of its call), the first: ${JSON.stringify(first)}`;
      this.#tell(`${what}; ${wrote}`, process.wroteOnStandardError);
      return count === 0
        ? "its plugin wrote no answer"
        : `its plugin wrote ${lines}, and none of them is an answer to it`;
    };
    return { ...rest, late: late && ((stray) => late(asks(stray))) };
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    clearTimeout(this.#timer);
    const running = this.#process === undefined ? [...this.#ofCalls] : [this.#process, ...this.#ofCalls];
    await Promise.all(running.map((process) => process.stop()));
    await this.#place?.surroundings.close();
    this.#place?.kept.release();
  }

  /**
   * Whether another start would be of the same content. One whose content is pinned goes on with that, and the operator is told what
   * became of its files.
   */
  async isAsItsFiles(): Promise<boolean> {
    const place = this.#place;
    if (place === undefined || this.#state === "refused") return false;
    const { grant, copies } = this.#options;
    try {
      const unread = writtenPlaces(ownFiles(this.#granted, this.#own));
      const now = await copies.take(grant.path, { sha256: grant.sha256, own: this.#own, unread });
      now.release();
      if (now.hash !== place.kept.hash) return false;
      this.#noted(now.note);
    } catch (error) {
      this.#noted(error instanceof PluginError ? error.message : String(error));
    }
    return true;
  }

  /** Tells what became of the files of a plugin that goes on. */
  #noted(note: string): void {
    if (note === this.#sourceNote) return;
    this.#sourceNote = note;
    if (note !== "") this.#options.say?.(`plugin ${this.name}: ${note}`);
    this.#options.changed();
  }

  async #prepared(): Promise<PluginPlace> {
    const { grant, copies, refused } = this.#options;
    const own = this.#own;
    const place = await preparePlace({ grant, granted: this.#granted, own, copies, secrets: this.#secrets, refused });
    this.#noted(place.kept.note);
    return place;
  }

  /** A text of its own with the names people know its files by, where it runs under those of the copy. */
  #named(text: string): string {
    const kept = this.#place?.kept;
    return kept === undefined ? text : text.replaceAll(kept.root, kept.source);
  }

  /** Starts one that is started for each call, to see whether it waits for a call, as it should. */
  async #tryOut(place: PluginPlace): Promise<void> {
    this.#state = "starting";
    const ended = await new Promise<PluginProcess | undefined>((resolve) => {
      const process = this.#spawn(place, resolve);
      setTimeout(() => (resolve(undefined), process.kill()), TRY_MS);
    });
    if (ended?.end === undefined || ended.end === exitText(0, null)) return this.#ready();
    this.#output = ended.output;
    this.#state = "broken";
    this.#note = `${ended.end} when it was started`;
    this.#options.changed();
  }

  #launch(place: PluginPlace): void {
    const late = `its module was not loaded within ${START_MS / 1_000} s (what it awaits at its top level has to end)`;
    this.#timer = setTimeout(() => this.#process?.kill(late), START_MS);
    this.#process = this.#spawn(place, (process) => this.#ended(process));
    if (place.source.kind === "executable") this.#ready();
  }

  #spawn(place: PluginPlace, ended: (process: PluginProcess) => void): PluginProcess {
    const { wall, source } = place;
    this.#starts += 1;
    const child = startWalled(wall, pluginCommand(place, this.#placeholders), ["pipe", "pipe", "pipe"]);
    const ready = (said: unknown, lacks: unknown): void => {
      try {
        const entry = source.kind === "module" ? this.#named(source.entry) : this.name;
        refuseUnknownMembers(entry, said);
        refuseMissingHandlers(entry, lacks);
        this.#accept(readDescription(said));
        this.#ready();
      } catch (error) {
        this.#refuse(error instanceof PluginError ? error.message : String(error));
      }
    };
    const asked = this.#powers.answer.bind(this.#powers);
    const pings = source.kind === "module";
    const heartbeat = (): void => this.#heartbeatChanged(process);
    const process: PluginProcess = new PluginProcess(wall, child, {
      ready: pings ? ready : () => undefined,
      ended,
      asked,
      outside: (what) => this.#askedOutside(what),
      heartbeat,
      pings,
    });
    return process;
  }

  #askedOutside(asked: Readonly<Record<string, unknown>>): void {
    const what = ["run", "fetch", "storage"].find((each) => each in asked) ?? "something unknown";
    this.#options.refused?.(this.name, `${what} outside of a call`, "plugins act within a call");
    this.#tell(`it asked for ${what} outside of a call; that is refused`);
  }

  #heartbeatChanged(process: PluginProcess): void {
    if (process !== this.#process || this.#state !== "ready") return;
    this.#options.say?.(`plugin ${this.name}: ${process.silent ? SILENT : "it gives signs of life again"}`);
    this.#options.changed();
  }

  /** @throws PluginError for another name than the policy's, and for needs that are not granted */
  #accept(description: PluginDescription): void {
    if (description.name !== this.name)
      throw new PluginError(`It calls itself ${description.name}, the policy ${this.name}; make them the same.`);
    const { storageBytes } = this.#options.grant;
    const missing = unmetGrants({ policy: this.#granted, storageBytes }, description);
    if (missing.length > 0) throw new PluginError(`It needs ${missing.join("; and ")}.`);
    this.#description = description;
    if (this.#place?.source.kind === "executable" && !this.#place.source.persistent) this.#ready();
  }

  #ready(): void {
    clearTimeout(this.#timer);
    this.#state = "ready";
    this.#note = "";
    this.#options.changed();
  }

  #refuse(note: string): void {
    clearTimeout(this.#timer);
    this.#state = "refused";
    this.#note = note;
    this.#process?.kill();
    this.#tell(`it is not started: ${note}`);
    this.#options.changed();
  }

  #fell(process: PluginProcess, how: string | undefined): void {
    this.#output = process.output;
    if (how !== undefined) this.#tell(how, process.output);
  }

  #tell(what: string, output = ""): void {
    const lines = reportOf(this.name, what, this.#named(output));
    const text = lines.join("\n");
    if (text === this.#told) return;
    this.#told = text;
    for (const line of lines) this.#options.say?.(line);
  }

  #ended(process: PluginProcess): void {
    clearTimeout(this.#timer);
    if (this.#state === "stopped" || this.#state === "refused") return;
    this.#plan.ended(performance.now() - process.started);
    this.#state = this.#plan.broken ? "broken" : "waiting";
    const how = process.end ?? "it was ended";
    this.#note = `${how}; next start in ${Math.ceil(this.#plan.waitMs / 1_000)} s`;
    this.#fell(process, how);
    this.#process = undefined;
    this.#timer = setTimeout(() => void this.start(), this.#plan.waitMs).unref();
    this.#options.changed();
  }
}

/** A frame of the host, or of Node, in a stack: no line of its author's. */
const HOST_FRAME = /^\s*at .*(?:\/host\.cjs:\d+|\bnode:[\w/]+:\d+|processTicksAndRejections)/;

function ownFrames(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => !HOST_FRAME.test(line))
    .join("\n");
}

// Decides when a plugin that ended may be started again: later each time, and for a while not at all.

/** Milliseconds to wait after the first end; doubled with each further one. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** This many ends within a minute open the breaker. */
const BREAKER_ENDS = 5;
const MINUTE_MS = 60_000;
/** Waits differ by up to this share, so that plugins that fell together do not come back together. */
const JITTER = 0.1;

interface RestartPlanOptions {
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

export class RestartPlan {
  readonly #now: () => number;
  readonly #random: () => number;
  #ends: number[] = [];
  #wait = 0;
  #notBefore = 0;

  constructor({ now = () => performance.now(), random = Math.random }: RestartPlanOptions = {}) {
    this.#now = now;
    this.#random = random;
  }

  /** Notes that it ended after it had run for `ranMs`; one that ran for a minute begins with the first wait again. */
  ended(ranMs: number): void {
    const now = this.#now();
    if (ranMs >= MINUTE_MS) this.#wait = 0;
    this.#ends = [...this.#ends.filter((at) => now - at < MINUTE_MS), now];
    this.#wait = this.#wait === 0 ? FIRST_WAIT_MS : Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    if (this.broken) this.#wait = LONGEST_WAIT_MS;
    this.#notBefore = now + this.#wait * (1 + JITTER * this.#random());
  }

  /** Whether it fell so often within a minute that it is left alone for one. */
  get broken(): boolean {
    return this.#ends.length >= BREAKER_ENDS;
  }

  /** Milliseconds until it may be started. */
  get waitMs(): number {
    return Math.max(0, this.#notBefore - this.#now());
  }
}

// Says what a plugin needs and the policy does not grant it.

const HTTPS = 443;

/** What the plugin lives under. */
interface Granted {
  readonly policy: Policy;
  readonly storageBytes: number;
}

/** Each text names one need and the key that grants it. */
export function unmetGrants(granted: Granted, plugin: Pick<PluginDescription, "name" | "needs">): string[] {
  return [...unmetReach(granted.policy, plugin), ...unmetPowers(granted, plugin)];
}

function unmetPowers(
  { policy, storageBytes }: Granted,
  { name, needs }: Pick<PluginDescription, "name" | "needs">,
): string[] {
  const lacking = (needed: readonly string[], there: ReadonlyMap<string, unknown>): string[] =>
    needed.filter((each) => !there.has(each));
  return [
    ...lacking(needs.commands, policy.commands.allowed).map(
      (each) => `the command ${each}: add it to commands of ${name} in plugins.load`,
    ),
    ...lacking(needs.secrets, policy.secrets).map(
      (each) => `the secret ${each}: add it to secrets of ${name} in plugins.load`,
    ),
    ...(needs.storage && storageBytes === 0 ? [`storage: add storage_kb to ${name} in plugins.load`] : []),
  ];
}

function unmetReach(granted: Policy, { name, needs }: Pick<PluginDescription, "name" | "needs">): string[] {
  const missing: string[] = [];
  for (const need of needs.network) {
    const [, host = need, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(need) ?? [];
    if (decide(granted, { kind: "network", host, port: Number(port ?? HTTPS) }).allowed) continue;
    const asked =
      port === undefined
        ? `${need} port ${HTTPS} (a need without a port means ${HTTPS}; of another port it is written "${need}:8080")`
        : need;
    const endpoint = `{ host: ${JSON.stringify(host)}, ports: [${port ?? HTTPS}] }`;
    missing.push(`the host ${asked}: add ${endpoint} to network.allowed_endpoints of ${name} in plugins.load`);
  }
  for (const need of needs.filesystem) {
    const op = need.startsWith("write:") ? "write" : "read";
    // As the policy reads its own paths.
    const path = normalize(need.replace(/^(?:read|write):/, "").replace(/^~(?=\/|$)/, homedir()));
    if (isAbsolute(path) && decide(granted, { kind: "file", path: `${path.replace(/\/$/, "")}/x`, op }).allowed)
      continue;
    if (isAbsolute(path) && decide(granted, { kind: "file", path, op }).allowed) continue;
    missing.push(`to ${op} ${path}: add it to filesystem of ${name} in plugins.load`);
  }
  return missing;
}
