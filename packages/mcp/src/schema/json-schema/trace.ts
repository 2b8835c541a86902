// Defines a compiled check and what it may write down while it runs: faults, and which members were evaluated.

import type { Fault } from "../schema.js";
import { describe } from "./show.js";

/**
 * A compiled subschema. Answers whether `value` is valid. Without a trace it stops at the first fault and allocates
 * nothing; with one it goes on and writes every fault down. `seen`, when given, collects the members of `value` that
 * were evaluated, which `unevaluatedProperties` and `unevaluatedItems` ask for.
 */
export type Check = (value: unknown, trace: Trace | null, seen: Seen | null) => boolean;

/** Faults reported for one value: a model mends the first few, and the answer stays short. */
const MAX_FAULTS = 20;
/** Characters kept of one member name in a path: names are the sender's and can be megabytes. */
const MAX_SEGMENT = 100;

/** Thrown to leave a validation whose list of faults is full; caught where the validation began. */
export const enoughFaults: Error = new Error("the list of faults is full");

/** Writes down where a validation is and what it found wrong. */
export class Trace {
  readonly faults: Fault[] = [];
  readonly #path: (string | number)[] = [];

  enter(member: string | number): void {
    this.#path.push(member);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Adds a fault whose message is the path and then `sentence`, such as `must be an integer`. Always false. */
  fail(constraint: string, sentence: string): false {
    const path = this.path();
    this.faults.push({ path, constraint, message: path === "" ? sentence : `${path} ${sentence}` });
    if (this.faults.length >= MAX_FAULTS) throw enoughFaults;
    return false;
  }

  /** Adds a fault that also shows the value that came. Always false. */
  refuse(constraint: string, expected: string, value: unknown): false {
    const came = value === undefined ? "missing" : describe(value);
    return this.fail(constraint, `${expected}, but it is ${came}`);
  }

  /** The JSON pointer of the member being checked. */
  path(): string {
    let pointer = "";
    for (const member of this.#path) pointer += `/${segment(member)}`;
    return pointer;
  }
}

function segment(member: string | number): string {
  if (typeof member === "number") return String(member);
  const cut = member.length > MAX_SEGMENT ? `${member.slice(0, MAX_SEGMENT)}…` : member;
  return cut.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The members of one value that some keyword has evaluated. */
export class Seen {
  allNames = false;
  readonly names: Set<string> = new Set();
  allItems = false;
  /** Items before this index were evaluated. */
  items = 0;
  readonly indexes: Set<number> = new Set();

  merge(other: Seen): void {
    this.allNames ||= other.allNames;
    this.allItems ||= other.allItems;
    this.items = Math.max(this.items, other.items);
    for (const name of other.names) this.names.add(name);
    for (const index of other.indexes) this.indexes.add(index);
  }

  hasName(name: string): boolean {
    return this.allNames || this.names.has(name);
  }

  hasItem(index: number): boolean {
    return this.allItems || index < this.items || this.indexes.has(index);
  }
}

/** Checks one member of a value, with its name on the path of the trace. */
export function checkMember(check: Check, value: unknown, member: string | number, trace: Trace | null): boolean {
  if (trace === null) return check(value, null, null);
  trace.enter(member);
  const valid = check(value, trace, null);
  trace.leave();
  return valid;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `object` itself has the member; `undefined` counts as absent, as it does in JSON. */
export function has(object: Record<string, unknown>, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}
