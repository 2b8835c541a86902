// Reviews what plugins offer before anybody is offered it: what its texts try to do, and what changed since it was
// approved and kept in the lock file.
import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { type Change, driftOf } from "@secure-local/inspection/drift";
import type { Finding, Peer } from "@secure-local/inspection/finding";
import { inspectOffering } from "@secure-local/inspection/inspect";
import { hashPlugin } from "../plugins/plugin-content.js";
import type { PluginDescription } from "../plugins/plugin-description.js";
import type { StartedContent } from "../plugins/plugin.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import {
  changesOf,
  lockCommand,
  lockCommandFor,
  type LockedPlugin,
  LockError,
  lockFileOf,
  lockText,
  parseLock,
  type PluginLock,
} from "./plugin-lock.js";
import { type BuiltInNames, itemsOf, nameConflicts, type NameConflicts, offeringOf } from "./plugin-names.js";

// The lock of plugins that is in force: the newest one that could be read.

interface LockInForce {
  /** Another text for another lock. */
  readonly version: string;
  /** Undefined where there is none: then nothing is compared. */
  readonly lock: PluginLock | undefined;
  /** Why nobody knows what was approved; then nothing is offered. */
  readonly fault: string | undefined;
}

/** That another lock is in force, or why its file is not. */
export interface LockChange {
  readonly kind: "lock.loaded" | "lock.rejected";
  readonly file: string;
  /** For the operator: what happened, and what holds now. */
  readonly text: string;
}

const NONE: LockInForce = { version: "", lock: undefined, fault: undefined };
const UNREADABLE: LockInForce = {
  version: "unreadable",
  lock: undefined,
  fault: "the lock of plugins cannot be read, so nobody knows what was approved",
};

export class PluginLockStore {
  #file: string | undefined;
  #state = "";
  #inForce: LockInForce = NONE;
  /** What was last said to be wrong, so that one faulty file is not told at every touch. */
  #refused = "";

