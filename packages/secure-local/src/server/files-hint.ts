// What to do about a server that may not write where it wants to: the system says "read-only" or "no such file", and not who made it so.
import { posix } from "node:path";
import type { SandboxPolicy, ServerGrant } from "../policy/policy.js";

/** How programs say that a file system is read-only: Node, Python, Go, Rust, and the system itself. */
const READ_ONLY = /\bEROFS\b|\bread-only file ?system\b|\[Errno 30\]|\(os error 30\)/i;
/** What they say in a folder that the sandbox does not show at all, as of a file that nobody made yet. */
const MISSING = /\bENOENT\b|\bno such file or directory\b|\[Errno 2\]|\(os error 2\)/i;
const CLOSED = /\b(?:EACCES|EPERM)\b|\bpermission denied\b|\[Errno 13?\]|\(os error 13?\)/i;
/** The file, where the words name one: behind what was tried, in quotes, or before the reason. */
const PATH = /(?:'|"|`)(\/[^'"`\n]{1,400})(?:'|"|`)|\b(?:open|mkdir|rename|unlink|create) (\/[^\s:'"]{1,400})/;
/** Seen in every sandbox, or its own: what is missing there is missing. */
const EVERYWHERE = /^\/(?:usr|bin|sbin|lib\w*|nix\/store|etc|proc|sys|dev|tmp)\//;
/** A name that no file has: a folder is granted where this is granted in it. */
const ANY_NAME = "\u0001";

/** Undefined for words that tell of something else, and for a server that was not started here or has no wall around it. */
export function filesHint(
  grant: ServerGrant,
  said: string,
  mode: SandboxPolicy["mode"] = "required",
): string | undefined {
  if (grant.launch.kind === "url" || mode === "none") return undefined;
  const [, quoted, plain] = PATH.exec(said) ?? [];
  const path = quoted ?? plain;
  const readOnly = READ_ONLY.test(said);
  if (!readOnly && (path === undefined || !isShutOut(grant, said, path))) return undefined;
  const allowed = grant.filesystem.allowed.rules.map(({ pattern }) => pattern);
  const changes = allowed.length === 0 ? "no file" : `no file but those of ${allowed.join(", ")}`;
  const what = path === undefined ? "the folder that it writes in" : `the folder of ${path}`;
  const wish = readOnly ? "If it is to" : "If it is to write there";
  return `The sandbox of ${grant.name} lets it change ${changes}. ${wish}, its owner adds ${what} to servers.${grant.name}.filesystem.allowed_paths.`;
}

/**
 * Whether it is the sandbox that hides a path, or keeps it closed: the folder counts, since programs write beside a file and then rename.
 * Nothing is looked up here: a server could ask by its words what there is on this machine.
 */
function isShutOut({ filesystem }: ServerGrant, said: string, path: string): boolean {
  if (EVERYWHERE.test(path)) return false;
  const inFolder = posix.join(posix.dirname(path), ANY_NAME);
  if (filesystem.allowed.find(inFolder)) return false;
  if (CLOSED.test(said)) return true;
  return MISSING.test(said) && !filesystem.readable.find(inFolder);
}
