// Reads what `policy explain` and `policy test` are asked about: a call, an address, a path, a command.
import type { FileOperation } from "../policy/decide.js";
import { readArguments } from "./call-arguments.js";
import { UsageError } from "./command-line.js";

export type PolicyQuestion =
  | { readonly kind: "tool"; readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: "prompt"; readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: "resource"; readonly name: string }
  | { readonly kind: "fetch"; readonly url: string }
  | { readonly kind: "file"; readonly op: FileOperation; readonly path: string }
  | { readonly kind: "command"; readonly name: string; readonly arguments: readonly string[] };

const OPERATIONS: ReadonlySet<string> = new Set(["read", "write", "list", "delete"]);
/** Each of them is about something; a tool of such a name is asked about as `tool NAME`. */
const TAKES_ONE: ReadonlySet<string> = new Set([...OPERATIONS, "fetch", "prompt", "resource", "run"]);
const TOOL: ReadonlySet<string> = new Set(["tool", "call"]);
const USAGE =
  'name a call, as in web_search \'{"query":"x"}\', fetch URL, read PATH, write PATH, run COMMAND ARGUMENT…, prompt NAME [ARGUMENTS] or resource URI';

/**
 * The first word says what it is; a name that is none of the known words is a tool. `tool NAME` and `call NAME` stand for a tool of any name.
 * @throws UsageError
 */
export function readQuestion(words: readonly string[]): PolicyQuestion {
  const [first, second, ...rest] = words;
  if (first === undefined || (second === undefined && (TOOL.has(first) || TAKES_ONE.has(first))))
    throw new UsageError(USAGE);
  if (TOOL.has(first) && second !== undefined) return toolQuestion(second, rest);
  if (second === undefined || second.trimStart().startsWith("{")) return toolQuestion(first, words.slice(1));
  if (first === "run") return { kind: "command", name: second, arguments: rest };
  const isFile = OPERATIONS.has(first);
  if (!isFile && first !== "fetch" && first !== "prompt" && first !== "resource") {
    return toolQuestion(first, words.slice(1));
  }
  if (first === "prompt") return { kind: "prompt", name: second, arguments: readArguments(rest, undefined) };
  if (rest.length > 0) throw new UsageError(`${first} takes one thing, not also "${rest[0]}"`);
  if (isFile) return { kind: "file", op: first as FileOperation, path: second };
  return first === "fetch" ? { kind: "fetch", url: second } : { kind: "resource", name: second };
}

/** The same from one line of text: its words are divided by spaces, an object stays whole. */
export function readQuestionText(text: string): PolicyQuestion {
  const [, first = "", rest = ""] = /^\s*(\S+)\s*([^]*?)\s*$/.exec(text) ?? [];
  if (first === "") throw new UsageError(USAGE);
  if (rest === "") return readQuestion([first]);
  const object = rest.indexOf("{");
  const whole = rest.startsWith("{") || ((TOOL.has(first) || first === "prompt") && object > 0);
  if (!whole) return readQuestion([first, ...(first === "run" ? rest.split(/\s+/) : pathWords(first, rest))]);
  return readQuestion([first, rest.slice(0, object).trim(), rest.slice(object)].filter((word) => word !== ""));
}

/** A path may hold spaces. */
function pathWords(first: string, rest: string): string[] {
  return OPERATIONS.has(first) ? [rest] : rest.split(/\s+/);
}

function toolQuestion(name: string, given: readonly string[]): PolicyQuestion {
  return { kind: "tool", name, arguments: readArguments(given, undefined) };
}
