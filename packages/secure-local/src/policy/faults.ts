// Collects the faults of one policy file, so that all of them are told at once.
import { MAX_FAULTS, PolicyError } from "./policy-error.js";
import type { Place } from "./rule.js";

interface Noted {
  readonly line: number;
  readonly column: number;
  readonly message: string | (() => string);
}

export class Faults {
  readonly #file: string;
  readonly #list: Noted[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  get count(): number {
    return this.#list.length;
  }

  /** A message that takes long to find is given as what finds it: only the first faults are ever told. */
  add({ line, column }: Place, message: string | (() => string)): void {
    this.#list.push({ line, column, message });
  }

  /** @throws PolicyError when there is any fault; the first ones by place. */
  throwIfAny(): void {
    if (this.#list.length === 0) return;
    const sorted = this.#list.toSorted((a, b) => a.line - b.line || a.column - b.column);
    throw new PolicyError(
      sorted.slice(0, MAX_FAULTS).map(({ line, column, message }) => {
        return { file: this.#file, line, column, message: typeof message === "string" ? message : message() };
      }),
    );
  }
}
