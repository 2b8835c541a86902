// Reads JSON with comments and trailing commas, as configuration files have them, and remembers where everything stands.
import { LocalError } from "../../jsonrpc/local-error.js";
import { positionAt } from "./positions.js";

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
