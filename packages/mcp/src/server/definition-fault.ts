// What is wrong with a definition as its author wrote it, in the sentence that mends it: most write what another SDK wants.
import { LocalError } from "../jsonrpc/errors.js";
import { NEWEST } from "../protocol/revisions/newest.js";
import { type KnownMembers, memberFault, type MembersOf, unknownMember } from "../schema/schema.js";
import type { Restricted } from "./registry.js";

/** Members of a tool in lists that a definition says in another way. */
const SAID_OTHERWISE = ["name", "inputSchema", "outputSchema", "execution"];

/** What a definition says of a tool as lists show it: nobody copies these by name. The newest revision has all that older ones have. */
export const SHOWN_TOOL_MEMBERS: readonly string[] = NEWEST.fields.tool.filter(
  (name) => !SAID_OTHERWISE.includes(name),
);

/** The function a definition needs, and what others call its members. */
export interface Form {
  readonly runs: string | undefined;
  readonly renamed: Readonly<Record<string, string>>;
  /** Words that a member does not exist. */
  readonly unknown?: (name: string) => string;
}

/** What SDK v1 and v2, FastMCP, the AI SDK, tmcp and mcp-lite call what runs. */
export const RUNNERS: readonly string[] = [
  "execute",
  "handler",
  "callback",
  "cb",
  "invoke",
  "call",
  "load",
  "func",
  "fn",
  "readCallback",
];

/** What others call a member. */
export function renamedTo(to: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.filter((name) => name !== to).map((name) => [name, to]));
}

/**
 * What is wrong with the members of a definition, as the end of a sentence; undefined when nothing is. `more`: what was given after it,
 * in place of one object.
 */
export function definitionFault(
  { runs, renamed, unknown }: Form,
  definition: unknown,
  members: KnownMembers,
  more?: unknown,
): string | undefined {
  if (typeof definition === "function" && runs !== undefined)
    return `takes one object, with the function as its member "${runs}"`;
  if (more !== undefined) {
    const moved = typeof more === "function" && runs !== undefined ? `the function as its member "${runs}"` : MOVED;
    return `takes one object, not two: write ${moved} in the first one`;
  }
  const fault = memberFault(definition, members, (name, names) => {
    const meant = Object.hasOwn(renamed, name) ? renamed[name] : undefined;
    if (meant !== undefined) return `"${name}" is called "${meant}" here`;
    return unknown === undefined ? unknownMember(name, names) : unknown(name);
  });
  if (fault !== undefined || runs === undefined) return fault;
  if (typeof (definition as Readonly<Record<string, unknown>>)[runs] === "function") return undefined;
  return `needs "${runs}", the function that ${runs === "read" ? "gives what is read" : "does it"}`;
}

const MOVED = "the members of the second";

/** The members of `Restricted`: `restrictions` judges them. */
export const RESTRICTED_MEMBERS: MembersOf<Restricted> = { scopes: "any", visible: "any" };

/** Who may use what is defined. Throws BAD_SCOPES for a list that no token could have. */
export function restrictions({ scopes, visible }: Restricted): Restricted {
  if (
    scopes !== undefined &&
    !(Array.isArray(scopes) && scopes.every((each) => typeof each === "string" && SCOPE.test(each)))
  ) {
    throw new LocalError(
      "BAD_SCOPES",
      `"scopes" is a list of scopes, printable ASCII without spaces and quotes, not ${JSON.stringify(scopes)}`,
    );
  }
  if (visible !== undefined && typeof visible !== "function") {
    throw new LocalError(
      "BAD_VISIBLE",
      '"visible" is a function of the call, as in ({ identity }) => identity?.scopes.includes("write")',
    );
  }
  return { scopes: scopes?.length === 0 ? undefined : scopes, visible };
}

/** One scope as RFC 6749, section 3.3 spells it. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
