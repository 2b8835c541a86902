// Says how a plugin is started, as far as a person approves it: the program, its arguments, its folder, and the content of all of it.
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { StartedContent } from "../plugins/plugin.js";
import type { PluginGrant } from "../policy/plugins-policy.js";

export interface PluginLaunch {
  readonly kind: "module" | "executable";
  /** For a module its file; this program's own runtime runs it. */
  readonly argv: readonly string[];
  /** Where its content was taken from. */
  readonly cwd: string;
  /** Names of the secrets it is handed placeholders of; its environment is empty otherwise. */
  readonly env: readonly string[];
  /** SHA-256 of the program; absent for a module. */
  readonly program?: string;
  /** SHA-256 of the content that is started: see `PluginContent`. */
  readonly content: string;
}

/** Programs are as large as Python and asked about at every call, so each is read once for each of its states. */
const PROGRAMS = new Map<string, { readonly state: string; readonly sha256: string }>();
/** More programs than plugins name; beyond, all are read anew. */
const MAX_PROGRAMS = 256;

/** @throws the system's errors for a program that cannot be read */
export function launchOf({ source, kept }: StartedContent, { secrets }: Pick<PluginGrant, "secrets">): PluginLaunch {
  const common = { cwd: kept.source, env: [...secrets].sort(), content: kept.hash };
  if (source.kind === "module") return { kind: "module", argv: [source.entry], ...common };
  const { executable, args } = source;
  // A program of its own is part of the content.
  const program = executable.startsWith(`${kept.source}/`) ? kept.hash : programHash(executable);
  return { kind: "executable", argv: [executable, ...args], program, ...common };
}

function programHash(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  const state = [dev, ino, size, mtimeNs, ctimeNs].join();
  const known = PROGRAMS.get(path);
  if (known?.state === state) return known.sha256;
  const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (PROGRAMS.size >= MAX_PROGRAMS) PROGRAMS.clear();
  PROGRAMS.set(path, { state, sha256 });
  return sha256;
}
