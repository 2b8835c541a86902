// What to do about a server that may not write where it wants to: the system says "read-only", and not who made it so.
import type { ServerGrant } from "../policy/policy.js";

/** How programs say that a file system is read-only: Node, Python, Go, Rust, and the system itself. */
const READ_ONLY = /\bEROFS\b|\bread-only file ?system\b|\[Errno 30\]|\(os error 30\)/i;
/** The file, where the words name one: behind what was tried, in quotes, or before the reason. */
const PATH = /(?:'|"|`)(\/[^'"`\n]{1,400})(?:'|"|`)|\b(?:open|mkdir|rename|unlink|create) (\/[^\s:'"]{1,400})/;

/** Undefined for words that tell of something else, and for a server that was not started here. */
export function filesHint({ name, launch, filesystem }: ServerGrant, said: string): string | undefined {
  if (launch.kind === "url" || !READ_ONLY.test(said)) return undefined;
  const [, quoted, plain] = PATH.exec(said) ?? [];
  const path = quoted ?? plain;
  const allowed = filesystem.allowed.rules.map(({ pattern }) => pattern);
  const changes = allowed.length === 0 ? "no file" : `no file but those of ${allowed.join(", ")}`;
  const what = path === undefined ? "the folder that it writes in" : `the folder of ${path}`;
  return `The sandbox of ${name} lets it change ${changes}. If it is to, its owner adds ${what} to servers.${name}.filesystem.allowed_paths.`;
}
