// Decides whether a command may be run with some arguments, and names the paths of a call. Pure: no path is followed
// and nothing is looked up.
import { basename, resolve } from "node:path";
import { domainToASCII, domainToUnicode } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { decide, type Decision } from "./decide.js";
import type { Rule } from "./faults.js";
import { plainHost } from "./host-matcher.js";
import { foldCase, foldText, matchSegments, segments } from "./path-matcher.js";
import type {
  AllowedCommand,
  ApprovalRule,
  Approver,
  ArgumentCondition,
  ArgumentGrammar,
  Policy,
  PositionRule,
  Remember,
} from "./policy.js";

/** A path among the arguments, in full; whoever runs the command has to follow links and decide again. */
export interface CommandPath {
  readonly path: string;
  readonly access: "read" | "write";
  /** Which argument it stands in, and what stands before it there (`--file=`). */
  readonly argument: number;
  readonly before: string;
}

interface CommandDecision extends Decision {
  /** Undefined unless allowed. */
  readonly command: AllowedCommand | undefined;
  readonly paths: readonly CommandPath[];
}

const DEFAULT_DENY: Rule = Object.freeze({ text: "default deny" });

/** By getopt the value of `-o=x` is `=x`: another text, and another path, than the one that would be judged. */
const ONE_LETTER = /^-[^-]$/u;

/** An operand that begins with `-` is refused where its grammar does not spell it out, since the command could take it for a flag. */
export function decideCommand(policy: Policy, name: string, given: readonly string[]): CommandDecision {
  const command = policy.commands.allowed.get(name);
  const blocked = blockedBy(policy, name) ?? (command && blockedBy(policy, command.executable));
  if (blocked) return refused(blocked, `The policy blocks the command "${name}".`);
  if (!command) {
    return refused(DEFAULT_DENY, `The policy does not name the command "${name}"; add it to commands.allowed.`);
  }
  return new Reading(command, (path, op) => decide(policy, { kind: "file", path, op }).allowed).read(given);
}

/** The paths among the arguments of a command, allowed or not, as they are read when it is decided. */
export function pathsOfCommand(policy: Policy, name: string, given: readonly string[]): readonly CommandPath[] {
  const command = policy.commands.allowed.get(name);
  if (command === undefined) return [];
  const reading = new Reading(command, () => true);
  reading.read(given);
  return reading.paths;
}

/** The rule that blocks a command by its name, or by the last part of its path. */
export function blockedBy({ commands }: Policy, named: string): Rule | undefined {
  const name = basename(named).toLowerCase();
  return commands.blocked.find(({ pattern }) => pattern.toLowerCase() === name)?.rule;
}

function refused(rule: Rule, reason: string): CommandDecision {
  return { allowed: false, rule, reason, command: undefined, paths: [] };
}

/** One reading of the arguments, from left to right. */
class Reading {
  readonly #command: AllowedCommand;
  readonly #mayReach: (path: string, access: CommandPath["access"]) => boolean;
  readonly paths: CommandPath[] = [];
  readonly #seen: Set<string> = new Set();
  #position = 0;
  #times = 0;
  /** Where the text stands that is being read. */
  #place: Pick<CommandPath, "argument" | "before"> = { argument: 0, before: "" };

  constructor(command: AllowedCommand, mayReach: (path: string, access: CommandPath["access"]) => boolean) {
    this.#command = command;
    this.#mayReach = mayReach;
  }

  read(given: readonly string[]): CommandDecision {
    const { name, positions, rule } = this.#command;
    const leading = positions.findIndex(({ grammar }) => grammar.kind !== "fixed");
    const fixed = leading < 0 ? positions.length : leading;
    let flagsEnded = false;
    for (let at = 0; at < given.length; at++) {
      const text = given[at]!;
      this.#place = { argument: at, before: "" };
      if (text.includes("\0")) return refused(rule, `An argument of "${name}" holds a NUL character.`);
      if (!flagsEnded && text === "--" && at >= fixed) flagsEnded = true;
      else if (!flagsEnded && at >= fixed && this.#isFlag(text)) {
        const used = this.#flag(text, at, given[at + 1]);
        if (typeof used === "object") return used;
        at += used;
      } else {
        const wrong = this.#operand(text, at);
        if (wrong) return wrong;
      }
    }
    const missing = positions
      .slice(this.#times > 0 ? this.#position + 1 : this.#position)
      .find((each) => !each.optional);
    if (missing) return refused(missing.rule, `The command "${name}" lacks an argument: ${words(missing.grammar)}.`);
    const reason = `The policy allows the command "${name}" with these arguments.`;
    return { allowed: true, rule, reason, command: this.#command, paths: this.paths };
  }

  #isFlag(text: string): boolean {
    const known = this.#command.flags.some(({ flag }) => flag === text || text.startsWith(`${flag}=`));
    return known || (text.startsWith("-") && !this.#literal(text));
  }

  /** Whether the position spells out this very text. */
  #literal(text: string): boolean {
    const grammar = this.#next()?.grammar;
    const literal = grammar?.kind === "fixed" || grammar?.kind === "enum" || grammar?.kind === "integer";
    return literal && this.#fits(grammar, text);
  }

  #next(): PositionRule | undefined {
    return this.#command.positions[this.#position];
  }

