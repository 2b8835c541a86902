// Collects the faults of one policy file, so that all of them are told at once.
import { MAX_FAULTS, PolicyError, type PolicyFault } from "./policy-error.js";
import type { Place } from "./rule.js";

export class Faults {
  readonly #file: string;
  readonly #list: PolicyFault[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  get count(): number {
    return this.#list.length;
  }

  add(place: Place, message: string): void {
    this.#list.push({ file: this.#file, line: place.line, column: place.column, message });
  }

  /** @throws PolicyError when there is any fault; the first ones by place. */
  throwIfAny(): void {
    if (this.#list.length === 0) return;
    const sorted = this.#list.toSorted((a, b) => a.line - b.line || a.column - b.column);
    throw new PolicyError(sorted.slice(0, MAX_FAULTS));
  }
}
