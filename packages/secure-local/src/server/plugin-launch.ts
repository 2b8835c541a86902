// Says how a plugin is started, as far as a person approves it: the program, its arguments, its folder, and the content of all of it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { findPlugin } from "../plugins/find-plugin.js";
import { hashPlugin } from "../plugins/hash-plugin.js";
import type { PluginGrant } from "../policy/plugins-policy.js";

export interface PluginLaunch {
  readonly kind: "module" | "executable";
  /** For a module its file; this program's own runtime runs it. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names of the secrets it is handed placeholders of; its environment is empty otherwise. */
  readonly env: readonly string[];
  /** SHA-256 of the program; absent for a module. */
  readonly program?: string;
  /** SHA-256 over the plugin's files: see `hashPlugin`. */
  readonly content: string;
}

/** @throws PluginError; the system's errors for files that cannot be read */
export function launchOf({ path, secrets }: PluginGrant): PluginLaunch {
  const source = findPlugin(path);
  const common = { cwd: source.folder, env: [...secrets].sort(), content: hashPlugin(path) };
  if (source.kind === "module") return { kind: "module", argv: [source.entry], ...common };
  const program = createHash("sha256").update(readFileSync(source.executable)).digest("hex");
  return { kind: "executable", argv: [source.executable, ...source.args], program, ...common };
}
