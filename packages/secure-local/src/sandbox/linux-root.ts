// Finds out which parts of a Linux system a program behind the wall needs to run at all.
import { existsSync, lstatSync, readlinkSync } from "node:fs";

/** What of this machine every sandbox sees, as arguments of bubblewrap. */
export interface LinuxRoot {
  /** System folders and the few files of /etc, all read-only. */
  readonly mounts: readonly string[];
  /** Covers what of /proc tells of, or acts on, the whole machine. To be mounted after /proc. */
  readonly covers: readonly string[];
}

const FOLDERS = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const WHOLE = ["/usr", "/nix/store", "/gnu/store"];
/** Dynamic linking, certificates, time zone. Nothing that says who uses this machine, and no private keys. */
const FILES = [
  "/etc/ld.so.cache",
  "/etc/alternatives",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
  "/etc/crypto-policies",
  "/etc/localtime",
];
/** What root outside may write, or read, without any capability. Each costs a start a third of a millisecond. */
const COVERED = ["/proc/sysrq-trigger", "/proc/keys", "/proc/timer_list"];

export function linuxRoot(): LinuxRoot {
  const mounts = WHOLE.filter(existsSync).flatMap((path) => ["--ro-bind", path, path]);
  for (const path of FOLDERS) {
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink()) mounts.push("--symlink", readlinkSync(path), path);
    else mounts.push("--ro-bind", path, path);
  }
  for (const path of FILES) mounts.push("--ro-bind-try", path, path);
  // Without this, root's sandboxes could write core_pattern: the kernel asks for the user there, not for a capability.
  const covers = ["--ro-bind", "/proc/sys", "/proc/sys"];
  for (const path of COVERED) if (existsSync(path)) covers.push("--ro-bind", "/dev/null", path);
  return { mounts, covers };
}
