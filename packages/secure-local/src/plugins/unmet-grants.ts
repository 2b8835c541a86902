// Says what a plugin needs and the policy does not grant it.
import { isAbsolute, normalize } from "node:path";
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { PluginDescription } from "./plugin-description.js";

const HTTPS = 443;

/** @param granted The policy the plugin lives under. Each text names one need and the key that grants it. */
export function unmetGrants(granted: Policy, { name, needs }: Pick<PluginDescription, "name" | "needs">): string[] {
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
