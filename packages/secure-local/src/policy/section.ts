// Takes typed values out of one mapping of a policy and reports everything that does not belong there.
import type { Faults, Place } from "./faults.js";
import type { MapTree, Tree } from "./policy-tree.js";

// Finds the name a person probably meant.

/** Names longer than this are not compared: nobody mistypes a key that long, and the comparison is quadratic. */
const MAX_LENGTH = 40;

/** `; did you mean "x"?` when one of the names is close to the one given, otherwise an empty text. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const wanted = given.toLowerCase().replaceAll("-", "_");
  let best = "";
  // Of a short word two letters are half: what is left is another word, not a slip.
  const most = given.length < 5 ? 1 : Math.max(2, Math.floor(given.length / 3));
  let bestDistance = 1 + most;
  for (const name of names) {
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best === "" ? "" : `; did you mean "${best}"?`;
}

/** Letters to add, leave out, change or exchange with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  if (a.length > MAX_LENGTH || b.length > MAX_LENGTH) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchange = exchanged ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1, exchange));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}

/** A value and where it stands. */
export interface Placed<T> {
  readonly value: T;
  readonly place: Place;
}

/** A key of a mapping whose keys are names: the name, its value, and where the name stands. */
export type NamedEntry<T> = readonly [name: string, value: Placed<T>, place: Place];

/** What a value must be, in words and as a test. */
export interface Expectation<T> {
  readonly words: string;
  /** The value in its final form, or undefined when it is not one. */
  readonly read: (value: unknown) => T | undefined;
}

export const TEXT: Expectation<string> = {
  words: "text",
  read: (value) => (typeof value === "string" && value !== "" ? value : undefined),
};
export const YES_NO: Expectation<boolean> = {
  words: "true or false",
  read: (value) => (typeof value === "boolean" ? value : undefined),
};

/** One of some words. */
export function oneOf<const T extends string>(...words: readonly T[]): Expectation<T> {
  return {
    words: `${words.slice(0, -1).join(", ")} or ${words[words.length - 1]}`,
    read: (value) => words.find((word) => word === value),
  };
}

/** Seconds, fractions included. */
export function secondsUpTo(max: number): Expectation<number> {
  return {
    words: `a number of seconds above 0 and up to ${max}`,
    read: (value) => (typeof value === "number" && value > 0 && value <= max ? value : undefined),
  };
}

export function wholeNumber(min: number, max: number): Expectation<number> {
  const read = (value: unknown): number | undefined =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
  return { words: `a whole number from ${min} to ${max}`, read };
}

export class Section {
  readonly path: string;
  readonly faults: Faults;
  readonly #tree: MapTree | undefined;
  readonly #known: Set<string> = new Set();

  /** @param path The name of the mapping, for messages; empty for the whole file. */
  constructor(tree: Tree | undefined, path: string, faults: Faults) {
    this.path = path;
    this.faults = faults;
    if (tree?.kind === "map") this.#tree = tree;
    else if (tree && !(tree.kind === "value" && tree.value === null)) {
      faults.add(tree.place, `${path || "a policy"} must be a mapping of keys to values; it is ${kindOf(tree)}`);
    }
  }

  /** The name of a key with all the sections it stands in. */
  name(key: string): string {
    return this.path === "" ? key : `${this.path}.${key}`;
  }

  /** The tree under a key, undefined when the key is absent. */
  tree(key: string): Tree | undefined {
    this.#known.add(key);
    return this.#tree?.entries.get(key)?.value;
  }

  /** The mapping under a key; empty when it is absent or has no value, as when everything in it is commented out. */
  section(key: string): Section {
    return new Section(this.tree(key), this.name(key), this.faults);
  }

  value<T>(key: string, wanted: Expectation<T>): Placed<T> | undefined {
    const tree = this.tree(key);
    return tree && this.#read(tree, this.name(key), wanted);
  }

  /** The value under a key that has to be there. */
  need<T>(key: string, wanted: Expectation<T>): Placed<T> | undefined {
    if (this.#tree && this.tree(key) === undefined) {
      this.faults.add(this.place, `${this.path} needs ${key}: ${wanted.words}`);
      return undefined;
    }
    return this.value(key, wanted);
  }

