// Reads a tool's arguments from the command line: one JSON object, or key=value pairs, values of files among them.
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { DEFAULT_LIMITS, ParseFault, parseJson } from "@secure-local/mcp/jsonrpc";
import { whyUnread, WrongKindError } from "../audit/owned-files.js";
import { adviceWord, UsageError } from "./command-line.js";

const KEY = /^([A-Za-z_][\w.-]*)=([\s\S]*)$/;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Values of pairs are text where the schema says so, and otherwise whatever JSON they are: `max_results=3` is a number.
 * `key=@file` is what is in the file, `key=@@text` the text `@text`.
 *
 * @throws UsageError saying which word is neither
 */
export function readArguments(words: readonly string[], schema: Schema | undefined): Record<string, unknown> {
  const [first] = words;
  if (words.length === 1 && first !== undefined && first.trimStart().startsWith("{")) return readObject(first);
  const properties = (schema?.["properties"] ?? {}) as Readonly<
    Record<string, { readonly type?: unknown } | undefined>
  >;
  const given = new Set<string>();
  const pairs = words.map((word): [string, unknown] => {
    const [, key, value] = KEY.exec(word) ?? [];
    if (key === undefined || value === undefined) {
      throw new UsageError(adviceFor(word, schema));
    }
    // Whoever reads the last alone does another thing than was asked for.
    if (given.has(key)) throw new UsageError(`${key} is given twice; give it once, a list as ${key}='["A", "B"]'`);
    given.add(key);
    const type = Object.hasOwn(properties, key) ? properties[key]?.type : undefined;
    const text = textOf(value);
    if (type === "boolean" && Object.hasOwn(YES_OR_NO, text)) return [key, YES_OR_NO[text]];
    return [key, type === "string" ? text : readValue(text)];
  });
  return Object.fromEntries(pairs);
}

/** A bare word says nothing of which argument it is: here is how it is written, by the names the tool has. */
function adviceFor(word: string, schema: Schema | undefined): string {
  const names = Object.keys(schema?.["properties"] ?? {});
  const needed = Array.isArray(schema?.["required"]) ? (schema["required"] as unknown[])[0] : undefined;
  const first = typeof needed === "string" ? needed : names[0];
  const how = `"${word}" is neither key=value nor one JSON object, as in '{"query": "news"}'`;
  if (first !== undefined) return `${how}; write ${first}=${adviceWord(word)} (there are ${names.join(", ")})`;
  return schema === undefined ? how : `${how}; this tool takes no arguments: leave it out`;
}

/** How people answer what the pages call yes or no; true and false are read as JSON. */
const YES_OR_NO: Readonly<Record<string, boolean>> = { yes: true, no: false };

/** What a message may hold. */
const MOST_FILE_BYTES = 16 * 1024 * 1024;

function textOf(value: string): string {
  if (!value.startsWith("@")) return value;
  if (value.startsWith("@@")) return value.slice(1);
  const path = value.slice(1);
  try {
    const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const status = fstatSync(file);
      if (!status.isFile()) throw new WrongKindError(path, status);
      if (status.size > MOST_FILE_BYTES) throw new Error(`it has more than ${MOST_FILE_BYTES} bytes`);
      return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read as text: ${whyUnread(error)}; a value that begins with @ is written with two of them`,
    );
  }
}

function readObject(text: string): Record<string, unknown> {
  try {
    const given = JSON.parse(text) as Record<string, unknown>;
    const judged = parseJson(text, DEFAULT_LIMITS);
    if (judged instanceof ParseFault && judged.message.endsWith(" duplicate key"))
      throw new Error("a key is given twice in one object");
    return given;
  } catch (error) {
    throw new UsageError(
      `the arguments are not JSON (${(error as Error).message}); write one object, as in '{"query": "news"}', or key=value`,
    );
  }
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
