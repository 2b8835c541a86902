// Describes the section `plugins`: which plugins are started, and what each may reach.
import type { FilesystemPolicy, NetworkPolicy } from "./reach-policy.js";
import type { Rule } from "./rule.js";

/** One item of `plugins.load`. */
export interface PluginGrant {
  /** `name`: the plugin's own name must be the same. */
  readonly name: string;
  readonly rule: Rule;
  /** `path`: absolute, the plugin's folder or file; without it `folder` and the name together. */
  readonly path: string;
  /** `sha256` of the plugin's content, of which a copy is started; without it any content runs. */
  readonly sha256: string | undefined;
  /** `enabled`: default true. */
  readonly enabled: boolean;
  /** `network`: the same keys as the section of that name; absent: no network. The section's own denials hold as well. */
  readonly network: NetworkPolicy;
  /** `filesystem`: the same keys as the section of that name; absent: no files. The section's own denials hold as well. */
  readonly filesystem: FilesystemPolicy;
  /** `commands`: names from `commands.allowed` that it may run. */
  readonly commands: readonly string[];
  /** `secrets`: names from `secrets` that it may use. */
  readonly secrets: readonly string[];
  /** `accept`: rules of the inspection whose findings in this plugin a person has looked at; they no longer count. */
  readonly accept: readonly string[];
  /** `storage_kb`: KiB it may keep between its starts, default 0: nothing. Here in bytes. */
  readonly storageBytes: number;
}

/** Section `plugins` (ours). */
export interface PluginsPolicy {
  /** `folder`: where plugins are that have no `path`; one found there and not in `load` is listed and not started. */
  readonly folder: string | undefined;
  /** `load`, by name. */
  readonly load: ReadonlyMap<string, PluginGrant>;
}
