// Writes a call out for the person who is asked about it (whole, harmless to a terminal, hard to misread), and says
// what the answer is bound to.
import { createHash } from "node:crypto";
import { exactly, ExactNumber } from "@secure-local/mcp/jsonrpc";
import type { Caller } from "@secure-local/mcp/server";
import { replaceKnown } from "../../audit/secret-shapes.js";
import type { Remember } from "../../policy/policy.js";
import { seconds } from "../compiled-policy.js";

/** What a person is shown. */
export interface Shown {
  readonly tool: string;
  /** The resource or prompt that is asked for, where it is no call of a tool. */
  readonly read?: { readonly kind: "resource" | "prompt"; readonly name: string } | undefined;
  readonly arguments: unknown;
  /** Paths in them that lead elsewhere, and where; undefined where that could not be found out. */
  readonly led?: readonly (readonly [path: string, real: string | undefined])[];
  readonly principal: string | undefined;
  /** What the client calls itself. */
  readonly client?: string | undefined;
  /** The rules that ask for consent, as the policy has them. */
  readonly rules: readonly { readonly text: string; readonly line?: number }[];
  readonly timeoutMs: number;
  /** Names this one question. */
  readonly id: string;
}

/** Characters of a question: some 200 screens. What is longer nobody reads, so it is refused instead of cut. */
export const MAX_SHOWN: number = 64 * 1024;
/** From so many equal characters on their number is shown instead of them. */
const RUN = 24;
/** One character or escape and all its repetitions. */
const RUNS = /(\\u\{[0-9a-f]+\}|\\u[0-9a-f]{4}|\\[^]|[^\\])\1*/gu;
/** From so many equal lines on, likewise. */
const LINE_RUN = 4;
const MAX_NAMED = 8;

// Patterns with classes of Unicode stand in the functions that use them: making these four takes a millisecond, which
// at the top of the file every start would wait for.

/** The text of a question; undefined when it would be longer than anybody reads. */
export function shownCall(call: Shown): string | undefined {
  // What the call reaches for first, then the shortest: a long one must not push the others out of sight.
  const args = Object.entries(call.arguments ?? {})
    .map(([name, value]) => ({
      text: shownMember(name, value),
      first: TELLING.has(name) && typeof value === "string" && value.length <= MAX_TELLING,
    }))
    .sort((a, b) => Number(b.first) - Number(a.first) || a.text.length - b.text.length)
    .map(({ text }) => text);
  const rules = call.rules.map(({ text, line }) => `${printable(text)}${line === undefined ? "" : ` (line ${line})`}`);
  const subject = call.read?.name ?? call.tool;
  const lines = [
    `Allow this one ${call.read === undefined ? "call of the tool" : `read of the ${call.read.kind}`} ${quoted(subject)}?`,
    ...lookAlikes(subject),
    args.length === 0
      ? "It has no arguments."
      : `${call.read === undefined ? "Its" : "What it asks for, in"} ${args.length} argument${args.length === 1 ? "" : "s"}, complete:`,
    ...args,
    ...(call.led ?? []).map(
      ([path, real]) =>
        `  ${quoted(path)} ${real === undefined ? "leads to a place that could not be found out" : `leads to ${quoted(real)}`}`,
    ),
    `Asked by ${asker(call)}, because of: ${rules.join("; ")}`,
    `Question ${call.id}; without an answer within ${seconds(call.timeoutMs)} the call is refused.`,
  ];
  const text = replaceKnown(lines.join("\n"));
  return text.length <= MAX_SHOWN ? text : undefined;
}

/** Arguments that name what a call reaches for. */
const TELLING: ReadonlySet<string> = new Set(["path", "file", "url", "uri", "command", "database"]);
/** Longer ones do not go first: they would push the others out of sight. */
const MAX_TELLING = 300;

/** The name a client gives itself proves nothing, and says so. */
function asker({ client, principal }: Shown): string {
  const named = client === undefined ? "the client" : `the client that calls itself ${quoted(client)}`;
  return principal === undefined ? named : `${named} (${quoted(principal)})`;
}

/** One value under its name, in as many lines as it takes: every character of both, none of which steers, hides or passes for another. */
export function shownMember(name: string, value: unknown, about = ""): string {
  const text = typeof value === "string" ? value : shownJson(value);
  const size = typeof value === "string" && value.length > RUN ? ` (${value.length} characters)` : "";
  return [`  ${quoted(name)}${about}${size}: ${quotedValue(value)}`, ...lookAlikes(`${name} ${text}`)].join("\n");
}

/** A text of several lines is shown as lines, each behind a bar that none of them can remove. */
function quotedValue(value: unknown): string {
  if (typeof value !== "string" || !value.includes("\n")) return shortened(printable(shownJson(value)));
  const lines = value.split("\n").map((line) => `    | ${unquoted(line)}`);
  const out: string[] = [];
  for (let from = 0, to = 0; from < lines.length; from = to) {
    while (to < lines.length && lines[to] === lines[from]) to += 1;
    const same = to - from;
    out.push(...(same < LINE_RUN ? lines.slice(from, to) : [`${lines[from]}\\{this line ${same} times}`]));
  }
  return `\n${out.join("\n")}`;
}

