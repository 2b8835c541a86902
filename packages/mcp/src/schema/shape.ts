// Checks values against shapes of our own, written in code: small closures for hot paths, with the usual faults.

import { type Check, Trace, checkMember, isObject, list, quoteValue } from "./json-schema/run.js";
import type { Fault, Outcome, Schema } from "./schema.js";

/** One checked part of a value. `T` is the type it proves, and exists in types only. */
export interface Part<T> {
  readonly check: Check;
  readonly absent?: boolean;
  readonly proves?: T;
}

/** A part that an object may lack. */
export interface OptionalPart<T> extends Part<T> {
  readonly absent: true;
}

export type Members = Readonly<Record<string, Part<unknown>>>;

export type TypeOf<P> = P extends Part<infer T> ? T : never;

type Named<M extends Members, Optional> = {
  readonly [
    Name in keyof M as (M[Name] extends OptionalPart<unknown> ? true : false) extends Optional ? Name : never
  ]: TypeOf<M[Name]>;
};

/** The type of an object with the members `M`; it may have others besides. */
export type ObjectOf<M extends Members> = Named<M, false> & Partial<Named<M, true>>;

/** A shape of a whole value. */
export interface Shape<T> extends Schema<T>, Part<T> {
  readonly json: undefined;
  /** Whether `value` has the shape. Allocates nothing. */
  is(value: unknown): value is T;
  /** Why `value` does not have the shape; empty when it has. */
  faults(value: unknown): readonly Fault[];
  validate(value: unknown): Outcome<T>;
}

function part<T>(expected: string, constraint: string, test: (value: unknown) => boolean): Part<T> {
  return {
    check: (value, trace) =>
      test(value) || (trace === null ? false : trace.refuse(constraint, `must be ${expected}`, value)),
  };
}

export const string: Part<string> = part("a string", "type", (value) => typeof value === "string");
export const number: Part<number> = part("a number", "type", Number.isFinite);
export const integer: Part<number> = part("an integer", "type", Number.isInteger);
export const boolean: Part<boolean> = part("a boolean", "type", (value) => typeof value === "boolean");
/** An object of any members. */
export const record: Part<Readonly<Record<string, unknown>>> = part("an object", "type", isObject);
/** Anything that is there. */
export const unknown: Part<unknown> = part("present", "type", (value) => value !== undefined);

/** One of the values listed. */
export function oneOf<const V extends string | number | boolean | null>(...values: readonly V[]): Part<V> {
  const allowed: ReadonlySet<unknown> = new Set(values);
  const expected = `${values.length === 1 ? "" : "one of "}${list(values)}`;
  return part(expected, values.length === 1 ? "const" : "enum", (value) => allowed.has(value));
}

/** Marks a member that may be absent. */
export function optional<T>(inner: Part<T>): OptionalPart<T> {
  return { check: inner.check, absent: true };
}

export function array<T>(of: Part<T>): Part<readonly T[]> {
  const isArray = part("an array", "type", Array.isArray).check;
  return {
    check(value, trace) {
      if (!isArray(value, trace, null)) return false;
      let valid = true;
      for (let i = 0; i < (value as unknown[]).length; i++) {
        if (checkMember(of.check, (value as unknown[])[i], i, trace)) continue;
        if (trace === null) return false;
        valid = false;
      }
      return valid;
    },
  };
}

/** An object with these members; others are let through. */
export function object<M extends Members>(members: M): Part<ObjectOf<M>> {
  const names = Object.keys(members);
  const parts = Object.values(members);
  return {
    check(value, trace) {
      if (!record.check(value, trace, null)) return false;
      let valid = true;
      for (let i = 0; i < names.length; i++) {
        if (checkNamed(value as Record<string, unknown>, names[i] as string, parts[i] as Part<unknown>, trace))
          continue;
        if (trace === null) return false;
        valid = false;
      }
      return valid;
    },
  };
}

function checkNamed(
  owner: Record<string, unknown>,
  name: string,
  { check, absent }: Part<unknown>,
  trace: Trace | null,
): boolean {
  const value = Object.hasOwn(owner, name) ? owner[name] : undefined;
  if (value !== undefined) return checkMember(check, value, name, trace);
  if (absent === true) return true;
  return trace === null ? false : trace.fail("required", `must have required property ${quoteValue(name)}`);
}

/** An object whose member `tag` tells which of `cases` it is. */
export function union<C extends Readonly<Record<string, Part<unknown>>>>(
  tag: string,
  cases: C,
): Part<TypeOf<C[keyof C]>> {
  const byTag = new Map(Object.entries(cases));
  const known = oneOf(...byTag.keys());
  return {
    check(value, trace) {
      if (!record.check(value, trace, null)) return false;
      const owner = value as Record<string, unknown>;
      const chosen = byTag.get(owner[tag] as string);
      return chosen === undefined ? checkNamed(owner, tag, known, trace) : chosen.check(value, trace, null);
    },
  };
}

/** Makes an object with these members a shape to validate with. */
export function shape<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return whole(object(members));
}

/** Makes any part a shape to validate with. */
export function whole<T>({ check }: Part<T>): Shape<T> {
  const faults = (value: unknown): readonly Fault[] => {
    const trace = new Trace();
    try {
      check(value, trace, null);
    } catch (error) {
      // A full list of faults ends the check.
      if (trace.faults.length === 0) throw error;
    }
    return trace.faults;
  };
  return {
    json: undefined,
    check,
    faults,
    is: (value): value is T => check(value, null, null),
    validate: (value) =>
      check(value, null, null) ? { ok: true, value: value as T } : { ok: false, faults: faults(value) },
  };
}
