// The lock of plugins that is in force: the newest one that could be read.
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { LockError, lockCommandFor, lockFileOf, lockText, parseLock, type PluginLock } from "./plugin-lock.js";
import type { StartedContent } from "../plugins/plugin.js";

export interface LockInForce {
  /** Another text for another lock. */
  readonly version: string;
  /** Undefined where there is none: then nothing is compared. */
  readonly lock: PluginLock | undefined;
  /** Why nobody knows what was approved; then nothing is offered. */
  readonly fault: string | undefined;
}

/** That another lock is in force, or why its file is not. */
export interface LockChange {
  readonly kind: "lock.loaded" | "lock.rejected";
  readonly file: string;
  /** For the operator: what happened, and what holds now. */
  readonly text: string;
}

const NONE: LockInForce = { version: "", lock: undefined, fault: undefined };
const UNREADABLE: LockInForce = {
  version: "unreadable",
  lock: undefined,
  fault: "the lock of plugins cannot be read, so nobody knows what was approved",
};

export class PluginLockStore {
  #file: string | undefined;
  #state = "";
  #inForce: LockInForce = NONE;
  /** What was last said to be wrong, so that one faulty file is not told at every touch. */
  #refused = "";

  /** The lock beside a policy, read now if it never was. */
  of(policy: Policy): LockInForce {
    if (policy.file !== undefined && this.#file !== lockFileOf(policy.file)) this.read(policy);
    return policy.file === undefined ? NONE : this.#inForce;
  }

  /** Whether the file is another than when it was read; to be asked at every call, so only its state is looked at. */
  touched({ file }: Policy): boolean {
    return file !== undefined && this.#file === lockFileOf(file) && stateOf(this.#file) !== this.#state;
  }

  /**
   * Reads the file as it is now. One that cannot be read leaves the lock before in force, and where there was none approves nothing.
   * One that is gone does so too: what runs is not opened by a deletion, which may be the first half of writing it anew.
   * Returns what an operator has to hear: nothing of a first lock that is well, of the same again, of a fault that was told.
   */
  read({ file: policyFile }: Policy): LockChange | undefined {
    if (policyFile === undefined) return undefined;
    const file = lockFileOf(policyFile);
    const first = this.#file !== file;
    this.#file = file;
    this.#state = stateOf(file);
    try {
      return this.#take(file, first);
    } catch (error) {
      if (first) this.#inForce = UNREADABLE;
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === this.#refused) return undefined;
      this.#refused = reason;
      const holds =
        this.#inForce === UNREADABLE ? "no plugin offers anything" : "what was approved before stays approved";
      return { kind: "lock.rejected", file, text: `${reason} Until then ${holds}.` };
    }
  }

  /** @throws LockError */
  #take(file: string, first: boolean): LockChange | undefined {
    const text = lockText(file);
    const version = text === undefined ? "" : createHash("sha256").update(text).digest("hex");
    const known = !first && version === this.#inForce.version && this.#refused === "";
    if (known) return undefined;
    if (text === undefined && !first && this.#inForce.version !== "")
      throw new LockError(`${file} is gone; write it anew (${lockCommandFor(file)}), or start again without it.`);
    const lock = text === undefined ? undefined : parseLock(file, text);
    this.#inForce = { version, lock, fault: undefined };
    this.#refused = "";
    return first || lock === undefined ? undefined : { kind: "lock.loaded", file, text: `${file} is in force` };
  }
}

/** What changes with its content; empty where there is none. */
function stateOf(file: string): string {
  const status = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (status === undefined) return "";
  const { dev, ino, size, mtimeNs, ctimeNs } = status;
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

// Says how a plugin is started, as far as a person approves it: the program, its arguments, its folder, and the content of all of it.

interface PluginLaunch {
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
