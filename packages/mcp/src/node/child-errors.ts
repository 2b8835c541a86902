// What is said when a child cannot be started, and when it is gone.
import { type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { LocalError } from "../jsonrpc/local-error.js";

export interface Launch {
  /** The command line as people may see it. */
  readonly shown: string;
  readonly command: string;
  readonly cwd: string | undefined;
  readonly path: string | undefined;
}

// As the shells have them.
const NOT_RUNNABLE = 126;
const NOT_FOUND = 127;

/** `SPAWN_FAILED`, saying what to do about the system's refusal. */
export function spawnFailed(launch: Launch, error: unknown): LocalError {
  const code = (error as { code?: unknown } | undefined)?.code;
  const reason = refusals(launch)[String(code)] ?? `the system refused (${(error as Error).message})`;
  return new LocalError("SPAWN_FAILED", `Cannot start ${launch.shown}: ${reason}`, { cause: error });
}

function refusals(launch: Launch): Record<string, string> {
  const { command, cwd } = launch;
  if (cwd !== undefined && !isFolder(cwd)) {
    const reason = `the working directory "${cwd}" is not a folder we can enter. Create it, or correct cwd.`;
    return { ENOENT: reason, ENOTDIR: reason, EACCES: reason };
  }
  const full =
    "the system has no room for another process or pipe. End what is not needed, or raise its limits (ulimit).";
  return {
    ENOENT: notFound(launch),
    ENOTDIR: notFound(launch),
    EACCES: `"${command}" exists and may not be run: it is a folder, or not executable (chmod +x), or its disk is mounted noexec.`,
    EPERM: `"${command}" may not be run by this user.`,
    ENOEXEC: `"${command}" is not a program of this machine, and has no #! line that names its interpreter.`,
    E2BIG: "its arguments and environment together are longer than the system allows.",
    ...(process.platform === "win32" ? { EINVAL: windowsHint(command) } : {}),
    ERR_INVALID_ARG_VALUE: "the command, an argument or a variable holds a NUL character, or the command is empty.",
    EMFILE: full,
    ENFILE: full,
    EAGAIN: full,
    ENOMEM: full,
  };
}

function notFound({ command, path, cwd }: Launch): string {
  if (process.platform === "win32") return windowsHint(command);
  if (!command.includes("/")) {
    return `there is no program "${command}" in the PATH of the child (${path ?? "which is not set"}). Install it, or give its full path.`;
  }
  if (isFile(resolve(cwd ?? "", command))) {
    return `"${command}" exists, and the interpreter or loader it asks for (see its first line) does not.`;
  }
  return `there is no file "${command}"${cwd === undefined ? "" : ` (looked for from "${cwd}")`}. Install it, or correct the path.`;
}

function windowsHint(command: string): string {
  return (
    `there is no program "${command}" that Windows starts by itself. Scripts (.cmd, .bat; npx is one) need their ` +
    `interpreter: command "cmd", args ["/c", "${command}", …].`
  );
}

/** How a process ended, as a sentence without its subject; `unasked` says that it was not us. */
export function howItEnded(status: number | null, signal: string | null, unasked: boolean): string {
  if (signal !== null) {
    const by = signal === "SIGKILL" && unasked ? ", which somebody sent, or the system for lack of memory" : "";
    return `was ended by ${signal}${by}`;
  }
  const meaning =
    status === NOT_FOUND
      ? ", which says that the program it should run was not found"
      : status === NOT_RUNNABLE
        ? ", which says that the program it should run may not be run"
        : "";
  return `exited with status ${status}${meaning}`;
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false;
}

function isFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
