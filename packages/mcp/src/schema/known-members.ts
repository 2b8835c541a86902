// What is wrong with the members of an object that a program gives, such as options: one that nobody reads is a mistake unheard.
import { nearest } from "./json-schema/run.js";

/** Names of members. One whose value is an object has members of its own, which are held to those. */
export type KnownMembers = Readonly<Record<string, unknown>>;

/** The names of all members of `T`, none left out: the compiler holds the list to the type. */
export type MembersOf<T> = { readonly [K in keyof Required<T>]: unknown };

/** What is wrong with a member, as the end of a sentence; undefined when nothing is. */
export function memberFault(given: unknown, known: KnownMembers): string | undefined {
  if (typeof given !== "object" || given === null) {
    return `takes one object, not ${typeof given === "function" ? "a function" : String(given)}`;
  }
  for (const [name, value] of ownMembers(given)) {
    if (!Object.hasOwn(known, name)) return unknownMember(name, Object.keys(known));
    const inner = known[name];
    if (typeof inner !== "object" || inner === null || typeof value !== "object" || value === null) continue;
    const fault = memberFault(value, inner as KnownMembers);
    if (fault !== undefined) return `in "${name}" ${fault}`;
  }
  return undefined;
}

/** The sentence for a member that does not exist. */
export function unknownMember(name: string, members: readonly string[]): string {
  const near = nearest(name, members);
  return `there is no member "${name}"${near === undefined ? `: there are ${members.join(", ")}` : `, did you mean "${near}"?`}`;
}

/** Members that say something. Those of an author's own class are the author's business. */
export function ownMembers(given: object): readonly (readonly [string, unknown])[] {
  const prototype: unknown = Object.getPrototypeOf(given);
  if (prototype !== Object.prototype && prototype !== null) return [];
  return Object.entries(given).filter(([, value]) => value !== undefined);
}
