// The wall on macOS: sandbox-exec with a profile that denies what it does not name.
import { tmpdir } from "node:os";
import { realpathSync } from "node:fs";
import { proxyEnvironment } from "./relayed.js";
import {
  BASE_ENVIRONMENT,
  homeEnvironment,
  KEPT_HOME,
  type Launch,
  type Reach,
  type Wall,
  type WalledCommand,
  WallError,
} from "./wall.js";

/** Part of macOS; Apple calls it deprecated, and Chrome, Bazel and others live by it. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";
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

/** A folder before what lies in it; what covers comes last, wherever it lies. */
function byPath(a: Reach, b: Reach): number {
  const covers = Number(a.access === "hidden") - Number(b.access === "hidden");
  return covers || (a.path < b.path ? -1 : 1);
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
