// Values to offer while somebody types: from a list, ranked, or from a function.
import type { MaybePromise } from "../endpoint/answer.js";
import type { Context } from "./context.js";
import { rank } from "./rank.js";

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
  | ((value: string, request: CompletionRequest) => MaybePromise<CompletionReturn>);

/** The `completion` member of a result: at most 100 values, and how many more there are. */
export interface Completion {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

/** Completes `value`. */
export function complete(completer: Completer, value: string, request: CompletionRequest): MaybePromise<Completion> {
  if (typeof completer !== "function") return capped(rank(completer, value));
  const returned = completer(value, request);
  return returned instanceof Promise ? returned.then(toCompletion) : toCompletion(returned);
}

/** The answer where nothing can be offered. */
export const NOTHING: Completion = { values: [], total: 0, hasMore: false };

function toCompletion(returned: CompletionReturn): Completion {
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

function capped(values: readonly string[]): Completion {
  const shown = values.slice(0, MOST_VALUES);
  return { values: [...shown], total: values.length, hasMore: values.length > shown.length };
}

function isList(returned: CompletionReturn): returned is readonly string[] {
  return Array.isArray(returned);
}