  /** How many further arguments the flag took, or why it is refused. */
  #flag(text: string, at: number, after: string | undefined): number | CommandDecision {
    const { name, flags, rule } = this.#command;
    const equals = text.indexOf("=");
    const flagName = equals < 0 ? text : text.slice(0, equals);
    const flag = flags.find((each) => each.flag === flagName);
    if (!flag) return refused(rule, `The policy allows the command "${name}" no flag "${flagName}".`);
    if (this.#seen.has(flagName)) return refused(flag.rule, `The flag "${flagName}" of "${name}" is given twice.`);
    this.#seen.add(flagName);
    if (!flag.value) {
      return equals < 0 ? 0 : refused(flag.rule, `The flag "${flagName}" of "${name}" takes no value.`);
    }
    if (equals >= 0 && ONE_LETTER.test(flagName)) {
      return refused(
        flag.rule,
        `The flag "${flagName}" of "${name}" takes its value as the next argument, without "=".`,
      );
    }
    const value = equals < 0 ? after : text.slice(equals + 1);
    this.#place = equals < 0 ? { argument: at + 1, before: "" } : { argument: at, before: `${flagName}=` };
    const good = value !== undefined && !this.#dashed(flag.value, value) && this.#fits(flag.value, value);
    if (!good) return refused(flag.rule, `The flag "${flagName}" of "${name}" needs ${words(flag.value)}.`);
    return equals < 0 ? 1 : 0;
  }

