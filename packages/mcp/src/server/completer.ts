// Values to offer while somebody types: from a list, ranked, or from a function.
import type { MaybePromise } from "../endpoint/call.js";
import { type Awaitable, isThenable } from "../jsonrpc/message.js";
import type { Context } from "./context.js";

/** Most values in one answer (server/utilities/completion). */
const MOST_VALUES = 100;

/** What a completing function knows besides the typed text. */
export interface CompletionRequest {
  /** Arguments chosen so far; empty where the revision does not send them. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Who is asking. Only a client of a session can be asked back, such as for its roots. */
  readonly context: Context;
}

/** What a completing function may return: values in the order to offer them, perhaps with the number there are in all. */
export type CompletionReturn =
  | readonly string[]
  | { readonly values: readonly string[]; readonly total?: number; readonly hasMore?: boolean };

/** A list to rank by what was typed, or a function that answers by itself. */
export type Completer =
  | readonly string[]
  | ((value: string, request: CompletionRequest) => Awaitable<CompletionReturn>);

/** The `completion` member of a result: at most 100 values, and how many more there are. */
export interface CompletionValues {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

/** Completes `value`. */
export function complete(
  completer: Completer,
  value: string,
  request: CompletionRequest,
): MaybePromise<CompletionValues> {
  if (typeof completer !== "function") return capped(rank(completer, value));
  const returned = completer(value, request);
  return isThenable(returned) ? Promise.resolve(returned).then(toCompletion) : toCompletion(returned);
}

/** The answer where nothing can be offered. */
export const NOTHING: CompletionValues = { values: [], total: 0, hasMore: false };

function toCompletion(returned: CompletionReturn): CompletionValues {
  if (isList(returned)) return capped(returned);
  const { values, total, hasMore } = returned;
  const shown = values.slice(0, MOST_VALUES);
  const more = hasMore ?? (total === undefined ? values.length : total) > shown.length;
  return {
    values: [...shown],
    ...(total === undefined ? {} : { total }),
    hasMore: more || values.length > shown.length,
  };
}

function capped(values: readonly string[]): CompletionValues {
  const shown = values.slice(0, MOST_VALUES);
  return { values: [...shown], total: values.length, hasMore: values.length > shown.length };
}

function isList(returned: CompletionReturn): returned is readonly string[] {
  return Array.isArray(returned);
}

// Ranks values by how well they fit what was typed: exact, prefix, word, substring, then letters in order.

/** Values that fit `typed`, best first; equally good ones keep their order. An empty `typed` fits everything. */
export function rank(values: readonly string[], typed: string): readonly string[] {
  if (typed === "") return values;
  const wanted = typed.toLowerCase();
  const scored: { readonly value: string; readonly score: number }[] = [];
  for (const value of values) {
    const score = fit(value.toLowerCase(), wanted);
    if (score !== undefined) scored.push({ value, score });
  }
  return scored.sort((a, b) => a.score - b.score).map(({ value }) => value);
}

/** Lower is better; undefined when `wanted` does not fit. */
function fit(value: string, wanted: string): number | undefined {
  if (value === wanted) return 0;
  const at = value.indexOf(wanted);
  if (at === 0) return 1;
  if (at > 0) return startsWord(value, wanted, at) ? 2 : 3;
  const spread = lettersInOrder(value, wanted);
  return spread === undefined ? undefined : 4 + spread;
}

let inWord: RegExp | undefined;

/** Whether `wanted`, first found at `from`, is the beginning of a word there or further on. */
function startsWord(value: string, wanted: string, from: number): boolean {
  // As a literal V8 would look it up in Unicode's tables while it reads the file, and delay every start.
  inWord ??= new RegExp("[\\p{L}\\p{N}]", "u");
  for (let at = from; at > 0; at = value.indexOf(wanted, at + 1)) {
    if (!inWord.test(value.charAt(at - 1))) return true;
  }
  return false;
}

/** How far apart the letters lie, between 0 and 1; undefined when they do not all come in this order. */
function lettersInOrder(value: string, wanted: string): number | undefined {
  let from = 0;
  let first = -1;
  for (const letter of wanted) {
    const at = value.indexOf(letter, from);
    if (at < 0) return undefined;
    if (first < 0) first = at;
    from = at + letter.length;
  }
  return (from - first) / (value.length + 1);
}
