// Holds the options that programs give to the members there are, once, when they are given.
import { LocalError } from "../jsonrpc/errors.js";
import { type KnownMembers, memberFault } from "../schema/known-members.js";

/** Throws BAD_OPTIONS for a member that does not exist: what was meant by it would not happen, and nobody would be told. */
export function checkOptions(what: string, given: unknown, known: KnownMembers): void {
  const fault = given === undefined ? undefined : memberFault(given, known);
  if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `${what}: ${fault}`);
}
