// Makes the surroundings of a sandboxed program out of the policy it lives under: files, limits, and its way out.
import type { Policy } from "../policy/policy.js";
import type { NetworkPolicy } from "../policy/reach-policy.js";
import type { Reach, Wall, WalledCommand } from "../sandbox/wall.js";
import { EgressProxy, type EgressProxyOptions } from "./egress-proxy.js";
import type { OwnFiles } from "./files/own-files.js";
import { keptHome } from "./kept-home.js";
import { LoopbackDoor } from "./loopback-door.js";
import { policyEgress } from "./policy-egress.js";
import { sandboxReach } from "./sandbox-reach.js";
import type { SecretBroker } from "./secret-broker.js";

/** Close it when the program has ended. */
export interface Surroundings {
  readonly reach: NonNullable<WalledCommand["reach"]>;
  readonly limits: WalledCommand["limits"];
  readonly egress: string | undefined;
  close(): Promise<void>;
}

export interface SurroundOptions {
  readonly own: OwnFiles;
  readonly wall: Wall;
  /** Who it is, where homes are kept (`sandbox.homes`): see `keptHome`. Without it its home vanishes. */
  readonly owner?: readonly string[];
  /** Hears of every connection that was refused. */
  readonly refused?: EgressProxyOptions["refused"];
  /** Puts values in place of the program's placeholders. */
  readonly secrets?: SecretBroker;
}

/**
 * All that `policy` allows, as it is now: what a plugin or a command was granted (`grantedPolicy`). Without a wall nothing is
 * proxied, since nothing else would keep a program from its own connections. @throws WallError for what cannot be walled in
 */
export async function surround(
  policy: Policy,
  { own, wall, owner, refused, secrets }: SurroundOptions,
): Promise<Surroundings> {
  const { readOnlyPaths, homes, ...limits } = policy.sandbox;
  const system = readOnlyPaths.map((path) => ({ path, access: "read" as const }));
  const kept = wall.name !== "none" && homes !== undefined && owner !== undefined;
  const home = kept ? [await keptHome(homes, owner)] : [];
  const reach: readonly Reach[] =
    wall.name === "none" ? [] : [...system, ...(await sandboxReach(policy, own, wall.name)), ...home];
  const proxied = wall.name !== "none" && reachesOut(policy.network);
  const options = { decide: policyEgress(() => policy), secrets, ...(refused === undefined ? {} : { refused }) };
  const proxy = proxied ? await EgressProxy.open(options) : undefined;
  // Elsewhere than on Linux a sandbox has no loopback of its own.
  const door = proxy !== undefined && wall.name === "sandbox-exec" ? await LoopbackDoor.open(proxy.socket) : undefined;
  const close = async (): Promise<void> => {
    for (const { held } of reach) held?.close();
    await Promise.all([door?.close(), proxy?.close()]);
  };
  return { reach, limits, egress: door?.url ?? proxy?.socket, close };
}

/** Whether any host or address is allowed. */
export function reachesOut({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}
