// Compares JSON values by content, and finds equal ones in a list without comparing every pair.

import { charge, isObject, MAX_LEVELS, tooExpensive } from "./run.js";

/** Whether two JSON values are equal: numbers by value, objects whatever the order of their members. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  charge(1);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false;
    return true;
  }
  return !Array.isArray(b) && equalMembers(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalMembers(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) if (!Object.hasOwn(b, name) || !equal(a[name], b[name])) return false;
  return true;
}

/** The indexes of the first two equal items, or undefined when all differ. Time grows with the size of the list. */
export function findEqualPair(items: readonly unknown[]): [number, number] | undefined {
  charge(items.length >> 3);
  const scalars = new Map<unknown, number>();
  const structures = new Map<number, number[]>();
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (typeof item !== "object" || item === null) {
      const earlier = scalars.get(item);
      if (earlier !== undefined) return [earlier, i];
      scalars.set(item, i);
      continue;
    }
    const key = hash(item, 0);
    const rivals = structures.get(key);
    if (rivals === undefined) structures.set(key, [i]);
    else {
      for (const earlier of rivals) if (equal(items[earlier], item)) return [earlier, i];
      rivals.push(i);
    }
  }
  return undefined;
}

/** Makes hashes differ between processes, so that nobody can prepare a list whose items collide. */
const seed = (Math.random() * 0x1_0000_0000) | 0;
/** Characters of a string that go into a hash, from either end; what differs only between them is compared in full. */
const HASHED = 32;
/** Members hashed for one step of the budget: hashing one takes far less time than a step. */
let members = 0;

function hash(value: unknown, depth: number): number {
  if ((++members & 7) === 0) charge(1);
  if (depth > MAX_LEVELS) throw tooExpensive;
  if (typeof value === "string") return hashText(value);
  if (typeof value === "number") return hashNumber(value);
  if (Array.isArray(value)) {
    let code = seed ^ value.length;
    for (const item of value) code = Math.imul(code, 31) + hash(item, depth + 1);
    return mix(code);
  }
  if (!isObject(value)) return value === true ? seed ^ 1 : value === false ? seed ^ 2 : seed ^ 3;
  // A sum, so that the order of members does not count.
  let sum = seed;
  for (const name of Object.keys(value))
    sum = (sum + mix(Math.imul(hashText(name), 31) + hash(value[name], depth + 1))) | 0;
  return mix(sum);
}

function hashText(text: string): number {
  let code = seed ^ text.length;
  const head = Math.min(text.length, HASHED);
  for (let i = 0; i < head; i++) code = Math.imul(code ^ text.charCodeAt(i), 0x01000193);
  for (let i = Math.max(head, text.length - HASHED); i < text.length; i++) {
    code = Math.imul(code ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(code);
}

function hashNumber(value: number): number {
  const whole = value | 0;
  return whole === value ? mix(whole ^ seed) : hashText(String(value));
}

function mix(code: number): number {
  const high = Math.imul(code ^ (code >>> 16), 0x85ebca6b);
  return high ^ (high >>> 13);
}