  /** The list under a key, undefined when it is absent; items that are not what is wanted are reported and left out. */
  list<T>(key: string, wanted: Expectation<T>): Placed<T>[] | undefined {
    return this.trees(key)?.flatMap((item) => this.#read(item, `each item of ${this.name(key)}`, wanted) ?? []);
  }

  /** The same of a list that says nothing where it is empty; `advice` says what to put into it. What is wrong in it is told of each item. */
  some<T>(key: string, wanted: Expectation<T>, advice: string): Placed<T>[] | undefined {
    const tree = this.tree(key);
    const isEmpty = tree?.kind === "list" ? tree.items.length === 0 : tree?.kind === "value" && tree.value === null;
    if (tree === undefined || !isEmpty) return this.list(key, wanted);
    this.faults.add(tree.place, `${this.name(key)} is empty; ${advice}`);
    return [];
  }

  /** The items of a list as they are. */
  trees(key: string): readonly Tree[] | undefined {
    const tree = this.tree(key);
    if (!tree) return undefined;
    if (tree.kind === "list") return tree.items;
    this.faults.add(tree.place, `${this.name(key)} must be a list; it is ${kindOf(tree)}. Write [] for an empty one`);
    return [];
  }

  /** The mappings of a list. */
  items(key: string): Section[] {
    return (this.trees(key) ?? []).map((tree, at) => this.inner(tree, `${this.name(key)}[${at}]`));
  }

  /** One item of a list whose items differ in kind, as a value. */
  item<T>(tree: Tree, path: string, wanted: Expectation<T>): Placed<T> | undefined {
    return this.#read(tree, path, wanted);
  }

  /** Every key with its mapping, for mappings whose keys are names. */
  named(): (readonly [name: string, section: Section, place: Place])[] {
    return [...(this.#tree?.entries ?? [])].map(([key, entry]) => {
      this.#known.add(key);
      return [key, this.inner(entry.value, this.name(key)), entry.key];
    });
  }

  /** Every key with its value, for mappings whose keys are names. */
  all<T>(wanted: Expectation<T>): NamedEntry<T>[] {
    return [...(this.#tree?.entries ?? [])].flatMap(([key, entry]) => {
      this.#known.add(key);
      const value = this.#read(entry.value, this.name(key), wanted);
      return value ? [[key, value, entry.key] as const] : [];
    });
  }

  /** Reports the keys that nobody asked for. */
  finish(): void {
    const known = [...this.#known];
    const where = this.path === "" ? "a policy" : this.path;
    for (const [key, entry] of this.#tree?.entries ?? []) {
      if (this.#known.has(key)) continue;
      this.faults.add(entry.key, () => {
        const meant = known.find((each) => each === MEANT.get(key));
        const hint =
          (meant && `; did you mean "${meant}"?`) || didYouMean(key, known) || `; known keys are ${known.join(", ")}`;
        return `${where} has no key "${key.slice(0, MAX_SHOWN)}"${hint}`;
      });
    }
  }

  /** Where the mapping stands; the start of the file when it is absent. */
  get place(): Place {
    return this.#tree?.place ?? { line: 1, column: 1 };
  }

  /** A mapping that has to be one: where it is empty, what it needs is reported at its own place. */
  inner(tree: Tree, path: string): Section {
    const empty = tree.kind === "value" && tree.value === null;
    return new Section(empty ? { kind: "map", place: tree.place, entries: new Map() } : tree, path, this.faults);
  }

  #read<T>(tree: Tree, name: string, wanted: Expectation<T>): Placed<T> | undefined {
    const value = tree.kind === "value" ? wanted.read(tree.value) : undefined;
    if (value !== undefined) return { value, place: tree.place };
    this.faults.add(tree.place, `${name} must be ${wanted.words}; it is ${kindOf(tree)}`);
    return undefined;
  }
}

/** Characters of a wrong value that a message repeats. */
const MAX_SHOWN = 60;
/** Keys that people write for others which are called differently. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ["writable_paths", "allowed_paths"],
  ["write_paths", "allowed_paths"],
  ["writeable_paths", "allowed_paths"],
]);

function kindOf(tree: Tree): string {
  if (tree.kind !== "value") return tree.kind === "map" ? "a mapping" : "a list";
  if (tree.value === null) return "empty";
  if (typeof tree.value === "number") return `the number ${tree.value}`;
  return typeof tree.value === "boolean" ? String(tree.value) : JSON.stringify(tree.value.slice(0, MAX_SHOWN));
}
