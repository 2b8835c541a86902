// Finds out whether a path is one of those no tool reaches, in whatever spelling.
import { foldName } from "./fold-name.js";
import { KERNEL_FOLDERS, PROTECTED_NAMES } from "./protected-names.js";

interface Sequence {
  /** Folded names of the folders above, nearest last. */
  readonly above: readonly string[];
  readonly rule: string;
}

const EXACT = new Map<string, Sequence[]>();
const PREFIXES: { readonly start: string; readonly sequence: Sequence }[] = [];
const SUFFIXES: { readonly end: string; readonly sequence: Sequence }[] = [];

for (const { reason, names } of PROTECTED_NAMES) {
  for (const name of names) add(name, `built-in protection of ${name}: ${reason}`);
}

function add(name: string, rule: string): void {
  const parts = name.split("/");
  const last = parts.pop() as string;
  const sequence = { above: parts, rule };
  if (last.endsWith("*")) PREFIXES.push({ start: last.slice(0, -1), sequence });
  else if (last.startsWith("*")) SUFFIXES.push({ end: last.slice(1), sequence });
  else EXACT.set(last, [...(EXACT.get(last) ?? []), sequence]);
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
  const fits = ({ above }: Sequence): boolean => above.every((part, i) => folded[index - above.length + i] === part);
  const exact = EXACT.get(name)?.find(fits);
  if (exact !== undefined) return exact.rule;
  for (const { start, sequence } of PREFIXES) if (name.startsWith(start) && fits(sequence)) return sequence.rule;
  for (const { end, sequence } of SUFFIXES) if (name.endsWith(end) && fits(sequence)) return sequence.rule;
  return undefined;
}
