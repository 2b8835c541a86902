// Says what a plugin needs and the policy does not grant it.
import { isAbsolute, normalize } from "node:path";
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { PluginDescription } from "./plugin-description.js";

const HTTPS = 443;

/** What the plugin lives under. */
export interface Granted {
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
    missing.push(`the host ${need}: add it to network.allowed_endpoints of ${name} in plugins.load`);
  }
  for (const need of needs.filesystem) {
    const op = need.startsWith("write:") ? "write" : "read";
    const path = normalize(need.replace(/^(?:read|write):/, ""));
    if (isAbsolute(path) && decide(granted, { kind: "file", path: `${path.replace(/\/$/, "")}/x`, op }).allowed)
      continue;
    if (isAbsolute(path) && decide(granted, { kind: "file", path, op }).allowed) continue;
    missing.push(`to ${op} ${path}: add it to filesystem of ${name} in plugins.load`);
  }
  return missing;
}
