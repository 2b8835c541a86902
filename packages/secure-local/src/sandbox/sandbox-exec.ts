// The wall on macOS: sandbox-exec with a profile that denies what it does not name.
import { tmpdir } from "node:os";
import { realpathSync } from "node:fs";
import { BASE_ENVIRONMENT, type Launch, type Reach, type Wall, type WalledCommand, WallError } from "./wall.js";

/** Part of macOS; Apple calls it deprecated, and Chrome, Bazel and others live by it. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";
const SYSTEM = ["/usr", "/bin", "/sbin", "/System", "/Library/Frameworks", "/private/var/db/dyld", "/opt/homebrew"];
const SYSTEM_FILES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/private/etc/ssl/cert.pem"];

export const sandboxExec: Wall = {
  name: "sandbox-exec",
  launch(command: WalledCommand): Launch {
    const { executable, args, env, workingDirectory, handed = [] } = command;
    if (handed.length > 0 || command.egress !== undefined)
      throw new WallError("On macOS plugins that are modules, and a network of their own, are not walled in yet.");
    const cwd = workingDirectory ?? realpathSync(tmpdir());
    return {
      file: SANDBOX_EXEC,
      args: ["-p", seatbeltProfile(command), executable, ...args],
      env: { ...BASE_ENVIRONMENT, HOME: cwd, ...env },
      cwd,
      feeds: [],
    };
  },
};

/** The profile in Apple's language; the last rule that fits decides. */
export function seatbeltProfile({ executable, reach = [] }: Pick<WalledCommand, "executable" | "reach">): string {
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
    ...reach.filter(({ access }) => access !== "hidden").map(allowance),
    ...reach.filter(({ access }) => access === "hidden").map(({ path }) => `(deny file* ${subpath(bare(path))})`),
    "(deny network*)",
    "(deny mach-lookup)",
  ];
  return `${lines.join("\n")}\n`;
}

function allowance({ path, access }: Reach): string {
  return `(allow file-read*${access === "write" ? " file-write*" : ""} ${subpath(bare(path))})`;
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
