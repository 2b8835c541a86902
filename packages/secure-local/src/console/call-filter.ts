// Which calls are looked for: words, phrases, what is left out, and folders that a call named paths in, or beside.
import { posix } from "node:path";
import type { CallFilter, CallRow, Outcome, SoughtWords } from "@secure-local/console/api";
import { type LogRecord, membersOf, objectOf, textOf } from "../audit/call-records.js";

/** Paths kept of one call, characters of each, and how deep in its arguments they are looked for. */
const MAX_PATHS = 16;
const MAX_PATH = 400;
const MAX_DEPTH = 4;
/** What stands for paths that are not kept: it is under no folder. */
const UNKNOWN = "";
/** Arguments whose text is a path, whatever it begins with. */
const NAMES_PATH = /path|file|dir|folder|root|source|destination|target|cwd/i;
/** Arguments of our own tools that are words, whatever they begin with; of the tools of others nothing is known. */
const OWN_WORDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["write_file", new Set(["content"])],
  ["edit_file", new Set(["old_text", "new_text"])],
  ["search_text", new Set(["query"])],
  ["calculate", new Set(["expression"])],
  ["query_database", new Set(["sql"])],
  ["web_search", new Set(["query"])],
]);
const LOOKS_LIKE_PATH = /^(?:\/|~|\.{1,2}(?:\/|$)|file:|[A-Za-z]:[\\/])/;

/** The paths that a call named; undefined where there is none. */
export function pathsOf(record: LogRecord): readonly string[] | undefined {
  const found = new Set<string>();
  const words = record["server"] === undefined ? OWN_WORDS.get(textOf(record["tool"])) : undefined;
  const take = (value: unknown, key: string, depth: number): void => {
    if (words?.has(key) === true) return;
    if (found.size >= MAX_PATHS) return void found.add(UNKNOWN);
    if (typeof value === "string") {
      const isPath = LOOKS_LIKE_PATH.test(value) || (NAMES_PATH.test(key) && !/^\w+:/.test(value));
      if (isPath && value !== "" && !value.includes("\n")) found.add(normal(value));
    } else if (typeof value === "object" && value !== null) {
      if (depth >= MAX_DEPTH) return void found.add(UNKNOWN);
      for (const [name, each] of Object.entries(value)) take(each, Array.isArray(value) ? key : name, depth + 1);
    }
  };
  take(membersOf(record["arguments"]), "", 0);
  // What a resource is named by, and what was refused on its way.
  const object = objectOf(record);
  if (LOOKS_LIKE_PATH.test(object)) take(object, "", 0);
  if (typeof membersOf(record["detail"])["files"] === "string") take(membersOf(record["detail"])["files"], "path", 0);
  return found.size === 0 ? undefined : [...found];
}

/** Without steps to the folder above, which lead out of what a path begins with. */
function normal(path: string): string {
  let plain = path;
  if (/^file:/i.test(path)) {
    try {
      plain = decodeURIComponent(path.replace(/^file:(?:\/\/[^/]*)?/i, ""));
    } catch {
      return UNKNOWN;
    }
  }
  const whole = posix.normalize(plain);
  return whole.length > MAX_PATH ? UNKNOWN : whole.length > 1 ? whole.replace(/\/$/, "") : whole;
}

function isUnder(path: string, folder: string): boolean {
  return folder === "/" ? path.startsWith("/") : path === folder || path.startsWith(`${folder}/`);
}

/** What a person typed: each word and each phrase in quotes; what begins with a minus is left out, and `path:` names a folder. */
export function wordsIn(text: string): SoughtWords {
  const words: { with: string[]; without: string[]; under: string[]; outside: string[] } = {
    ...{ with: [], without: [], under: [], outside: [] },
  };
  for (const [, minus, path, phrase, word] of text.matchAll(/(-?)(path:)?(?:"([^"]*)"|(\S+))/gi)) {
    const said = phrase ?? word ?? "";
    if (path !== undefined) words[minus === "-" ? "outside" : "under"].push(normal(said));
    // A quotation mark that nobody closed is one.
    else if (said !== "") words[minus === "-" ? "without" : "with"].push(said.toLowerCase());
    else if (minus === "-") words.with.push("-");
  }
  return words;
}

