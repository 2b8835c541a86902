// The wall on Linux: bubblewrap, with a system call filter of our own and limits set from inside.
import { Buffer } from "node:buffer";
import { linuxRoot, type LinuxRoot } from "./linux-root.js";
import { relayed } from "./relayed.js";
import { seccompFilter } from "./seccomp-filter.js";
import type { Processor } from "./system-calls.js";
import { BASE_ENVIRONMENT, type Handed, type Launch, type Reach, type Wall, type WalledCommand } from "./wall.js";

/** Where the programs are that make the wall. */
export interface WallPrograms {
  readonly bwrap: string;
  /** Seen under the same path inside, so it has to lie in /usr or /bin. */
  readonly prlimit: string;
  /** A POSIX shell, likewise. It runs one fixed script and never sees a text of anybody's. */
  readonly sh: string;
}

/** First file descriptor behind stdin, stdout and stderr. */
const FIRST_FEED = 3;
/**
 * Tells that it is there, and begins only when it is told to. By then the kernel knows to end the sandbox with this process:
 * whoever is killed before leaves a closed gate, at which the sandbox ends.
 */
const GATE_SCRIPT = 'echo >&3; read -r go <&3 || exit 1; exec 3<&-; exec "$@"';
const MIB = 1024 * 1024;
/** Open files of one process: enough for a package manager. */
const OPEN_FILES = 4_096;
/** /tmp may hold this many files of the longest length. */
const SCRATCH_FILES = 4;
const WORKING_DIRECTORY = "/tmp/work";
/** Who a program is inside when it is root outside: some refuse to run as root. */
const PLAIN_ID = 1_000;

export class Bubblewrap implements Wall {
  readonly name = "bubblewrap";
  readonly #programs: WallPrograms;
  readonly #processor: Processor;
  readonly #root: LinuxRoot = linuxRoot();

  constructor(programs: WallPrograms, processor: Processor) {
    this.#programs = programs;
    this.#processor = processor;
  }

  launch(given: WalledCommand): Launch {
    const command = relayed(given);
    const feeds: (Buffer | "gate")[] = ["gate"];
    const feed = (bytes: Buffer): string => String(FIRST_FEED + feeds.push(bytes) - 1);
    const filter = feed(seccompFilter(this.#processor, { unixSockets: command.egress !== undefined }));
    const args = [...namespaces(), "--seccomp", filter, ...this.#files(command, feed), ...environment(command)];
    // Values of the environment would stand in the list of processes, for every user of this machine.
    const list = feed(Buffer.from(`${args.join("\0")}\0`));
    return {
      file: this.#programs.bwrap,
      args: ["--args", list, "--", ...this.#gate(), ...this.#limits(command), command.executable, ...command.args],
      env: {},
      feeds,
    };
  }

  #files(command: WalledCommand, feed: (bytes: Buffer) => string): string[] {
    const scratch = String(command.limits.fileMb * SCRATCH_FILES * MIB);
    const handed = command.handed ?? [];
    return [
      ...this.#root.mounts,
      ...["--proc", "/proc", ...this.#root.covers],
      ...["--dev", "/dev", "--size", scratch, "--tmpfs", "/dev/shm"],
      ...["--size", scratch, "--tmpfs", "/tmp", "--dir", WORKING_DIRECTORY],
      // Copied into the root folder, which is made read-only below: cheaper than a mount each.
      ...who().flatMap(({ path, bytes }) => ["--perms", "0444", "--file", feed(bytes), path]),
      ...handed.flatMap(({ path, bytes, executable }) => [
        ...["--perms", executable === true ? "0555" : "0444"],
        ...["--ro-bind-data", feed(bytes), path],
      ]),
      ...[...(command.reach ?? [])].sort(byPath).flatMap(bind),
      ...(command.egress === undefined ? [] : ["--ro-bind", command.egress, command.egress]),
      // What is not mounted lies in memory without a limit of its own.
      ...["--remount-ro", "/dev", "--remount-ro", "/"],
      ...["--chdir", command.workingDirectory ?? WORKING_DIRECTORY],
    ];
  }

  #gate(): string[] {
    return [this.#programs.sh, "-c", GATE_SCRIPT, "sh"];
  }

  /** Set inside: the kernel counts processes by namespace, and outside they would be all of this user's. */
  #limits({ limits: { processes, memoryMb, cpuSeconds, fileMb } }: WalledCommand): string[] {
    return [
      this.#programs.prlimit,
      `--nproc=${processes}`,
      // Not the address space: Node reserves many times what it uses.
      `--data=${memoryMb * MIB}`,
      `--fsize=${fileMb * MIB}`,
      `--cpu=${cpuSeconds}`,
      `--nofile=${OPEN_FILES}`,
      "--core=0",
      "--",
    ];
  }
}

function namespaces(): string[] {
  const { uid, gid } = identity();
  return [
    ...["--unshare-user", "--disable-userns", "--unshare-all", "--uid", String(uid), "--gid", String(gid)],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"],
  ];
}

function identity(): { readonly uid: number; readonly gid: number } {
  return { uid: process.getuid?.() || PLAIN_ID, gid: process.getgid?.() || PLAIN_ID };
}

/** The few files of /etc by which programs find out who and where they are. */
function who(): Handed[] {
  const { uid, gid } = identity();
  const file = (path: string, text: string): Handed => ({ path, bytes: Buffer.from(text) });
  return [
    file("/etc/passwd", `sandbox:x:${uid}:${gid}::/tmp:/bin/sh\n`),
    file("/etc/group", `sandbox:x:${gid}:\n`),
    file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
  ];
}

function environment({ env }: WalledCommand): string[] {
  return Object.entries({ ...BASE_ENVIRONMENT, ...env }).flatMap(([name, value]) => ["--setenv", name, value]);
}

/** A folder before what lies in it; what covers comes last, wherever it lies. */
function byPath(a: Reach, b: Reach): number {
  const covers = Number(a.access === "hidden") - Number(b.access === "hidden");
  return covers || ((a.at ?? a.path) < (b.at ?? b.path) ? -1 : 1);
}

function bind({ path, at = path, access }: Reach): string[] {
  switch (access) {
    case "read":
      return ["--ro-bind", path, at];
    case "write":
      return ["--bind", path, at];
    case "hidden":
      return at.endsWith("/")
        ? ["--perms", "0000", "--tmpfs", at.slice(0, -1), "--remount-ro", at.slice(0, -1)]
        : ["--ro-bind", "/dev/null", at];
  }
}
