// The command by which a plugin is started behind the wall.
import type { Surroundings } from "../capabilities/surround.js";
import { nodeReach } from "../sandbox/relayed.js";
import type { Reach, WalledCommand } from "../sandbox/wall.js";
import type { PluginSource } from "./find-plugin.js";
import { HOST_PATH, hostFiles } from "./plugin-host-program.js";
import { typeStripper } from "./type-stripper.js";

/** What it may know of its secrets. */
export interface Placeholders {
  /** By the name of the secret. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The same as variables. */
  readonly env: Readonly<Record<string, string>>;
}

/** Its own folder is seen read-only, what it was granted as granted, and nothing else. */
export function pluginCommand(
  source: PluginSource,
  { reach, limits, egress }: Surroundings,
  { secrets, env }: Placeholders,
): WalledCommand {
  const folder: Reach = { path: source.folder, access: "read" };
  const common = { limits, egress, env };
  if (source.kind === "module") {
    const node = nodeReach();
    const stripper = typeStripper(source.entry);
    return {
      ...common,
      executable: node.path,
      args: [HOST_PATH, source.entry, ...(stripper === undefined ? [] : [stripper.path])],
      reach: [folder, node, ...(stripper?.reach ?? []), ...reach],
      handed: hostFiles(secrets),
    };
  }
  const { executable, args } = source;
  const program: Reach[] = executable.startsWith(`${source.folder}/`) ? [] : [{ path: executable, access: "read" }];
  const system = /^\/(?:usr|bin)\//.test(executable);
  return { ...common, executable, args, reach: [folder, ...(system ? [] : program), ...reach] };
}
