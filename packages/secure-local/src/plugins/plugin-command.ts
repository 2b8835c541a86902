// The command by which a plugin is started behind the wall.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeReach, type Reach, type WalledCommand } from "../sandbox/wall.js";
import { pathInCopy, type PluginPlace } from "./find-plugin.js";
import type { CachedPlugin } from "./plugin-cache.js";
import { HOST_PATH, hostFiles } from "./plugin-host-program.js";

/** What it may know of its secrets. */
export interface Placeholders {
  /** By the name of the secret. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The same as variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What is started is the copy of its content, seen read-only where the plugin lies, or where no wall can show it there, where the
 * copy lies; beside it what it was granted as granted, and nothing else.
 */
export function pluginCommand(
  { wall, source, kept, surroundings: { reach, limits, egress } }: PluginPlace,
  { secrets, env }: Placeholders,
): WalledCommand {
  const shows = wall.name === "bubblewrap";
  const path = (each: string): string => (shows ? each : pathInCopy(kept, each));
  const own: Reach = shows ? { path: kept.root, at: kept.source, access: "read" } : { path: kept.root, access: "read" };
  const granted = shows ? reach.filter((each) => !isHidden(each, kept)) : reach;
  const common = { limits, egress, env };
  if (source.kind === "module") {
    const node = nodeReach();
    const stripper = typeStripper(source.entry);
    return {
      ...common,
      executable: node.path,
      args: [HOST_PATH, path(source.entry), ...(stripper === undefined ? [] : [stripper.path])],
      reach: [own, node, ...(stripper?.reach ?? []), ...granted],
      handed: hostFiles(secrets),
    };
  }
  const executable = path(source.executable);
  const inside = pathInCopy(kept, source.executable) !== source.executable;
  const system = /^\/(?:usr|bin)\//.test(executable);
  const program: Reach[] = inside || system ? [] : [{ path: executable, access: "read" }];
  return { ...common, executable, args: source.args.map(path), reach: [own, ...program, ...granted] };
}

/**
 * Whether something granted would stand in the place of the plugin's own content: all that lies in its folder, but for what it may
 * write there, which is its data.
 */
function isHidden({ path, at = path, access }: Reach, kept: Pick<CachedPlugin, "root" | "source">): boolean {
  const place = at.replace(/\/$/, "");
  const copy = pathInCopy(kept, place);
  return copy !== place && (place === kept.source || access !== "write" || !existsSync(copy));
}

// Finds what lets the Node of a plugin load TypeScript, where it does not do so by itself (before 22.18).

interface TypeStripper {
  /** A module with hooks for `module.register`. */
  readonly path: string;
  /** What the sandbox has to see for it. */
  readonly reach: readonly Reach[];
}

/** As bundled, beside this file and whole; as a source, with the package it needs. */
const BUNDLED = "./strip-types.cjs";
const SOURCE = "../../launcher/strip-types.cjs";
const PACKAGE = "@swc/wasm-typescript";

/** Undefined for a module that needs none. */
function typeStripper(entry: string): TypeStripper | undefined {
  if (!/\.m?ts$/.test(entry) || knowsTypes()) return undefined;
  const bundled = fileURLToPath(new URL(BUNDLED, import.meta.url));
  if (existsSync(bundled)) return { path: bundled, reach: [seen(bundled)] };
  const path = fileURLToPath(new URL(SOURCE, import.meta.url));
  return { path, reach: [seen(path), seen(dirname(createRequire(path).resolve(PACKAGE)))] };
}

/** Whether Node takes types out itself; plugins run by the same Node as this program. */
function knowsTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown };
  return typescript === "strip" || typescript === "transform";
}

function seen(path: string): Reach {
  return { path, access: "read" };
}
