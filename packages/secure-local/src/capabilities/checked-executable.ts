// Makes sure that the program to run is the one the policy knows.
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { realpathSync } from "node:fs";
import type { AllowedCommand } from "../policy/commands-policy.js";
import type { Handed, Reach } from "../sandbox/wall.js";
import { RunError } from "./run-error.js";

/** Larger programs are run without a hash, or not at all. */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;
/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;

/** What the sandbox has to be given for the program to be there. */
export interface Executable {
  readonly reach: readonly Reach[];
  readonly handed: readonly Handed[];
}

/**
 * With a hash the very bytes that were hashed are what is run: the file may be exchanged meanwhile. Without one the file is
 * only seen inside. @throws RunError `executable`
 */
export async function checkedExecutable({ executable, sha256 }: AllowedCommand): Promise<Executable> {
  if (sha256 === undefined) return { reach: SYSTEM.test(executable) ? [] : [seen(executable)], handed: [] };
  const bytes = await readProgram(executable);
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual === sha256) return { reach: [], handed: [{ path: executable, bytes, executable: true }] };
  const advice = "If it was updated on purpose, write the new hash into the policy";
  throw new RunError(
    "executable",
    `The program is not the one the policy knows. ${advice}: ${actual}.`,
    "commands.allowed sha256",
  );
}

function seen(executable: string): Reach {
  try {
    return { path: realpathSync(executable), at: executable, access: "read" };
  } catch {
    throw missing();
  }
}

async function readProgram(path: string): Promise<Buffer> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) throw missing();
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) throw missing();
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function missing(): RunError {
  return new RunError(
    "executable",
    "The program of this command cannot be read; the policy names it in commands.allowed.",
  );
}