/** The line of today's policy that decided a call; `policy` is the beginning of the hash of the one it was decided by. */
export type LineOf = (row: CallRow, policy: string) => number | undefined;

/** What calls are looked for; a line is one of today's policy, whatever its number was when it decided. */
export interface WantedCalls extends Omit<CallFilter, "line"> {
  readonly line?: { readonly number: number; readonly lineOf: LineOf } | undefined;
}

/** A call, with the beginning of the hash of the policy that decided it and the paths that it named. */
interface Sought {
  readonly row: CallRow;
  readonly policy: string;
  readonly paths: readonly string[] | undefined;
}

/** Looks for what a filter says. */
export function finder(filter: WantedCalls): (call: Sought) => boolean {
  const words = soughtIn(filter);
  return ({ row, policy, paths }) => fits(row, filter, policy) && fitsWords(row, paths, words);
}

/** The words and folders of a filter, as they are looked for. */
export function soughtIn({ text = "", under, outside }: WantedCalls): SoughtWords {
  const words = wordsIn(text);
  const also = (folder: string | undefined): string[] => (folder === undefined ? [] : [normal(folder)]);
  return { ...words, under: [...words.under, ...also(under)], outside: [...words.outside, ...also(outside)] };
}

function fitsWords(row: CallRow, paths: readonly string[] | undefined, words: SoughtWords): boolean {
  if (!words.under.every((folder) => paths?.some((path) => isUnder(path, folder)) === true)) return false;
  // One path that is not under it is enough, and so is one that is not known.
  if (!words.outside.every((folder) => paths?.some((path) => !isUnder(path, folder)) === true)) return false;
  if (words.with.length === 0 && words.without.length === 0) return true;
  const texts = [row.name, row.object, row.client, row.rule, row.method, row.server, row.outcome, ...(paths ?? [])];
  const low = texts.map((each) => each.toLowerCase());
  const has = (word: string): boolean => low.some((each) => each.includes(word));
  return words.with.every(has) && !words.without.some(has);
}

/** Whether a row is within the times of a filter. */
export function isInTime({ at }: CallRow, { since, until }: WantedCalls): boolean {
  return (since === undefined || at >= since) && (until === undefined || at < until);
}

function fits(row: CallRow, filter: WantedCalls, policy: string): boolean {
  const { name, client, outcome, asked, remembered, rule, line, log, slower } = filter;
  if (!isInTime(row, filter)) return false;
  if (outcome !== undefined && !isOf(row.outcome, outcome)) return false;
  if (asked === true && !row.asked) return false;
  if (remembered !== undefined && row.remembered !== remembered) return false;
  if (line !== undefined && line.lineOf(row, policy) !== line.number) return false;
  if (log !== undefined && row.log !== log) return false;
  if (name !== undefined && row.name !== name) return false;
  if (client !== undefined && row.client !== client) return false;
  if (slower !== undefined && (row.ms === undefined || row.ms < slower)) return false;
  return rule === undefined || row.rule === rule;
}

function isOf(outcome: Outcome, wanted: NonNullable<CallFilter["outcome"]>): boolean {
  const kind = kindOf(outcome);
  if (wanted === "refused") return kind !== "ok";
  return wanted === "failed" || wanted === "denied" ? kind === wanted : outcome === wanted;
}

/** What is coloured alike: `denied` was refused, by a rule, a person or since nobody answered, `failed` did not do what was asked for, all else is well. */
export function kindOf(outcome: Outcome): "ok" | "failed" | "denied" {
  if (outcome === "denied" || outcome === "unanswered") return "denied";
  return ["error", "timeout", "lost"].includes(outcome) ? "failed" : "ok";
}

/** What ends up in a row of a record's outcome. */
export function outcomeIn(outcome: unknown): Outcome {
  if (outcome === "input_required") return "waiting";
  return OUTCOMES.has(textOf(outcome)) ? (outcome as Outcome) : "error";
}

const OUTCOMES: ReadonlySet<string> = new Set(["ok", "error", "denied", "timeout", "cancelled"]);
