// Finds out whether a path is one of those no tool reaches, in whatever spelling.
import { foldName } from "./fold-name.js";
import { KERNEL_FOLDERS, PROTECTED_NAMES } from "./protected-names.js";

interface Sequence {
  /** Folded names of the folders above, nearest last. */
  readonly above: readonly string[];
  readonly rule: string;
}

/** The protected names, by how a name is compared with them. */
interface Tables {
  readonly exact: Map<string, Sequence[]>;
  readonly prefixes: { readonly start: string; readonly sequence: Sequence }[];
  readonly suffixes: { readonly end: string; readonly sequence: Sequence }[];
}

/** Made for the first path that is looked at: most sessions open no file. */
let made: Tables | undefined;

function tables(): Tables {
  if (made !== undefined) return made;
  made = { exact: new Map(), prefixes: [], suffixes: [] };
  for (const { reason, names } of PROTECTED_NAMES) {
    for (const name of names) add(made, name, `built-in protection of ${name}: ${reason}`);
  }
  return made;
}

function add({ exact, prefixes, suffixes }: Tables, name: string, rule: string): void {
  const parts = name.split("/");
  const last = parts.pop() as string;
  const sequence = { above: parts, rule };
  if (last.endsWith("*")) prefixes.push({ start: last.slice(0, -1), sequence });
  else if (last.startsWith("*")) suffixes.push({ end: last.slice(1), sequence });
  else exact.set(last, [...(exact.get(last) ?? []), sequence]);
}

/** The rule that protects an absolute path, or a folder it lies in; undefined when none does. */
export function protectionOf(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "");
  if (names.length > 0 && KERNEL_FOLDERS.includes(names[0] as string))
    return `built-in protection of /${names[0]}: it is a door into the kernel`;
  const folded = names.map(foldName);
  for (let index = 0; index < folded.length; index += 1) {
    const rule = ruleAt(folded, index);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

function ruleAt(folded: readonly string[], index: number): string | undefined {
  const name = folded[index] as string;
  const { exact, prefixes, suffixes } = tables();
  const fits = ({ above }: Sequence): boolean => above.every((part, i) => folded[index - above.length + i] === part);
  const same = exact.get(name)?.find(fits);
  if (same !== undefined) return same.rule;
  for (const { start, sequence } of prefixes) if (name.startsWith(start) && fits(sequence)) return sequence.rule;
  for (const { end, sequence } of suffixes) if (name.endsWith(end) && fits(sequence)) return sequence.rule;
  return undefined;
}
