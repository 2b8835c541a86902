// Finds the paths that a call names: one list for what a person is shown, what a consent is bound to and what may be opened. Pure.
import { type LeadsTo, pathsOfCommand } from "./decide-command.js";
import type { Policy } from "./policy.js";

/** A path that a call names. */
export interface CallPath {
  /** As the call writes it. */
  readonly given: string;
  /** What is opened. */
  readonly path: string;
}

/** Paths of one call: more nobody would read, and looking where each leads takes its time. */
export const MOST_PATHS = 1_000;
/** No system opens what is longer. */
const LONGEST_PATH = 4_096;
const ABSOLUTE = /^(?:\/|[A-Za-z]:[/\\])/;
const FILE_URI = /^file:\/\/[^/]*(?=\/)/i;

/**
 * The absolute paths among all texts of the arguments, those in file: URIs and behind the `=` of a flag too. Of a command, what it is
 * decided by: each path in full, however it was written. Undefined where there are more than `MOST_PATHS`.
 */
export function pathsOfCall(
  policy: Policy,
  { tool, arguments: args }: { readonly tool: string; readonly arguments: unknown },
): readonly CallPath[] | undefined {
  const found = new Map<string, CallPath>();
  const add = (each: CallPath): boolean => {
    if (each.path.length <= LONGEST_PATH) found.set(`${each.given}\0${each.path}`, each);
    return found.size <= MOST_PATHS;
  };
  for (const each of tool === "run_command" ? ofCommand(policy, args) : []) if (!add(each)) return undefined;
  const decided = new Set([...found.values()].map(({ given }) => given));
  for (const text of textsOf(args)) {
    const path = pathIn(text);
    if (path !== undefined && !decided.has(path) && !add({ given: path, path })) return undefined;
  }
  return [...found.values()].sort((a, b) => (a.given < b.given ? -1 : 1));
}

function ofCommand(policy: Policy, args: unknown): CallPath[] {
  const { command, arguments: given = [] } = (args ?? {}) as {
    readonly command?: unknown;
    readonly arguments?: unknown;
  };
  if (typeof command !== "string" || !isTexts(given)) return [];
  return pathsOfCommand(policy, command, given).map(({ path, argument, before }) => ({
    given: (given[argument] ?? "").slice(before.length),
    path,
  }));
}

function isTexts(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((each) => typeof each === "string");
}

/** Every text in a value, names of members too. */
function* textsOf(given: unknown): Iterable<string> {
  const waiting: unknown[] = [given];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string") yield value;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) yield name;
      waiting.push(member);
    }
  }
}

/** The absolute path that a text is, or that stands in it as tools write one. */
function pathIn(text: string): string | undefined {
  if (text.length > 4 * LONGEST_PATH) return undefined;
  if (ABSOLUTE.test(text)) return text;
  const value = text.startsWith("-") ? text.slice(text.indexOf("=") + 1) : text;
  if (ABSOLUTE.test(value)) return value;
  return FILE_URI.test(value) ? decoded(value.replace(FILE_URI, "")) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a consent is bound to of paths that lead elsewhere: where those of which nobody is told where they lead do so all the same. */
export function boundPlaces(paths: readonly CallPath[], leads: LeadsTo): ReturnType<typeof ledElsewhere> {
  return ledElsewhere(paths, (path, folders) => {
    const told = leads(path, folders);
    // No path begins so.
    return told ?? { real: `?${leads.bound?.(path) ?? ""}`, names: [] };
  });
}

/** Which of the paths lead elsewhere than to themselves, and where; undefined where it cannot be told. */
export function ledElsewhere(
  paths: readonly CallPath[],
  leads: LeadsTo,
): (readonly [given: string, real: string | undefined])[] {
  return paths.flatMap(({ given, path }) => {
    const real = leads(path, [])?.real;
    return real === given ? [] : [[given, real] as const];
  });
}