  #operand(text: string, at: number): CommandDecision | undefined {
    const { name, rule } = this.#command;
    const position = this.#next();
    if (!position) return refused(rule, `The policy allows the command "${name}" no further argument than ${at}.`);
    if (this.#dashed(position.grammar, text) || !this.#fits(position.grammar, text)) {
      return refused(position.rule, `Argument ${at + 1} of "${name}" must be ${words(position.grammar)}.`);
    }
    this.#times += 1;
    if (this.#times >= position.repeat) {
      this.#position += 1;
      this.#times = 0;
    }
    return undefined;
  }

  #dashed(grammar: ArgumentGrammar, text: string): boolean {
    return text.startsWith("-") && (grammar.kind === "pattern" || grammar.kind === "path");
  }

  #fits(grammar: ArgumentGrammar, text: string): boolean {
    switch (grammar.kind) {
      case "fixed":
        return text === grammar.text;
      case "enum":
        return grammar.values.includes(text);
      case "pattern":
        return grammar.fits(text);
      case "integer":
        return /^(?:0|-?[1-9]\d{0,15})$/.test(text) && Number(text) >= grammar.min && Number(text) <= grammar.max;
      case "path":
        return this.#path(text, grammar.access);
    }
  }

  #path(text: string, access: CommandPath["access"]): boolean {
    const path = resolve(this.#command.workingDirectory ?? "/", text);
    if (text === "" || !this.#mayReach(path, access)) return false;
    this.paths.push({ path, access, ...this.#place });
    return true;
  }
}

/** What an argument must be. */
function words(grammar: ArgumentGrammar): string {
  switch (grammar.kind) {
    case "fixed":
      return `"${grammar.text}"`;
    case "enum":
      return `one of ${grammar.values.map((value) => `"${value}"`).join(", ")}`;
    case "pattern":
      return `a text that fits ${grammar.source} and does not begin with -`;
    case "integer":
      return `a whole number from ${grammar.min} to ${grammar.max}`;
    case "path":
      return `a path that the filesystem section allows to ${grammar.access}`;
  }
}

// Finds out whether a call needs a person's consent, and on which terms. Pure.

/** Where a path leads, and its names below those of `folders` it lies in. Undefined when that cannot be told. */
export interface LeadsTo {
  (path: string, folders: readonly string[]): { readonly real: string; readonly names: readonly string[] } | undefined;
  /** Where a path of which that cannot be told (of a file that has several names) leads all the same; undefined where nothing is known. */
  readonly bound?: (path: string) => string | undefined;
}

interface ApprovalCall {
  readonly tool: string;
  /** Who does it in the course of a call that was let through, as in `plugin:weather`. Rules may name it like a tool. */
  readonly actor?: string | undefined;
  /** Other names that a rule may have for it: of tools that read the same thing. */
  readonly also?: readonly string[] | undefined;
  /** Whether it is no more than a part of that call, which rules for `all` and `destructive` were asked about. Default: no. */
  readonly isPart?: boolean | undefined;
  /** Whether the tool may destroy: it does not say that it only reads, nor that it destroys nothing. */
  readonly destructive: boolean;
  /** Whether the tool can send something out, and the session has read private data and texts of strangers. Default: no. */
  readonly tainted?: boolean;
  readonly arguments: unknown;
  /** Arguments that the tool finds by itself, when it runs, where they are absent: nobody knows what they will be. Default: none. */
  readonly open?: ReadonlySet<string> | undefined;
  /** Default: paths lead to themselves. */
  readonly leads?: LeadsTo | undefined;
}

/** The strictest terms of every rule that fits. */
export interface ApprovalNeed {
  /** At least one, in the order of the file. */
  readonly rules: readonly Rule[];
  /** The same with their terms. */
  readonly fitting: readonly ApprovalRule[];
  readonly timeoutMs: number;
  readonly remember: Remember;
  /** Empty when the rules agree on nobody: then the call is refused. */
  readonly answerBy: ReadonlySet<Approver>;
}

/** Values longer than this are not compared with a pattern: they count as fitting, so that they are asked for. */
const MAX_COMPARED = 4_096;
/** Values of one argument that are looked at; more count as fitting. */
const MAX_VALUES = 1_000;

/** Undefined when no rule fits. A value that cannot be judged fits: doubt leads to a question, never past one. */
export function approvalNeed(policy: Policy, call: ApprovalCall): ApprovalNeed | undefined {
  const fitting = policy.approvals.filter((rule) => names(rule, call) && rule.when.every((each) => holds(each, call)));
  if (fitting.length === 0) return undefined;
  return {
    rules: fitting.map(({ rule }) => rule),
    fitting,
    timeoutMs: Math.min(...fitting.map(({ timeoutMs }) => timeoutMs)),
    remember: fitting.map(({ remember }) => remember).reduce((a, b) => (span(b) < span(a) ? b : a)),
    answerBy: fitting.map(({ answerBy }) => answerBy).reduce((a, b) => new Set([...a].filter((who) => b.has(who)))),
  };
}

/** Whether a rule's consent ends sooner than another's. */
export function remembersLess({ remember }: ApprovalRule, than: ApprovalRule): boolean {
  return span(remember) < span(than.remember);
}

function span(remember: Remember): number {
  if (remember.kind === "minutes") return remember.minutes;
  return remember.kind === "none" ? 0 : Infinity;
}

function names({ approve }: ApprovalRule, call: ApprovalCall): boolean {
  const { tool, actor, also = [], isPart, destructive, tainted } = call;
  if (approve === "tainted") return tainted === true;
  if (approve === "all") return isPart !== true;
  if (approve === "destructive") return destructive && isPart !== true;
  if ([tool, ...also].some((name) => approve.find(name) !== undefined)) return true;
  return actor !== undefined && approve.find(actor) !== undefined;
}

/** An argument that is absent fits nothing, unless the tool finds one by itself: then it could be any. */
function holds(condition: ArgumentCondition, call: ApprovalCall): boolean {
  const [first = "", ...rest] = condition.argument.split(".");
  const args = call.arguments;
  if (typeof args !== "object" || args === null) return call.open?.has(first) === true;
  const found = valuesAt(args, [first, ...rest]);
  if (found === undefined) return true;
  if (found.length === 0) return !Object.hasOwn(args, first) && call.open?.has(first) === true;
  return found.some((each) => fits(condition, each, call.leads));
}

/** What stands under a nested name, in each item of the lists on the way. Undefined where that cannot be told, or is too much. */
function valuesAt(args: object, names: readonly string[]): unknown[] | undefined {
  const found: unknown[] = [];
  const waiting: { readonly value: unknown; readonly left: readonly string[] }[] = [{ value: args, left: names }];
  for (let looked = 0; ; looked += 1) {
    const next = waiting.pop();
    if (next === undefined) return found;
    if (looked > 4 * MAX_VALUES || found.length > MAX_VALUES) return undefined;
    const { value, left } = next;
    if (Array.isArray(value)) {
      if (value.length > MAX_VALUES) return undefined;
      for (const each of value) waiting.push({ value: each, left });
    } else if (left.length === 0) found.push(value);
    else if (typeof value === "object" && value !== null) waiting.push(...membersAt(value, left));
    // A text in the place of an object may be one to its tool: as JSON, or as what it is the short form of.
    else if (value !== null && value !== undefined && value !== "") return undefined;
  }
}

/** The member that a name leads to, also where its own name has dots. */
function membersAt(value: object, names: readonly string[]): { readonly value: unknown; readonly left: string[] }[] {
  return names.flatMap((_, end) => {
    const name = names.slice(0, end + 1).join(".");
    return Object.hasOwn(value, name) ? [{ value: Reflect.get(value, name), left: names.slice(end + 1) }] : [];
  });
}

function fits(condition: ArgumentCondition, value: unknown, leads: LeadsTo | undefined): boolean {
  const { pattern, isPath } = condition;
  if (typeof pattern !== "string") return isValue(pattern, value);
  if (value === null || value === undefined) return false;
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return true;
  const text = `${value}`;
  if (text.length > MAX_COMPARED) return true;
  const isPlain = isPlainPath(text);
  if (isPath && !isPlain) return true;
  const names = isPlain ? namesOf(text, isPath ? [literalPart(pattern)] : [], leads) : [];
  if (names === undefined) return true;
  if (isPath) return names.some((name) => matchSegments(segments(foldCase(pattern)), segments(foldCase(name))));
  const spellings = textSpellings(text, condition.argument, pattern);
  if (spellings === undefined) return true;
  // A slash in the text must not divide it, so both are compared as one segment.
  return [foldCase, foldText].some((fold) => {
    const folded = [fold(pattern)];
    return [...names, ...spellings].some((each) => matchSegments(folded, [fold(each)]));
  });
}

/**
 * As tools read it that take texts for numbers, and anything for yes or no: everything that some language takes for `true`, or for
 * `false`, fits. What is neither fits both.
 */
function isValue(pattern: number | boolean, value: unknown): boolean {
  if (value === pattern) return true;
  if (typeof value === "object" && value !== null) return true;
  const read = typeof value === "string" ? foldText(value) : value;
  if (typeof pattern === "number") return read !== "" && read !== undefined && Number(read) === pattern;
  const empty = value === undefined || value === null || value === false || value === 0 || value === "";
  return pattern ? !empty : empty || (typeof read === "string" && NO.test(read));
}

/** Texts that are read as `false`; read as they stand, they are true in most languages. */
const NO = /^(?:false|f|no|n|off|none|null|nil|undefined|disabled?|never|0+(?:\.0*)?|)$/i;

/** A path as it was written, and where it leads. */
function namesOf(path: string, folders: readonly string[], leads: LeadsTo | undefined): readonly string[] | undefined {
  if (leads === undefined) return [path];
  const lead = leads(path, folders);
  return lead && [path, ...lead.names];
}

function literalPart(pattern: string): string {
  const names = segments(pattern);
  const wild = names.findIndex((name) => /[*?]/.test(name));
  const literal = (wild < 0 ? names : names.slice(0, wild)).join("/");
  return pattern.startsWith("/") || literal === "" ? `/${literal}` : literal;
}

/** Several paths in one text, as some tools take them. */
const PATH_LIST = /[\n\r]|[:;,|]\s*[/~]/;
const ROOT = process.platform === "win32" ? /^(?:\/|[a-z]:\/)/i : /^\//;

/** Whether lexically equal paths are the same path; any other may lead into the pattern. */
function isPlainPath(path: string): boolean {
  const slashed = path.replaceAll("\\", "/");
  if (!ROOT.test(slashed) || slashed !== path || PATH_LIST.test(path.slice(process.platform === "win32" ? 2 : 0)))
    return false;
  return !segments(path).some((segment) => segment === "." || segment === "..");
}

// The other ways to write an argument that names a host or a URL: a condition of `when` holds for all of them.

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "ws:": "80",
  "wss:": "443",
  "ftp:": "21",
};
/** What begins a URL: a scheme with a slash behind it, or one that needs none. */
const SCHEME = /^(?:(?:https?|wss?|ftp):|[a-z][a-z0-9+.-]*:(?=[/\\]))/i;
/** Where one of several hosts or URLs in a text may end and another begin. */
const BETWEEN = /[\s\0-\x1f,;|!<>"'`(){}]+|(?<![a-z][a-z0-9+.-]{0,30})(?=[a-z][a-z0-9+.-]{0,30}:[/\\])/i;
/** What may stand around a text and be no part of it. */
const AROUND = /[\s\p{C}\p{Pi}\p{Pf}"'`]/u;
const BLANK = /[\0-\x20]/;
/** Hosts and URLs in one text that are looked at; more count as fitting. */
const MOST_PIECES = 64;
/** Arguments that are a host or a URL, whatever a condition says of them. */
const HOST_ARGUMENT = /host|ur[il]|domain|address|endpoint|origin|site|server/i;

/**
 * The text itself first, then as whoever is less strict may read it. Undefined where the condition is about a host or a URL, and the
 * text, or a part of it, may be one that cannot be read.
 */
function textSpellings(text: string, argument: string, pattern: string): readonly string[] | undefined {
  // Readers of URLs leave these out, wherever they stand.
  const joined = text.replace(/[\t\n\r]+/g, "");
  const bare = stripVTControlCharacters(text);
  const unquoted = within(bare, AROUND);
  const wholes = [...new Set([text, joined, bare, unquoted, text.replace(/\0.*$/s, "")])];
  const isAboutHost = HOST_ARGUMENT.test(argument) || (/[^.]\.[^.]|:/.test(pattern) && !/\s/.test(pattern));
  const divided = isAboutHost ? [...wholes, foldText(bare)].flatMap((each) => each.split(BETWEEN)) : [];
  const pieces = new Set(divided.filter(Boolean));
  if (pieces.size > MOST_PIECES) return undefined;
  const found = new Set(wholes);
  for (const piece of [...pieces, ...wholes]) {
    const spellings = hostedSpellings(piece, pattern);
    if (spellings === undefined && pieces.has(piece)) return undefined;
    for (const each of spellings ?? []) found.add(each);
  }
  return [...found];
}

/** What is left without such characters at both ends. A pattern for the end would be tried at each of them: a square of their number. */
function within(text: string, outer: RegExp): string {
  const all = [...text];
  const from = all.findIndex((each) => !outer.test(each));
  return from < 0 ? "" : all.slice(from, all.findLastIndex((each) => !outer.test(each)) + 1).join("");
}

/** Of one host or URL, also where its scheme is left out. Undefined where it cannot be read as one. */
function hostedSpellings(text: string, pattern: string): readonly string[] | undefined {
  const trimmed = within(text, BLANK);
  // A path to the system. With a second slash it is a host to a browser.
  if (/^\/(?![/\\])/.test(trimmed)) return [text];
  const [scheme] = SCHEME.exec(trimmed) ?? [];
  const place = trimmed
    .slice(scheme?.length ?? 0)
    .replace(/^[/\\]+/, "")
    .replace(/^\[([^\]:]*)\]/, "$1")
    // As git writes it: a path behind the colon, and no port.
    .replace(/^([^\s/\\:@]+@[^\s/\\:@]+):(?!\d*(?:[/\\?#]|$))/, "$1/");
  if (place === "") return [text];
  const spellings = new Set([text]);
  for (const each of scheme === undefined ? ["https:", "http:", ...(SCHEME.exec(pattern) ?? [])] : [scheme]) {
    const protocol = each.toLowerCase();
    const readAs = `${Object.hasOwn(DEFAULT_PORTS, protocol) ? protocol : "http:"}//${place}`;
    const url = URL.canParse(readAs) ? new URL(readAs) : undefined;
    if (url === undefined || plainHost(url.hostname) === undefined) return undefined;
    addSpellings(spellings, url, protocol);
  }
  return [...spellings];
}

function addSpellings(spellings: Set<string>, url: URL, protocol: string): void {
  const { host, hostname, pathname, search, hash } = url;
  const port = DEFAULT_PORTS[protocol];
  const named = [hostname, host, ...(url.port === "" && port !== undefined ? [`${hostname}:${port}`] : [])];
  const hosts = named.flatMap(hostSpellings);
  // A condition may be about the host alone.
  for (const each of hosts) spellings.add(each);
  for (const each of hosts)
    for (const path of new Set([pathname, decoded(pathname), pathname === "/" ? "" : pathname.replace(/\/+$/, "")]))
      for (const rest of [search + hash, decoded(search + hash), search, ""])
        spellings.add(`${protocol}//${each}${path}${rest}`);
}

/** With and without the dot that ends a whole name, in the letters of the network and of people. */
function hostSpellings(host: string): string[] {
  const [, name = host, port = ""] = /^(.*?)(:\d+)?$/.exec(host) ?? [];
  const plain = name.replace(/\.+$/, "");
  const names = [name, plain, domainToASCII(plain), domainToUnicode(plain), plain.replace(/^\[|\]$/g, "")];
  return names.filter(Boolean).map((each) => each + port);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Finds the paths that a call names: one list for what a person is shown, what a consent is bound to and what may be opened. Pure.

/** A path that a call names. */
export interface CallPath {
  /** As the call writes it. */
  readonly given: string;
  /** What is opened. */
  readonly path: string;
}

/** Paths of one call: more nobody would read, and looking where each leads takes its time. */
export const MOST_PATHS = 1_000;
/** No system opens what is longer. */
const LONGEST_PATH = 4_096;
const ABSOLUTE = /^(?:\/|[A-Za-z]:[/\\])/;
const FILE_URI = /^file:\/\/[^/]*(?=\/)/i;

/**
 * The absolute paths among all texts of the arguments, those in file: URIs and behind the `=` of a flag too. Of a command, what it is
 * decided by: each path in full, however it was written. Undefined where there are more than `MOST_PATHS`.
 */
export function pathsOfCall(
  policy: Policy,
  { tool, arguments: args }: { readonly tool: string; readonly arguments: unknown },
): readonly CallPath[] | undefined {
  const found = new Map<string, CallPath>();
  const add = (each: CallPath): boolean => {
    if (each.path.length <= LONGEST_PATH) found.set(`${each.given}\0${each.path}`, each);
    return found.size <= MOST_PATHS;
  };
  for (const each of tool === "run_command" ? ofCommand(policy, args) : []) if (!add(each)) return undefined;
  const decided = new Set([...found.values()].map(({ given }) => given));
  for (const text of textsOf(args)) {
    const path = pathIn(text);
    if (path !== undefined && !decided.has(path) && !add({ given: path, path })) return undefined;
  }
  return [...found.values()].sort((a, b) => (a.given < b.given ? -1 : 1));
}

function ofCommand(policy: Policy, args: unknown): CallPath[] {
  const { command, arguments: given = [] } = (args ?? {}) as {
    readonly command?: unknown;
    readonly arguments?: unknown;
  };
  if (typeof command !== "string" || !isTexts(given)) return [];
  return pathsOfCommand(policy, command, given).map(({ path, argument, before }) => ({
    given: (given[argument] ?? "").slice(before.length),
    path,
  }));
}

function isTexts(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((each) => typeof each === "string");
}

/** Every text in a value, names of members too. */
function* textsOf(given: unknown): Iterable<string> {
  const waiting: unknown[] = [given];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string") yield value;
    if (typeof value !== "object" || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) yield name;
      waiting.push(member);
    }
  }
}

/** The absolute path that a text is, or that stands in it as tools write one. */
function pathIn(text: string): string | undefined {
  if (text.length > 4 * LONGEST_PATH) return undefined;
  if (ABSOLUTE.test(text)) return text;
  const value = text.startsWith("-") ? text.slice(text.indexOf("=") + 1) : text;
  if (ABSOLUTE.test(value)) return value;
  return FILE_URI.test(value) ? decoded(value.replace(FILE_URI, "")) : undefined;
}

/** What a consent is bound to of paths that lead elsewhere: where those of which nobody is told where they lead do so all the same. */
export function boundPlaces(paths: readonly CallPath[], leads: LeadsTo): ReturnType<typeof ledElsewhere> {
  return ledElsewhere(paths, (path, folders) => {
    const told = leads(path, folders);
    // No path begins so.
    return told ?? { real: `?${leads.bound?.(path) ?? ""}`, names: [] };
  });
}

/** Which of the paths lead elsewhere than to themselves, and where; undefined where it cannot be told. */
export function ledElsewhere(
  paths: readonly CallPath[],
  leads: LeadsTo,
): (readonly [given: string, real: string | undefined])[] {
  return paths.flatMap(({ given, path }) => {
    const real = leads(path, [])?.real;
    return real === given ? [] : [[given, real] as const];
  });
}