/** As JSON, numbers by their own digits: a number and the text of it are not the same. */
function shownJson(value: unknown): string {
  if (value instanceof ExactNumber) return String(value);
  if (Array.isArray(value)) return `[${value.map(shownJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${shownJson(member)}`)
    .join(",")}}`;
}

/** A text in quotes, as `shownMember` writes it. */
export function quoted(text: string): string {
  return shortened(printable(JSON.stringify(text)));
}

/** A line behind a bar. Nothing ends it but its end, so quotes in it stand for themselves; a backslash stays two. */
export function unquoted(line: string): string {
  const escaped = JSON.stringify(line).slice(1, -1);
  return shortened(printable(escaped.replace(/\\(.)/g, (pair, escape) => (escape === '"' ? '"' : pair))));
}

/** Every character that is not seen, or seen as another, as `\u{…}`. JSON has escaped C0, quotes and backslashes. */
function printable(text: string): string {
  // What is not printed as it is: all but ASCII, letters, digits, signs, and up to three marks on a letter.
  const unprinted =
    /[^\x20-\x7e\p{L}\p{M}\p{N}\p{P}\p{S}]|\p{Default_Ignorable_Code_Point}|[\p{Zs}\u2800\u{1D159}]|(?<=\p{M}{3})\p{M}/gu;
  return oneSpelling(text).replace(unprinted, (character) => (character === " " ? character : escaped(character)));
}

/**
 * Of letters that look the same only one spelling is printed as it is: what has another one (`e` with an accent as a character of its
 * own), or a mark on a Latin letter or on none, is written as escapes.
 */
function oneSpelling(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  // What may be joined: parts of Korean syllables, and a character with its marks.
  const joined = /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]+|[^\p{M}]?\p{M}+|[^\x00-\x7e]/gu;
  const marked = /^(?:\p{Script=Latin}|\P{L})?\p{M}/u;
  return text.replace(joined, (each) =>
    each === each.normalize("NFC") && !marked.test(each) ? each : each.replace(/[^\x20-\x7e]/gu, escaped),
  );
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** `AAAA…` becomes `A\{10000 times}`, which no escape of JSON begins like. */
function shortened(text: string): string {
  return text.replace(RUNS, (run: string, unit: string) => {
    const times = run.length / unit.length;
    return times < RUN ? run : `${unit}\\{${times} times}`;
  });
}

/** A line that warns of letters which pass for Latin ones, or are Latin ones in disguise; none where there is nothing of the kind. */
export function lookAlikes(text: string): string[] {
  const latin = /\p{Script=Latin}/u;
  // Scripts whose letters pass for Latin ones.
  const lookAlikes =
    /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}\p{Script=Georgian}]/u;
  const odd = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    const mixed = latin.test(word);
    for (const letter of word) {
      if (letter < "\u0080") continue;
      const disguised = letter.normalize("NFKC") !== letter && /^[\x20-\x7e]+$/.test(letter.normalize("NFKC"));
      if (disguised || (lookAlikes.test(letter) && (mixed || isCopy(word)))) odd.add(letter);
    }
  }
  if (odd.size === 0) return [];
  const named = [...odd].slice(0, MAX_NAMED).map((letter) => `${letter} is U+${hex(letter)}`);
  const more = odd.size > MAX_NAMED ? ` and ${odd.size - MAX_NAMED} more` : "";
  return [`  CAREFUL: not the Latin letters they look like: ${named.join(", ")}${more}`];
}

/** A word of look-alikes alone, all of which have a Latin twin. */
function isCopy(word: string): boolean {
  return /^[\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u03bf\u03bd\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5\u0396]+$/u.test(
    word,
  );
}

function hex(letter: string): string {
  return (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

// What a consent is bound to: a digest that is another one as soon as anything of the call is another.

/** All that a consent is bound to. */
export interface BoundCall {
  readonly tool: string;
  /** As the handler gets them: validated, defaults filled in. */
  readonly arguments: unknown;
  /** Paths in them that lead elsewhere, and where. */
  readonly led: readonly (readonly [path: string, real: string | undefined])[];
  /** Hash of the policy the call was admitted under, and its profile. */
  readonly policy: readonly [hash: string, profile: string | undefined];
  /** Who asks: a principal, the program of it where those are told apart, and who does it for the call. */
  readonly asker: readonly [principal: string | undefined, program: string | undefined, actor: string | undefined];
  /** What it is bound to besides, as it is at this moment. */
  readonly bound: readonly (string | undefined)[];
}

/** SHA-256 in hexadecimal. The order of keys makes no difference. */
export function callDigest({ tool, arguments: args, led, policy, asker, bound }: BoundCall): string {
  const text = JSON.stringify([tool, sorted(exactly(args)), led, policy, asker, bound]);
  return createHash("sha256").update(text).digest("hex");
}

/** Lists of pairs instead of objects: keys such as `__proto__` count like any other. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ExactNumber) return ["number", String(value)];
  if (Array.isArray(value)) return ["list", ...value.map(sorted)];
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...pairs.map(([key, member]) => [key, sorted(member)])];
}

// Remembers consents that hold for more than one call: for the very same call and the rules a person was shown only, for a limited time.

/** What a person has agreed to, or would have to. */
export interface AskedConsent {
  /** Of the call. */
  readonly digest: string;
  /** The rules that asked, each with its terms and as it was shown. */
  readonly rules: readonly string[];
}

/** Whether who agreed to a call for some rules has agreed for all that ask now: each of them allowed who answered then. */
export function covers(given: readonly string[], asking: readonly string[]): boolean {
  return asking.every((rule) => given.includes(rule));
}

/** Where a consent that is remembered came from and what it is for, for the person who may take it back. */
export interface ConsentOrigin {
  /** The question that was answered; it names the consent. */
  readonly id: string;
  readonly tool: string;
  /** What the person was shown of the call, in at most 4,000 characters. */
  readonly about: string;
  readonly client: string;
  readonly principal: string;
  /** The plugin that asked; empty where it was the client. */
  readonly actor: string;
  readonly profile: string;
  readonly by: "client" | "terminal" | "console";
  /** Milliseconds since 1970 when it was given, and when it ends; the end of a session is not known before. */
  readonly at: number;
  readonly until?: number | undefined;
  /** Hash of the policy under which it was given: under another one it is worth nothing. */
  readonly policy: string;
}

/** A consent that is remembered. */
export interface KeptConsent extends Pick<AskedConsent, "digest" | "rules"> {
  /** Monotonic; absent: until its session ends. */
  readonly end?: number;
  /** The principal that it is for. */
  readonly of?: string;
  /** Absent from what an older version shares. */
  readonly origin?: ConsentOrigin | undefined;
}

/** Whose consent it is, and where it came from. */
interface GivenFor {
  readonly of?: string | undefined;
  readonly origin?: ConsentOrigin | undefined;
}

/** Consents remembered for a time; the oldest make room. */
const MAX_GRANTS = 1_000;

export class Grants {
  readonly #now: () => number;
  /** By the call's digest. */
  readonly #timed = new Map<string, KeptConsent>();
  readonly #sessions = new WeakMap<Caller, Map<string, KeptConsent>>();
  /** Those who have any in their sessions, while they are there. */
  readonly #callers = new Set<WeakRef<Caller>>();

  /** `now` is monotonic, in milliseconds: a clock that is set must not lengthen a consent. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What a person has agreed to of this very call, if it covers all that asks now. */
  find({ digest, rules }: AskedConsent, caller: Caller, remember: Remember): KeptConsent | undefined {
    // A rule that has become stricter is obeyed at once.
    if (remember.kind === "none") return undefined;
    const kept = (remember.kind === "session" ? this.#sessions.get(caller) : this.#timed)?.get(digest);
    return kept !== undefined && this.#holds(kept) && covers(kept.rules, rules) ? kept : undefined;
  }

  /** Forgets what was agreed to for a principal that is gone. What belongs to a session ends with that. */
  endOf(principal: string): void {
    for (const [digest, { of }] of this.#timed) if (of === principal) this.#timed.delete(digest);
  }

  /** `of`: the principal that it is for. */
  add({ digest, rules }: AskedConsent, caller: Caller, remember: Remember, given: GivenFor = {}): void {
    const { origin, of = "" } = given;
    if (remember.kind === "session") {
      const granted = this.#ofSession(caller);
      if (granted.size < MAX_GRANTS || granted.has(digest)) granted.set(digest, { digest, rules, origin });
    } else if (remember.kind === "minutes") {
      this.#timed.delete(digest);
      if (this.#timed.size >= MAX_GRANTS) this.#timed.delete(this.#timed.keys().next().value as string);
      this.#timed.set(digest, { digest, rules, origin, of, end: this.#now() + remember.minutes * 60_000 });
    }
  }

  /** All that hold now, those of sessions that are there too. */
  all(): KeptConsent[] {
    return this.#maps().flatMap((map) => [...map.values()].filter((each) => this.#holds(each)));
  }

  /** The same call is asked about again from now on. */
  forget(grant: KeptConsent): void {
    for (const map of this.#maps()) if (map.get(grant.digest) === grant) map.delete(grant.digest);
  }

  #holds({ end }: KeptConsent): boolean {
    return end === undefined || this.#now() < end;
  }

  #ofSession(caller: Caller): Map<string, KeptConsent> {
    const known = this.#sessions.get(caller);
    if (known !== undefined) return known;
    const granted = new Map<string, KeptConsent>();
    this.#sessions.set(caller, granted);
    for (const each of this.#callers) if (each.deref() === undefined) this.#callers.delete(each);
    this.#callers.add(new WeakRef(caller));
    return granted;
  }

  #maps(): Map<string, KeptConsent>[] {
    const sessions = [...this.#callers].map((each) => each.deref());
    return [this.#timed, ...sessions.flatMap((caller) => (caller && this.#sessions.get(caller)) ?? [])];
  }
}
