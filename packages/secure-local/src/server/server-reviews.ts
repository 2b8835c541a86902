// Reviews what mounted servers offer: what its texts try to do, and what is not as a person approved it.
import type { Offer } from "@secure-local/mcp/gateway";
import type { Change } from "../inspection/drift.js";
import type { Finding, Peer } from "../inspection/finding.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { inspectOffering } from "../inspection/inspect.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { type LockedPlugin, type PluginLock, readLock } from "./plugin-lock.js";
import { changesOf } from "./plugin-reviews.js";
import { serverItems, serverOffering } from "./server-items.js";
import { serverLaunch } from "./server-launch.js";

/** Beside the policy, like the lock of its plugins and in the same form. */
export function serverLockFile(policyFile: string): string {
  return `${policyFile}.servers.lock`;
}

/** What was approved of the servers of a policy; empty where nothing was. @throws LockError */
export function approvedServers({ file }: Policy): PluginLock {
  return (file === undefined ? undefined : readLock(serverLockFile(file))) ?? new Map();
}

export interface ServerReview {
  readonly server: string;
  /** Without those the policy accepts. */
  readonly findings: readonly Finding[];
  readonly changes: readonly Change[];
  /** What is not offered, by kind and its server's own name as in `tool create_issue`, and why, as the end of a sentence. */
  readonly withheld: ReadonlyMap<string, string>;
}

/** Cleaned, it would be called like something else. */
const UNCLEAN = "its name is empty or holds characters that nobody sees";

/** Compares what a server offers now with what was approved of it. */
export function reviewServer(
  grant: ServerGrant,
  offer: Offer,
  given: {
    readonly locked: LockedPlugin | undefined;
    /** How it was started. Default: as it would be now. */
    readonly launch?: unknown;
    readonly peers?: readonly Peer[];
  },
): ServerReview {
  const { locked, peers = [], launch = serverLaunch(grant) } = given;
  const items = serverItems(offer, launch);
  const accepted = new Set(grant.accept);
  const findings = inspectOffering(serverOffering(grant.name, offer), peers).filter(({ id }) => !accepted.has(id));
  const changes = changesOf(locked, items, launch);
  const withheld = new Map<string, string>();
  const whole = changes.find(({ item, kind }) => (item === "launch" || item === "server") && kind !== "removed");
  for (const item of items.keys()) {
    const change = changes.find((each) => each.item === item && each.kind !== "removed") ?? whole;
    const found = findings.find(({ tier, kind, item: name }) => tier === "hard" && `${kind} ${name}` === item);
    const own = item.slice(item.indexOf(" ") + 1);
    if (item.includes(" ") && (own === "" || cleanLine(own) !== own)) withheld.set(item, UNCLEAN);
    else if (change !== undefined)
      withheld.set(item, `it is not as it was approved (${change.item} was ${change.kind})`);
    else if (found !== undefined) withheld.set(item, `its description looks like an attack on the model (${found.id})`);
  }
  for (const { item, kind } of changes)
    if (kind === "removed") withheld.set(item, "its server does not offer it any more");
  return { server: grant.name, findings, changes, withheld };
}
