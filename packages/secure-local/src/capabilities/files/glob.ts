// Matches paths below a folder against a glob, in time that grows with glob times path, whatever they are.
import { matchSegments } from "../../policy/path-matcher.js";

/** Alternatives one pattern may stand for: more is a mistake, or meant to take long. */
const MOST_ALTERNATIVES = 64;
const LONGEST = 1_024;

/** Tells whether a path relative to the folder that was searched fits. */
export type GlobTest = (path: string) => boolean;

/**
 * `*` and `?` stay inside a name, `**` as a whole name is any number of folders, `{a,b}` is either, without nesting. A glob
 * without a slash is compared with the last name alone. Returns a sentence about what is wrong with a glob that cannot be used.
 */
export function globTest(glob: string): GlobTest | string {
  if (glob.length > LONGEST) return `a pattern has at most ${LONGEST} characters`;
  if (/[[\]!]/.test(glob)) return "a pattern knows *, **, ? and {a,b}; [, ] and ! stand for nothing";
  const alternatives = expand(glob);
  if (alternatives === undefined)
    return `braces stand for at most ${MOST_ALTERNATIVES} alternatives, and not one in another`;
  const patterns = alternatives.map((text) => text.split("/").filter((name) => name !== "" && name !== "."));
  const byName = !glob.includes("/");
  return (path) => {
    const names = path.split("/");
    const compared = byName ? names.slice(-1) : names;
    return patterns.some((pattern) => matchSegments(pattern, compared));
  };
}

function expand(glob: string): string[] | undefined {
  const parts = glob.split(/\{([^{}]*)\}/);
  if (parts.some((part, index) => index % 2 === 0 && /[{}]/.test(part))) return undefined;
  let texts = [""];
  for (const [index, part] of parts.entries()) {
    const choices = index % 2 === 0 ? [part] : part.split(",");
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
    if (texts.length > MOST_ALTERNATIVES) return undefined;
  }
  return texts;
}
