// Changes one server in the text of a configuration file and leaves everything else as it stands, comments included.
import { LocalError } from "../../jsonrpc/local-error.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { type JsonNode, parseJsonTree } from "./json-tree.js";

/**
 * The text with these members of the server changed, those that are undefined taken out; `undefined` takes the whole server out.
 * Members not named stay, unknown ones too. A server that is not there is added. Throws as `parseServersConfig` does.
 */
export function updateServer(text: string, name: string, members: JsonObject | undefined): string {
  const root = parseJsonTree(text);
  const key = root.members?.has("servers") === true && !root.members.has("mcpServers") ? "servers" : "mcpServers";
  if (root.members === undefined) throw new LocalError("CONFIG_SHAPE", "The configuration is no object");
  const list = root.members.get(key);
  if (list === undefined) return members === undefined ? text : insert(text, root, [key, { [name]: defined(members) }]);
  if (list.members === undefined) throw new LocalError("CONFIG_SHAPE", `"${key}" is no object`);
  const server = list.members.get(name);
  if (members === undefined) return server === undefined ? text : remove(text, list, name);
  if (server === undefined) return insert(text, list, [name, defined(members)]);
  if (server.members === undefined) return replace(text, server, defined(members));
  let changed = text;
  // From the end to the beginning, so that what is still to be changed keeps its place.
  const known = Object.entries(members).filter(([key]) => server.members?.has(key));
  known.sort(([one], [other]) => startOf(server, other) - startOf(server, one));
  for (const [key, value] of known) {
    if (value !== undefined) changed = replace(changed, server.members.get(key) as JsonNode, value);
  }
  return restOf(changed, name, { key, members });
}

// Members to add and to take out move the others: each is done on a new reading.
function restOf(text: string, name: string, { key, members }: { key: string; members: JsonObject }): string {
  let changed = text;
  for (const [member, value] of Object.entries(members)) {
    const server = parseJsonTree(changed).members?.get(key)?.members?.get(name) as JsonNode;
    const there = server.members?.has(member) === true;
    if (value === undefined && there) changed = remove(changed, server, member);
    else if (value !== undefined && !there) changed = insert(changed, server, [member, value]);
  }
  return changed;
}

function startOf({ members }: JsonNode, key: string): number {
  return members?.get(key)?.start ?? 0;
}

function defined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function replace(text: string, { start, end }: JsonNode, value: unknown): string {
  return text.slice(0, start) + written(value, indentAt(text, start)) + text.slice(end);
}

function insert(text: string, object: JsonNode, [key, value]: readonly [string, unknown]): string {
  const outer = indentAt(text, object.start);
  const inner = `${outer}  `;
  const member = `${JSON.stringify(key)}: ${written(value, inner)}`;
  const last = [...(object.members?.values() ?? [])].at(-1);
  if (last === undefined)
    return `${text.slice(0, object.start)}{\n${inner}${member}\n${outer}}${text.slice(object.end)}`;
  const before = indentAt(text, last.start);
  return `${text.slice(0, last.end)},\n${before}${member.replaceAll(`\n${inner}`, `\n${before}`)}${text.slice(last.end)}`;
}

function remove(text: string, object: JsonNode, key: string): string {
  const rest = Object.fromEntries(Object.entries(object.value as JsonObject).filter(([name]) => name !== key));
  return replace(text, object, rest);
}

function written(value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, 2).replaceAll("\n", `\n${indent}`);
}

/** The blanks at the beginning of the line. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}