  /** The lock beside a policy, read now if it never was. */
  of(policy: Policy): LockInForce {
    if (policy.file !== undefined && this.#file !== lockFileOf(policy.file)) this.read(policy);
    return policy.file === undefined ? NONE : this.#inForce;
  }

  /** Whether the file is another than when it was read; to be asked at every call, so only its state is looked at. */
  touched({ file }: Policy): boolean {
    return file !== undefined && this.#file === lockFileOf(file) && stateOf(this.#file) !== this.#state;
  }

  /**
   * Reads the file as it is now. One that cannot be read leaves the lock before in force, and where there was none approves nothing.
   * One that is gone does so too: what runs is not opened by a deletion, which may be the first half of writing it anew.
   * Returns what an operator has to hear: nothing of a first lock that is well, of the same again, of a fault that was told.
   */
  read({ file: policyFile }: Policy): LockChange | undefined {
    if (policyFile === undefined) return undefined;
    const file = lockFileOf(policyFile);
    const first = this.#file !== file;
    this.#file = file;
    this.#state = stateOf(file);
    try {
      return this.#take(file, first);
    } catch (error) {
      if (first) this.#inForce = UNREADABLE;
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === this.#refused) return undefined;
      this.#refused = reason;
      const holds =
        this.#inForce === UNREADABLE ? "no plugin offers anything" : "what was approved before stays approved";
      return { kind: "lock.rejected", file, text: `${reason} Until then ${holds}.` };
    }
  }

  /** @throws LockError */
  #take(file: string, first: boolean): LockChange | undefined {
    const text = lockText(file);
    const version = text === undefined ? "" : createHash("sha256").update(text).digest("hex");
    const known = !first && version === this.#inForce.version && this.#refused === "";
    if (known) return undefined;
    if (text === undefined && !first && this.#inForce.version !== "")
      throw new LockError(`${file} is gone; write it anew (${lockCommandFor(file)}), or start again without it.`);
    const lock = text === undefined ? undefined : parseLock(file, text);
    this.#inForce = { version, lock, fault: undefined };
    this.#refused = "";
    return first || lock === undefined ? undefined : { kind: "lock.loaded", file, text: `${file} is in force` };
  }
}

/** What changes with its content; empty where there is none. */
function stateOf(file: string): string {
  const status = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (status === undefined) return "";
  const { dev, ino, size, mtimeNs, ctimeNs } = status;
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

// Says how a plugin is started, as far as a person approves it: the program, its arguments, its folder, and the content of all of it.

interface PluginLaunch {
  readonly kind: "module" | "executable";
  /** For a module its file; this program's own runtime runs it. */
  readonly argv: readonly string[];
  /** Where its content was taken from. */
  readonly cwd: string;
  /** Names of the secrets it is handed placeholders of; its environment is empty otherwise. */
  readonly env: readonly string[];
  /** SHA-256 of the program; absent for a module. */
  readonly program?: string;
  /** SHA-256 of the content that is started: see `PluginContent`. */
  readonly content: string;
}

/** Programs are as large as Python and asked about at every call, so each is read once for each of its states. */
const PROGRAMS = new Map<string, { readonly state: string; readonly sha256: string }>();
/** More programs than plugins name; beyond, all are read anew. */
const MAX_PROGRAMS = 256;

/** @throws the system's errors for a program that cannot be read */
export function launchOf({ source, kept }: StartedContent, { secrets }: Pick<PluginGrant, "secrets">): PluginLaunch {
  if (source.kind === "module") return launchWith({ kind: "module", argv: [source.entry] }, kept, secrets);
  return launchWith({ kind: "executable", argv: [source.executable, ...source.args] }, kept, secrets);
}

function launchWith(
  { kind, argv }: Pick<PluginLaunch, "kind" | "argv">,
  { hash, source }: Pick<StartedContent["kept"], "hash" | "source">,
  secrets: PluginGrant["secrets"],
): PluginLaunch {
  const common = { cwd: source, env: [...secrets].sort(), content: hash };
  const [executable = ""] = argv;
  if (kind === "module") return { kind, argv, ...common };
  // A program of its own is part of the content.
  const program = executable.startsWith(`${source}/`) ? hash : programHash(executable);
  return { kind, argv, program, ...common };
}

/**
 * Whether a plugin that lies there at rest would be started as it was approved: the same content says the same arguments.
 * @throws PluginError, the system's errors for what cannot be read
 */
export function isAsLocked({ path, sha256, secrets }: PluginGrant, { approved }: LockedPlugin): boolean {
  const launch = approved.get("launch");
  // Some of its items alone were approved.
  if (launch === undefined) return false;
  const source = realpathSync(path);
  // Of a plugin that is pinned the copy is started, whatever became of its files.
  const now = launchWith(launch as PluginLaunch, { source, hash: sha256 ?? hashPlugin(source) }, secrets);
  return driftOf(new Map([["launch", launch]]), new Map([["launch", now]])).length === 0;
}

function programHash(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  const state = [dev, ino, size, mtimeNs, ctimeNs].join();
  const known = PROGRAMS.get(path);
  if (known?.state === state) return known.sha256;
  const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (PROGRAMS.size >= MAX_PROGRAMS) PROGRAMS.clear();
  PROGRAMS.set(path, { state, sha256 });
  return sha256;
}

export interface PluginReview {
  readonly plugin: string;
  readonly description: PluginDescription;
  /** How it is started; what cannot be found out is unlike anything that was approved. */
  readonly launch: unknown;
  /** Without those the policy accepts. */
  readonly findings: readonly Finding[];
  /** What is not as it was approved; empty without a lock. */
  readonly changes: readonly Change[];
  /** What is not offered, by kind and name as in `tool weather_now`, and why, in one sentence for the caller. */
  readonly withheld: ReadonlyMap<string, string>;
}

interface Described {
  readonly name: string;
  readonly description: PluginDescription | undefined;
  readonly started: StartedContent | undefined;
}

interface Kept {
  readonly version: string;
  readonly misnamed: NameConflicts;
  readonly review: PluginReview;
}

/** Each description is reviewed once under each version of the policy, of the lock and of what is started. */
export class PluginReviews {
  readonly #kept = new WeakMap<PluginDescription, Kept>();
  readonly #lock = new PluginLockStore();
  readonly #builtIn: BuiltInNames;
  #named: readonly (PluginDescription | string)[] = [];
  #misnamed: NameConflicts = new Map();

  constructor(builtIn: BuiltInNames) {
    this.#builtIn = builtIn;
  }

  /** Has the lock's file read again; see `PluginLockStore`. */
  relock(policy: Policy): LockChange | undefined {
    return this.#lock.read(policy);
  }

  /** Whether the lock's file is another than the one in force. */
  isTouched(policy: Policy): boolean {
    return this.#lock.touched(policy);
  }

  /** Why the process of a plugin is not what was approved; undefined where it is, and where nothing is locked. */
  unapproved(policy: Policy, name: string, started: StartedContent): string | undefined {
    const { lock, fault } = this.#lock.of(policy);
    const grant = policy.plugins.load.get(name);
    if (fault !== undefined) return `${fault}.`;
    if (lock === undefined || grant === undefined) return undefined;
    const approved = new Map([...(lock.get(name)?.approved ?? [])].filter(([item]) => item === "launch"));
    const [change] = driftOf(approved, new Map([["launch", launched(started, grant)]]));
    if (change === undefined) return undefined;
    if (lock.get(name) === undefined)
      return `It was never approved. Read what it offers, and approve it: ${lockCommand(policy.file ?? "", name)}`;
    return `It is not as it was approved (launch was ${change.kind}). Read what changed, and approve it: ${lockCommand(policy.file ?? "", name)}`;
  }

  /** The reviews of those that said what they offer. */
  of(policy: Policy, plugins: readonly Described[]): PluginReview[] {
    const lock = this.#lock.of(policy);
    const misnamed = this.#misnamedOf(plugins);
    return plugins.flatMap((plugin) => {
      const { description } = plugin;
      const grant = policy.plugins.load.get(plugin.name);
      if (description === undefined || grant === undefined) return [];
      const launch = launched(plugin.started, grant);
      const version = `${policy.hash} ${lock.version} ${JSON.stringify(launch)}`;
      const kept = this.#kept.get(description);
      const known = kept?.version === version && kept.misnamed === misnamed;
      if (known) return kept.review;
      const peers = peersOf(plugins, plugin.name);
      const review = reviewOf(grant, { description, launch, peers, lock, misnamed });
      this.#kept.set(description, { version, misnamed, review });
      return review;
    });
  }

  /** What may not be offered under its name; worked out anew when a plugin comes, goes or says something else. */
  #misnamedOf(plugins: readonly Described[]): NameConflicts {
    const named = plugins.map(({ name, description }) => description ?? name);
    if (named.length === this.#named.length && named.every((each, at) => each === this.#named[at]))
      return this.#misnamed;
    this.#named = named;
    this.#misnamed = nameConflicts(plugins, this.#builtIn);
    return this.#misnamed;
  }
}

function reviewOf(
  grant: PluginGrant,
  given: Pick<PluginReview, "description" | "launch"> & {
    readonly peers: readonly Peer[];
    readonly lock: LockInForce;
    readonly misnamed: NameConflicts;
  },
): PluginReview {
  const { description, launch, peers, lock } = given;
  const accepted = new Set(grant.accept);
  const findings = inspectOffering(offeringOf(description), peers).filter(({ id }) => !accepted.has(id));
  const items = itemsOf(description);
  const changes = lock.lock === undefined ? [] : changesOf(lock.lock.get(grant.name), items, launch);
  const withheld = new Map<string, string>();
  for (const item of items.keys()) {
    const never = lock.lock !== undefined && !lock.lock.has(grant.name) ? "it is not approved" : undefined;
    const reason =
      lock.fault ?? given.misnamed.get(grant.name)?.get(item) ?? never ?? reasonFor(item, findings, changes);
    if (reason !== undefined) withheld.set(item, reason);
  }
  return { plugin: grant.name, description, launch, findings, changes, withheld };
}

function launched(started: StartedContent | undefined, grant: PluginGrant): unknown {
  try {
    return started === undefined ? { fault: "it was not started" } : launchOf(started, grant);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** A change of the plugin as a whole stands against all of it. */
function reasonFor(item: string, findings: readonly Finding[], changes: readonly Change[]): string | undefined {
  const whole = changes.find((change) => change.item === "launch" || change.item === "plugin");
  const change = changes.find((each) => each.item === item) ?? whole;
  if (change !== undefined && change.kind !== "removed")
    return `it is not as it was approved (${change.item} was ${change.kind})`;
  const found = findings.find(({ tier, kind, item: name }) => tier === "hard" && `${kind} ${name}` === item);
  return found && `its description looks like an attack on the model (${found.id})`;
}

function peersOf(plugins: readonly Described[], own: string): Peer[] {
  return plugins.flatMap(({ name, description }) =>
    description === undefined || name === own ? [] : [{ server: name, tools: offeredNames(description) }],
  );
}

function offeredNames(description: PluginDescription): Peer["tools"] {
  return offeringOf(description).tools.map(({ name, description: about }) => ({
    name: String(name),
    description: typeof about === "string" ? about : undefined,
  }));
}
