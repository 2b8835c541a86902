// Reads JSON with comments and trailing commas, as configuration files have them, and remembers where everything stands.
import { LocalError } from "../../jsonrpc/errors.js";
import type { JsonObject } from "../../jsonrpc/message.js";

/** A value and where it stands: `text.slice(start, end)`. */
export interface JsonNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** The members of an object, in the order of the text. */
  readonly members?: ReadonlyMap<string, JsonNode>;
  readonly items?: readonly JsonNode[];
}

/** Configurations are a few kilobytes; what nests deeper than this is none. */
const MOST_CHARACTERS = 4_000_000;
const MOST_DEPTH = 64;

const BLANK = /(?:[ \t\r\n\uFEFF]+|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Throws `CONFIG_SYNTAX` with the line and column of what is wrong, a member that is there twice included. */
export function parseJsonTree(text: string, source = "The configuration"): JsonNode {
  if (text.length > MOST_CHARACTERS)
    throw new LocalError("CONFIG_SYNTAX", `${source} has more than ${MOST_CHARACTERS} characters`);
  return new Reader(text, source).whole();
}

class Reader {
  readonly #text: string;
  readonly #source: string;
  #at = 0;

  constructor(text: string, source: string) {
    this.#text = text;
    this.#source = source;
  }

  whole(): JsonNode {
    const node = this.#value(0);
    this.#blank();
    if (this.#at < this.#text.length) throw this.#fault("there is something after the end");
    return node;
  }

  #value(depth: number): JsonNode {
    this.#blank();
    if (depth > MOST_DEPTH) throw this.#fault(`it nests deeper than ${MOST_DEPTH}`);
    const start = this.#at;
    const first = this.#text[start];
    if (first === "{") return this.#object(depth);
    if (first === "[") return this.#array(depth);
    if (first === '"') return { start, value: this.#string(), end: this.#at };
    const literal = this.#match(LITERAL);
    if (literal === undefined || /[\w.$]/.test(this.#text[this.#at] ?? " "))
      throw this.#fault(`a value was expected, ${this.#shown(start)}`, start);
    return { start, end: this.#at, value: JSON.parse(literal) as unknown };
  }

  #object(depth: number): JsonNode {
    const start = this.#at++;
    const members = new Map<string, JsonNode>();
    while (!this.#closes("}", members.size === 0)) {
      this.#blank();
      const keyAt = this.#at;
      const key = this.#string();
      if (members.has(key)) throw this.#fault(`the member ${JSON.stringify(key)} is there twice`, keyAt);
      this.#blank();
      if (this.#text[this.#at] !== ":") throw this.#fault(`":" was expected, ${this.#shown(this.#at)}`);
      this.#at++;
      members.set(key, this.#value(depth + 1));
    }
    const value: Record<string, unknown> = {};
    for (const [key, node] of members)
      Object.defineProperty(value, key, { value: node.value, enumerable: true, configurable: true, writable: true });
    return { start, end: this.#at, value, members };
  }

  #array(depth: number): JsonNode {
    const start = this.#at++;
    const items: JsonNode[] = [];
    while (!this.#closes("]", items.length === 0)) items.push(this.#value(depth + 1));
    return { start, end: this.#at, value: items.map(({ value }) => value), items };
  }

  /** Takes the comma before the next member, or the end. */
  #closes(end: "}" | "]", first: boolean): boolean {
    this.#blank();
    if (!first && this.#text[this.#at] !== end) {
      if (this.#text[this.#at] !== ",") throw this.#fault(`"," or "${end}" was expected, ${this.#shown(this.#at)}`);
      this.#at++;
      this.#blank();
    }
    if (this.#text[this.#at] !== end) return false;
    this.#at++;
    return true;
  }

  #string(): string {
    const start = this.#at;
    const literal = this.#match(STRING);
    if (literal === undefined) throw this.#fault(`a string was expected, ${this.#shown(start)}`, start);
    return JSON.parse(literal) as string;
  }

  #blank(): void {
    this.#match(BLANK);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #shown(at: number): string {
    const found = this.#text.slice(at, at + 12).split("\n", 1)[0];
    return at >= this.#text.length ? "the text ends instead" : `there is ${JSON.stringify(found)}`;
  }

  #fault(what: string, at = this.#at): LocalError {
    const { line, column } = positionAt(this.#text, at);
    return new LocalError("CONFIG_SYNTAX", `${this.#source} is no JSON: line ${line}, column ${column}: ${what}`);
  }
}

// Says where in a text something stands.

/** A place in a text: line and column, both counted from 1. */
export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line++;
  return { line, column: offset - start + 1 };
}

// Changes one server in the text of a configuration file and leaves everything else as it stands, comments included.

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
