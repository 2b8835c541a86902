// Finds the wall of this machine, and proves that it stands, before anything is started behind it.
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { SandboxPolicy } from "../policy/sandbox-policy.js";
import { Bubblewrap, type WallPrograms } from "./bubblewrap.js";
import { noWall } from "./no-wall.js";
import { SANDBOX_EXEC, sandboxExec } from "./sandbox-exec.js";
import { endWalled, startWalled } from "./start-walled.js";
import type { Processor } from "./system-calls.js";
import { type Wall, WallError, type WallLimits } from "./wall.js";

const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
/** A machine under load still starts `true` within this. */
const PROOF_MS = 20_000;
/** Most of what the wall's program says that is repeated. */
const MAX_COMPLAINT = 500;
const PROOF_LIMITS: WallLimits = { processes: 16, memoryMb: 64, cpuSeconds: 5, fileMb: 1 };
const OTHERWISE = "Or let the policy say sandbox: none, and plugins and commands run without a wall.";

let found: Promise<Wall> | undefined;

/** The wall the policy asks for. @throws WallError saying what to install, unless the policy does without one */
export async function findWall({ mode }: Pick<SandboxPolicy, "mode">): Promise<Wall> {
  if (mode === "none") return noWall;
  found ??= proven();
  try {
    return await found;
  } catch (error) {
    // Somebody may install it meanwhile.
    found = undefined;
    throw error;
  }
}

async function proven(): Promise<Wall> {
  if (process.platform === "darwin" && existsSync(SANDBOX_EXEC)) return sandboxExec;
  if (process.platform !== "linux") {
    throw new WallError(`There is no sandbox for ${process.platform} yet, so nothing is started. ${OTHERWISE}`);
  }
  if (process.arch !== "x64" && process.arch !== "arm64") {
    throw new WallError(`There is no system call filter for ${process.arch} yet, so nothing is started. ${OTHERWISE}`);
  }
  const programs = {
    bwrap: program("bwrap", "bubblewrap"),
    sh: program("sh", "dash"),
    perl: program("perl", "perl"),
  };
  const wall = build(programs, process.arch);
  await prove(wall);
  return wall;
}

/** What it keeps for every sandbox is written to the folder for temporary files. */
function build(programs: WallPrograms, processor: Processor): Wall {
  try {
    return new Bubblewrap(programs, processor);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new WallError(
      `The sandbox needs a folder for temporary files that can be written (${code}): see TMPDIR. ${OTHERWISE}`,
    );
  }
}

function program(name: string, packageName: string): string {
  const folder = FOLDERS.find((each) => existsSync(`${each}/${name}`));
  if (folder !== undefined) return `${folder}/${name}`;
  const install = `sudo apt install ${packageName} (or the same package by dnf, pacman or apk)`;
  throw new WallError(`The sandbox needs ${name}, so nothing is started. Install it: ${install}. ${OTHERWISE}`);
}

async function prove(wall: Wall): Promise<void> {
  const executable = ["/usr/bin/true", "/bin/true", "/run/current-system/sw/bin/true"].find(existsSync) ?? "/bin/true";
  const child = startWalled(wall, { executable, args: [], limits: PROOF_LIMITS }, ["ignore", "ignore", "pipe"]);
  const timer = setTimeout(() => endWalled(wall, child), PROOF_MS);
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (complaint.length < MAX_COMPLAINT) complaint = (complaint + text).slice(0, MAX_COMPLAINT);
  });
  const [code] = (await once(child, "close").catch(() => [undefined])) as [number | null | undefined];
  clearTimeout(timer);
  if (code === 0) return;
  throw new WallError(
    `The sandbox cannot be set up here (${complaint.trim() || "bubblewrap gave no reason"}), so nothing is started. ` +
      `Use bubblewrap 0.8 or later, and let this user make user namespaces (on Ubuntu 24.04 and later an AppArmor profile for bwrap). ${OTHERWISE}`,
  );
}
