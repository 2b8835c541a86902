// Reads a tool's arguments from the command line: one JSON object, or key=value pairs.
import { UsageError } from "./command-line.js";

const KEY = /^([A-Za-z_][\w.-]*)=([\s\S]*)$/;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Values of pairs are text where the schema says so, and otherwise whatever JSON they are: `max_results=3` is a number.
 * @throws UsageError saying which word is neither
 */
export function readArguments(words: readonly string[], schema: Schema | undefined): Record<string, unknown> {
  const [first] = words;
  if (words.length === 1 && first !== undefined && first.trimStart().startsWith("{")) return readObject(first);
  const properties = (schema?.["properties"] ?? {}) as Readonly<
    Record<string, { readonly type?: unknown } | undefined>
  >;
  const pairs = words.map((word): [string, unknown] => {
    const [, key, value] = KEY.exec(word) ?? [];
    if (key === undefined || value === undefined) {
      throw new UsageError(`"${word}" is neither key=value nor one JSON object, as in '{"query": "news"}'`);
    }
    const isText = Object.hasOwn(properties, key) && properties[key]?.type === "string";
    return [key, isText ? value : readValue(value)];
  });
  return Object.fromEntries(pairs);
}

function readObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(`the arguments are not JSON: ${(error as Error).message}`);
  }
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
