// What the things of a mounted server are called outside: a table made from configuration and lists, never split again.
import { LocalError } from "../jsonrpc/errors.js";
import { fingerprint } from "../server/parking.js";

/** Stands between the name of a mount and the name of a thing in it, and in no mount's name. */
const SEPARATOR = "__";

/** Clients put names of their own before these, and refuse what is over 64 characters. */
const LONGEST_NAME = 60;
/** Characters of a mount's name: it stands in every name of its things. */
const LONGEST_MOUNT = 32;

const MOUNT_NAME = /^[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*$/;

/** Throws BAD_NAME for a name that cannot stand before the names of things. */
export function checkMountName(name: string): void {
  if (MOUNT_NAME.test(name) && name.length <= LONGEST_MOUNT) return;
  const rule = `at most ${LONGEST_MOUNT} letters, digits, "-" and single "_", beginning with a letter`;
  throw new LocalError("BAD_NAME", `A server cannot be mounted as ${JSON.stringify(name)}: a name has ${rule}`);
}

/** What stands before the names of a mount's things. */
export function prefixOf(mount: string): string {
  return mount + SEPARATOR;
}

/** The name that a tool or prompt of a mount has outside, where the mount says nothing else of its names. */
export function mountedName(mount: string, name: string): string {
  return exposedName(prefixOf(mount), name);
}

/** The name outside. One that is too long is cut, with a fingerprint of the whole at its end. */
export function exposedName(prefix: string, name: string): string {
  const whole = prefix + name;
  if (prefix === "" || whole.length <= LONGEST_NAME) return whole;
  return `${whole.slice(0, LONGEST_NAME - 9)}_${fingerprint(whole)}`;
}

// URIs that several servers have are told apart by a scheme that names the mount.

/** `notes` has `mcp.notes+file:///a` for its `file:///a`. A scheme has no underscore, and no mount's name a dot. */
function schemeOf(mount: string): string {
  return `mcp.${mount.replaceAll("_", ".")}+`;
}

/** The URI, or template, as it is called outside where another server has it too. */
export function wrapUri(mount: string, uri: string): string {
  return schemeOf(mount) + uri;
}

/** Whether a URI is written as one that is wrapped, for whatever mount: a server's own of that kind is always wrapped once more. */
export function looksWrapped(uri: string): boolean {
  return /^mcp\.[^+:/?#]*\+/i.test(uri);
}

/** The server's own URI of one wrapped for this mount; undefined for every other. */
export function unwrapUri(mount: string, uri: string): string | undefined {
  const scheme = schemeOf(mount);
  // A scheme is the same in capitals.
  return uri.slice(0, scheme.length).toLowerCase() === scheme.toLowerCase() ? uri.slice(scheme.length) : undefined;
}
