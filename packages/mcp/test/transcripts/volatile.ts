// Gives what differs from run to run a name, so that golden conversations can be compared byte by byte.

const PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["state", /s1\.[A-Za-z0-9+/]{40,}={0,2}/g],
  ["cursor", /(?<="nextCursor":")[A-Za-z0-9_-]+(?=")/g],
  ["elicitation id", /(?<="elicitationId":")[0-9a-f-]{36}/g],
  ["task", /(?<="taskId":"|"taskIds":\[")[A-Za-z0-9_-]{43}/g],
  ["error id", /(?<=error id |"errorId":")[0-9a-f]{8}/g],
];

/** Moments are nobody's to name: two may fall into one millisecond or not. */
const MOMENT = /(?<="(?:createdAt|lastUpdatedAt)":")[^"]+/g;

/** Names in order of appearance: «state 1», «state 2», «error id 1». */
export class Volatile {
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(definitions: ReadonlyMap<string, string>) {
    for (const [name, value] of definitions) this.#values.set(name, value);
  }

  /** A server line with every volatile value replaced by its name. */
  hide(line: string): string {
    return PATTERNS.reduce(
      (text, [kind, pattern]) => text.replace(pattern, (value) => this.#nameOf(kind, value)),
      line.replace(MOMENT, "«moment»"),
    );
  }

  /** A client line with every name replaced by its value; `«state 1, tampered»` has one character changed. */
  show(line: string): string {
    return line.replace(/«([^»]+?)(, tampered)?»/g, (_all, name: string, tampered: string | undefined) => {
      const value = this.#values.get(name);
      if (value === undefined) throw new Error(`«${name}» is not known at this point: ${line}`);
      return tampered === undefined ? this.show(value) : tamper(value);
    });
  }

  #nameOf(kind: string, value: string): string {
    let name = this.#names.get(value);
    if (name === undefined) {
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      name = `${kind} ${count}`;
      this.#names.set(value, name);
      this.#values.set(name, value);
    }
    return `«${name}»`;
  }
}

function tamper(value: string): string {
  const middle = value.length >> 1;
  return `${value.slice(0, middle)}${value[middle] === "A" ? "B" : "A"}${value.slice(middle + 1)}`;
}
