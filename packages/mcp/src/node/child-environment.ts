// What a child sees of our environment: what programs need to run, and nothing else.

const POSIX_NAMES = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
const WINDOWS_NAMES = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
];

/** Carries the marks of the trees a process belongs to, joined by colons, for finding it again. */
export const TREE_VARIABLE = "MCP_SECURE_LOCAL_TREE";

// Marks of sixty trees one in the other: whatever is longer was not made by us.
const MARKS = /^[0-9a-f]{16}(?::[0-9a-f]{16}){0,59}$/;

/** Variables by name; undefined takes one away. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvironmentOptions {
  /** Set in the child, over anything inherited. Undefined takes a variable away. */
  readonly env?: Environment | undefined;
  /** More names to inherit, or true for all of the parent's environment. Default: none. */
  readonly inheritEnv?: boolean | readonly string[] | undefined;
}

/** Inherits a fixed list of names, `inheritEnv` beside it; values that are shell functions are never passed on. */
export function childEnvironment(
  { env = {}, inheritEnv = [] }: EnvironmentOptions,
  mark: string,
  parent: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const windows = process.platform === "win32";
  const child = new Map<string, [string, string]>();
  const set = (name: string, value: string | undefined): void => {
    const key = windows ? name.toUpperCase() : name;
    if (value === undefined) child.delete(key);
    else child.set(key, [name, value]);
  };
  const wanted = inheritedNames(inheritEnv, windows);
  for (const [name, value] of Object.entries(parent)) {
    if (value === undefined || value.startsWith("()")) continue;
    if (wanted === undefined || wanted.has(windows ? name.toUpperCase() : name)) set(name, value);
  }
  for (const [name, value] of Object.entries(env)) set(name, value);
  const outer = parent[TREE_VARIABLE];
  set(TREE_VARIABLE, outer !== undefined && MARKS.test(outer) ? `${outer}:${mark}` : mark);
  return Object.fromEntries(child.values());
}

function inheritedNames(inheritEnv: boolean | readonly string[], windows: boolean): Set<string> | undefined {
  if (inheritEnv === true) return undefined;
  const names = [...(windows ? WINDOWS_NAMES : POSIX_NAMES), ...(inheritEnv === false ? [] : inheritEnv)];
  return new Set(windows ? names.map((name) => name.toUpperCase()) : names);
}
