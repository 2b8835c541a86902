// Writes several mutants into one source text, each behind a switch: the text is compiled once, and a number in the
// environment says which of them is on. The programs that a test starts read the same number, bundles included.

import { ChildProcess } from "node:child_process";
import { join, sep } from "node:path";

/** Set to the number of the mutant that is on, in every process of a run. */
export const ON = "MUTANT";
/** Set to a file instead, each process appends to it the number of each mutant whose place it comes by. */
export const HITS = "MUTANT_HITS";
/** Before the number of a hit while a test file is being loaded, which modules that are loaded once tell of one file alone. */
export const AT_LOAD = "L";
/** Where the hits of this process go: `{ path, mark, seen }`. */
const HITS_OF_NOW = "__mutantHits";
/** The number that is on in this process, which may change while it runs. */
const ON_NOW = "__mutantOn";
const BUILT = `${sep}dist${sep}`;

/**
 * From now on what this process and its children come by is said of the test file `name`, in a file of `folder`: while it is
 * being loaded, and then as it runs.
 */
export function countHitsOf(name, folder, { loading = false } = {}) {
  process.env[HITS] = hitsFile(name, folder);
  globalThis[HITS_OF_NOW] = { path: process.env[HITS], mark: loading ? AT_LOAD : "", seen: new Set() };
  tellPrograms(HITS);
}

/** From now on this mutant is on in this process and the programs it starts (0: none), and no other. */
export function turnOn(number) {
  process.env[ON] = String(number);
  globalThis[ON_NOW] = number;
  tellPrograms(ON);
}

/** Tests start the built program with an environment of their own making: it gets this one's variable all the same. */
function tellPrograms(name) {
  const told = ChildProcess.prototype.spawn;
  const value = process.env[name];
  if (told.programs?.name === name) {
    told.programs.value = value;
    return;
  }
  const programs = { name, value };
  ChildProcess.prototype.spawn = Object.assign(
    function spawn(options) {
      const { args = [], envPairs } = options;
      const own = `${name}=`;
      if (args.some((arg) => arg.includes(BUILT)) && !envPairs?.some((pair) => pair.startsWith(own)))
        options.envPairs = [...(envPairs ?? []), own + programs.value];
      return told.call(this, options);
    },
    { programs },
  );
}

export function hitsFile(name, folder) {
  return join(folder, encodeURIComponent(name));
}

/** Defines `__mutant(number)` once a process; it stands on the first line, so that lines keep their numbers. */
const SWITCH = `globalThis.__mutant ??= (() => {
  const { ${ON}: on, ${HITS}: path } = globalThis.process?.env ?? {};
  if (path === undefined) { globalThis.${ON_NOW} ??= Number(on); return (asked) => asked === globalThis.${ON_NOW}; }
  const { appendFileSync } = process.getBuiltinModule("node:fs");
  globalThis.${HITS_OF_NOW} ??= { path, mark: "", seen: new Set() };
  return (asked) => {
    const { path, mark, seen } = globalThis.${HITS_OF_NOW};
    if (!seen.has(asked)) { seen.add(asked); appendFileSync(path, mark + asked + "\\n"); }
    return false;
  };
})();`.replaceAll(/\s*\n\s*/g, " ");

/**
 * `text` with every one of `mutants` (of this text, each with its `number`) in it. A mutant within another's place stands in
 * what is left when the outer one is off.
 */
export function switched(text, mutants) {
  const ordered = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end || a.number - b.number);
  const render = (start, end, inner) => {
    let code = "";
    let at = start;
    for (let index = 0; index < inner.length;) {
      const { start: from, end: to } = inner[index];
      let next = index;
      while (next < inner.length && inner[next].start < to) next += 1;
      // Several mutants of one place: the first is asked first.
      const same = inner.slice(index, next).findIndex((each) => each.start !== from || each.end !== to);
      const alike = same === -1 ? next : index + same;
      let whole = render(from, to, inner.slice(alike, next));
      for (const each of inner.slice(index, alike).toReversed()) whole = either(each, whole);
      code += text.slice(at, from) + whole;
      at = to;
      index = next;
    }
    return code + text.slice(at, end);
  };
  return `${SWITCH} ${render(0, text.length, ordered)}`;
}

function either({ number, replace, statement }, whole) {
  const test = `globalThis.__mutant(${number})`;
  return statement ? `if (${test}) { ${replace} } else { ${whole} }` : `(${test} ? (${replace}) : (${whole}))`;
}
