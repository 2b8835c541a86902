// Reviews what plugins offer before anybody is offered it: what its texts try to do, and what changed since it was approved.
import { type Change, driftOf, type Items } from "@secure-local/inspection/drift";
import type { Finding, Peer } from "@secure-local/inspection/finding";
import { inspectOffering } from "@secure-local/inspection/inspect";
import type { PluginDescription } from "../plugins/plugin-description.js";
import type { StartedContent } from "../plugins/plugin.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { PluginLockStore, launchOf, type LockInForce, type LockChange } from "./plugin-lock-store.js";
import { itemsOf, offeringOf } from "./plugin-items.js";
import { type BuiltInNames, nameConflicts, type NameConflicts } from "./plugin-names.js";
import { type LockedPlugin, lockCommand } from "./plugin-lock.js";

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
    const reason = lock.fault ?? given.misnamed.get(grant.name)?.get(item) ?? reasonFor(item, findings, changes);
    if (reason !== undefined) withheld.set(item, reason);
  }
  return { plugin: grant.name, description, launch, findings, changes, withheld };
}

/** What differs from the lock: items, and how it is started. */
export function changesOf(locked: LockedPlugin | undefined, items: Items, launch: unknown): readonly Change[] {
  const offered = new Map([...items, ["launch", launch] as const]);
  if (locked === undefined) return driftOf(new Map(), offered);
  const removed = new Map([...locked.removed].filter(([item]) => offered.has(item)));
  const returned = driftOf(removed, offered).filter(({ item }) => removed.has(item));
  return driftOf(locked.approved, offered).map((change) => {
    const back = returned.find(({ item }) => item === change.item);
    if (change.kind !== "added" || !removed.has(change.item)) return change;
    return { ...change, lines: ["it was approved once, was removed, and is back", ...(back?.lines ?? [])] };
  });
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
