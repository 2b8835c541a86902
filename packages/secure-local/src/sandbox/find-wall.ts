// Finds the wall of this machine, and proves that it stands, before anything is started behind it.
import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import type { SandboxPolicy } from "../policy/policy.js";
import { Bubblewrap, type WallPrograms } from "./bubblewrap.js";
import { endWalled, startWalled } from "./start-walled.js";
import type { Processor } from "./seccomp-filter.js";
import {
  BASE_ENVIRONMENT,
  homeEnvironment,
  KEPT_HOME,
  type Launch,
  proxyEnvironment,
  type Reach,
  type Wall,
  type WalledCommand,
  WallError,
  type WallLimits,
} from "./wall.js";

const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
/** A machine under load still starts `true` within this. */
const PROOF_MS = 20_000;
/** Most of what the wall's program says that is repeated. */
const MAX_ERRORS = 500;
const PROOF_LIMITS: WallLimits = { processes: 16, memoryMb: 64, cpuSeconds: 5, fileMb: 1 };
const OTHERWISE =
  "Or let the policy say sandbox: none: servers, plugins and commands then run with all the rights of your account, and may read every file and reach every host that you can.";

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
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (errors.length < MAX_ERRORS) errors = (errors + text).slice(0, MAX_ERRORS);
  });
  const [code] = (await once(child, "close").catch(() => [undefined])) as [number | null | undefined];
  clearTimeout(timer);
  if (code === 0) return;
  throw new WallError(
    `The sandbox cannot be set up here (${errors.trim() || "bubblewrap gave no reason"}), so nothing is started. ` +
      `Use bubblewrap 0.8 or later, and let this user make user namespaces (on Ubuntu 24.04 and later an AppArmor profile for bwrap). ${OTHERWISE}`,
  );
}

// No wall at all, for `sandbox: none`: a clean environment is all that is left.

export const noWall: Wall = {
  name: "none",
  launch({ executable, args, env, workingDirectory, handed = [], egress }: WalledCommand): Launch {
    if (egress !== undefined) throw new WallError("Without a sandbox nothing is kept to a network of its own.");
    // There is no place to hand files to. Programs are handed to Node alone, which takes their text in place of their path.
    const inPlace = (arg: string): string[] => {
      const bytes = handed.find(({ path }) => path === arg)?.bytes;
      return bytes instanceof Uint8Array ? ["--eval", new TextDecoder().decode(bytes), arg] : [arg];
    };
    const cwd = workingDirectory ?? tmpdir();
    return {
      file: executable,
      args: args.flatMap(inPlace),
      env: { ...BASE_ENVIRONMENT, HOME: cwd, ...env },
      cwd,
      feeds: [],
    };
  },
};

// The wall on macOS: sandbox-exec with a profile that denies what it does not name.

/** Part of macOS; Apple calls it deprecated, and Chrome, Bazel and others live by it. */
const SANDBOX_EXEC = "/usr/bin/sandbox-exec";
const SYSTEM = ["/usr", "/bin", "/sbin", "/System", "/Library/Frameworks", "/private/var/db/dyld", "/opt/homebrew"];
const SYSTEM_FILES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/private/etc/ssl/cert.pem"];

export const sandboxExec: Wall = {
  name: "sandbox-exec",
  launch(command: WalledCommand): Launch {
    const { executable, args, env, workingDirectory, handed = [], egress } = command;
    if (handed.length > 0)
      throw new WallError("On macOS plugins that are modules, and commands with a hash, are not walled in yet.");
    const cwd = workingDirectory ?? realpathSync(tmpdir());
    // Everything is seen where it is: nothing can be mounted here.
    const home = command.reach?.find(({ at }) => at === KEPT_HOME)?.path;
    const proxy = egress === undefined ? {} : proxyEnvironment(egress.replace(/^http:\/\//, ""));
    return {
      file: SANDBOX_EXEC,
      args: ["-p", seatbeltProfile(command), executable, ...args],
      env: { ...BASE_ENVIRONMENT, ...homeEnvironment(home ?? cwd), ...env, ...proxy },
      cwd,
      feeds: [],
    };
  },
};

/** The profile in Apple's language; the last rule that fits decides. */
export function seatbeltProfile({
  executable,
  reach = [],
  egress,
}: Pick<WalledCommand, "executable" | "reach" | "egress">): string {
  const lines = [
    "(version 1)",
    "(deny default)",
    "(allow process-fork)",
    "(allow process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow file-read-metadata)",
    `(allow file-read* ${[...SYSTEM.map(subpath), ...[...SYSTEM_FILES, executable].map(literal)].join(" ")})`,
    `(allow file-write-data ${literal("/dev/null")})`,
    ...[...reach].sort(byPath).map(rule),
    "(deny network*)",
    // The last rule that fits decides; the proxy's port is all of the network there is, loopback's other ports included.
    ...(egress === undefined ? [] : [`(allow network-outbound (remote ip "localhost:${portOf(egress)}"))`]),
    "(deny mach-lookup)",
  ];
  return `${lines.join("\n")}\n`;
}

/** Digits, so that nothing else gets into the profile. */
function portOf(proxy: string): number {
  const port = URL.canParse(proxy) ? Number(new URL(proxy).port) : 0;
  if (port > 0) return port;
  throw new WallError("On macOS the way out of a sandbox is a proxy on loopback, given as a URL with its port.");
}

/** A folder before what lies in it; what covers comes behind all that, wherever it lies, and what is seen apart in the end. */
function byPath(a: Reach, b: Reach): number {
  const turn = ({ access, apart }: Reach): number => (access === "hidden" ? 1 : apart === true ? 2 : 0);
  return turn(a) - turn(b) || (a.path < b.path ? -1 : 1);
}

function rule({ path, access }: Reach): string {
  const place = subpath(bare(path));
  switch (access) {
    case "write":
      return `(allow file-read* file-write* ${place})`;
    case "read":
      // It may lie in a folder that is written.
      return `(allow file-read* ${place})(deny file-write* ${place})`;
    case "hidden":
      return `(deny file* ${place})`;
  }
}

function bare(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}

function subpath(path: string): string {
  return `(subpath ${quoted(path)})`;
}

function literal(path: string): string {
  return `(literal ${quoted(path)})`;
}

/** A path cannot end its string: quotes and backslashes are escaped, control characters refused. */
function quoted(path: string): string {
  if (/[\u0000-\u001f\u007f]/.test(path)) throw new WallError("A path with control characters cannot be walled in.");
  return `"${path.replace(/["\\]/g, "\\$&")}"`;
}
