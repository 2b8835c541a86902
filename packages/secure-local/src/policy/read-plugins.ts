// Reads the section plugins.
import { join } from "node:path";
import type { Environment } from "./path-value.js";
import type { PluginGrant, PluginsPolicy } from "./plugins-policy.js";
import { ENTRY_NAME, SHA256 } from "./read-commands.js";
import { readNetwork } from "./read-network.js";
import { readAnyPath } from "./read-path-value.js";
import { readFilesystem } from "./read-paths.js";
import { ruleAt } from "./rule.js";
import { type Section, type Wanted, wholeNumber, YES_NO } from "./section.js";

const RULE_ID: Wanted<string> = {
  words: "the id of a finding, as plugins list shows it: override.instructions",
  read: (value) => (typeof value === "string" && /^[a-z-]{2,30}\.[a-z-]{2,40}$/.test(value) ? value : undefined),
};
/** All of it may be read at once. */
const STORAGE_KB = wholeNumber(0, 65_536);

export function readPlugins(section: Section, environment: Environment): PluginsPolicy {
  const folder = readAnyPath(section, "folder", environment);
  const load = new Map<string, PluginGrant>();
  for (const item of section.items("load")) {
    const plugin = readPlugin(item, folder, environment);
    if (plugin && load.has(plugin.name))
      item.faults.add(item.place, `there are two plugins "${plugin.name}"; remove one`);
    else if (plugin) load.set(plugin.name, plugin);
  }
  section.finish();
  return { folder, load };
}

function readPlugin(item: Section, folder: string | undefined, environment: Environment): PluginGrant | undefined {
  const name = item.need("name", ENTRY_NAME)?.value;
  const own = readAnyPath(item, "path", environment);
  if (name !== undefined && item.tree("path") === undefined && folder === undefined)
    item.faults.add(item.place, `${item.path} needs a path, or plugins a folder`);
  const rest = {
    sha256: item.value("sha256", SHA256)?.value,
    enabled: item.value("enabled", YES_NO)?.value ?? true,
    network: readNetwork(item.section("network")),
    filesystem: readFilesystem(item.section("filesystem"), environment),
    commands: (item.list("commands", ENTRY_NAME) ?? []).map(({ value }) => value),
    secrets: (item.list("secrets", ENTRY_NAME) ?? []).map(({ value }) => value),
    accept: (item.list("accept", RULE_ID) ?? []).map(({ value }) => value),
    storageBytes: (item.value("storage_kb", STORAGE_KB)?.value ?? 0) * 1_024,
  };
  item.finish();
  const path = own ?? (folder === undefined || name === undefined ? undefined : join(folder, name));
  if (name === undefined || path === undefined) return undefined;
  return { name, rule: ruleAt("plugins.load", name, item.place), path, ...rest };
}
