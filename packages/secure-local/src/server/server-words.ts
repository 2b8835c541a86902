// What a server of the policy says on its way to the caller: who says it stands in it, nothing of it passes for ours.
import type { RelayedQuestion, RelayedWords, RelayFailure } from "@secure-local/mcp/gateway";
import { ExactNumber, exactly, type JsonObject } from "@secure-local/mcp/jsonrpc";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import { foldLetters } from "@secure-local/inspection/names";
import type { Work } from "../audit/encoded-secrets.js";
import { atOnce, inTurns } from "../audit/secret-shapes.js";
import { callerMeta } from "../guard/caller-meta.js";
import { HiddenTextError, NOT_PLAIN, withoutUnseen } from "../guard/cleaning/clean-text.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { filesHint, networkHint } from "./sandbox-hints.js";
import { isPage, type LinkRules, safeLinks } from "./server-links.js";
import { pagesAsked, passQuestion, type RecordWords } from "./server-questions.js";

/** What our own refusals, and the marks of who says something, begin with: nobody else's text may be taken for one. */
const OURS =
  /^(?:denied\b|not run\b|not approved\b|too many\b|unknown (?:tool|prompt)\b|resource not found\b|the (?:result|call|tool|prompt|resource|policy|sandbox)\b|no consent\b|nobody\b|allow this one\b|careful:|mcp-secure-local\b|type the code\b|an unexpected error\b|the server .{1,80}? says\b|the server \S{1,80} asks:)/iu;
/** Whole sentences of ours: what people write in lists, under headlines and as names begins with many of the words above. */
const SURE =
  /^(?:denied[.:!]|not run[.:]|not approved[.:]|too many .{1,80}? at most\b|resource not found:|the (?:result|call|policy) (?:is withheld|ended\b|denies)|allow this one call\b|careful:|mcp-secure-local:|the server \S{1,80} (?:says\]|asks:))/iu;
/** No longer beginning of a line is looked at: it says whose words follow. */
const BEGINNING = 200;
/** The shortest of those words; no sign stands for more than three of their letters. */
const FEWEST = 2;
/** Characters of a line that are read at a time, until a letter is among them. */
const A_PART = 1_024;
/** What a line costs, as characters are counted that secrets are looked for in. */
const A_LINE = 64;
/** Characters of a message that are read while everybody waits; of a longer one it is said who says it, whatever it says. */
const MOST_AT_ONCE = 65_536;
/** Members of `_meta` that are ours. */
const OUR_META = /^\s*mcp-secure-local(?:\/|\s*$)/i;

interface WordsOptions {
  readonly record: RecordWords;
  /** Resolves once what was read for the call is known wherever it has to be; rejects where a question must not be passed on. */
  readonly mayAsk: (call: RelayedQuestion["call"]) => Promise<void>;
  /** Told of each request that failed, with what only the operator may read of it. */
  readonly failed: (failure: RelayFailure) => void;
  /** What URIs are judged by, as things stand. */
  readonly links: () => LinkRules;
}

export function serverWords(
  grant: ServerGrant,
  { record, mayAsk, failed, links }: WordsOptions,
): Required<RelayedWords> {
  const { name } = grant;
  const by = (text: string): string => `[the server ${name} says] ${text}`;
  const attributed = (text: string): string => (looksLikeOursAtOnce(text) ? by(text) : text);
  const said = (message: string): string => saidBelow(message, attributed);
  const mayOpen = (url: string): boolean => isPage(links().policy, url);
  return {
    question: (question, pass) =>
      passQuestion(grant, question, {
        pass: (params) => mayAsk(question.call).then(() => pass(params)),
        record,
        mayOpen,
        said,
        attributed,
      }),
    answer(answer, { kind, shown }) {
      if (isPlain(answer)) return hinted(grant, answer, links().policy);
      const rules = links();
      const asked = kind === "resource" ? shown : undefined;
      // A long one in turns with whatever else there is to do.
      const said = inTurns(worded(answer, { rules, asked, by }), Number.POSITIVE_INFINITY);
      const told = (all: JsonObject): JsonObject => hinted(grant, all, links().policy);
      return said instanceof Promise ? said.then(told) : told(said);
    },
    error: ({ code, message, data }, call, asked) => {
      const text = `${name}: ${said(message)}`;
      if (code === McpErrorCode.UrlElicitationRequired)
        return pagesAsked(grant, { message: text, data, call, asked }, { record, mayOpen, said, attributed });
      const told = data === undefined ? undefined : { server: name, data };
      const hint = sandboxHint(grant, message, links().policy);
      const below = hint === undefined ? "" : `\n${hint}`;
      return new RpcError(code, text + below, told);
    },
    logger: (logger) => (logger === undefined ? name : `${name}: ${said(logger)}`),
    progress: attributed,
    meta: (meta) => callerMeta(meta).passed,
    failed: (failure) => {
      failed(failure);
      return grant.login !== undefined && NEEDS_LOGIN.test(failure.error.code)
        ? `${name} needs a login. Its owner gives it by: mcp-secure-local servers login ${name}`
        : undefined;
    },
  };
}

/** What stands in the way of a server is its sandbox more often than its words say. */
function sandboxHint(grant: ServerGrant, said: string, { sandbox }: Policy): string | undefined {
  return networkHint(grant, said) ?? filesHint(grant, said, sandbox.mode);
}

/** Many servers report what went wrong as a plain answer, in a sentence that begins so. A dot before its first word is no part of it. */
const REPORTS = /^\W*\b(?:[\w.]*(?:error|exception|failure)|failed|could not|couldn't|cannot|can't|unable)\b/i;
/** Characters of such a report; what is longer holds more than that. */
const LONGEST_REPORT = 1_000;

/** An answer that is an error, or reports one, with what to do about it as a text of its own. */
function hinted(grant: ServerGrant, answer: JsonObject, policy: Policy): JsonObject {
  const { isError, content } = answer;
  if (!Array.isArray(content)) return answer;
  const said = content.flatMap((block) => {
    const text: unknown = typeof block === "object" && block !== null ? Reflect.get(block, "text") : undefined;
    return typeof text === "string" ? [text] : [];
  });
  const text = said.join("\n");
  if (isError !== true && !(text.length <= LONGEST_REPORT && REPORTS.test(text))) return answer;
  const hint = sandboxHint(grant, text, policy);
  return hint === undefined ? answer : { ...answer, content: [...content, { type: "text", text: hint }] };
}

const NEEDS_LOGIN = /^(?:UNAUTHORIZED|AUTH_\w+)$/;

/** What is in plain letters already. */
// oxlint-disable-next-line no-control-regex -- all of ASCII
const ASCII = /^[\x00-\x7f]*$/;

/** As a reader would see it: cleaned, and styled letters, and those of other alphabets, are the plain ones they look like. */
function* looksLikeOurs(text: string, ours: RegExp = OURS): Work<boolean> {
  const plain = !NOT_PLAIN.test(text);
  const read = plain ? text : yield* withoutUnseen(text);
  for (let from = 0, to = 0; from < read.length; from = to + 1) {
    to = read.indexOf("\n", from);
    if (to === -1) to = read.length;
    yield A_LINE;
    if (to - from > FEWEST && (yield* begins(read.slice(from, to), { ours, plain }))) return true;
  }
  if (plain) return false;
  // Where the policy has it so, what nobody sees is shown.
  const shown = yield* withoutUnseen(text, "show");
  return shown !== read && (yield* looksLikeOurs(shown, ours));
}

interface Look {
  readonly ours: RegExp;
  /** Whether it is all of ASCII. */
  readonly plain: boolean;
}

function* begins(line: string, { ours, plain }: Look): Work<boolean> {
  const begin = yield* beginningOf(line, plain);
  if (begin === undefined) return false;
  if (isOurs(begin, ours)) return true;
  return !plain && !ASCII.test(begin.text) && isOurs({ ...begin, text: foldLetters(begin.text) }, ours);
}

interface Beginning {
  readonly text: string;
  /** What stands before the first letter is a tag's. */
  readonly tagged: boolean;
}

/** From the first letter on, in plain letters; undefined where there is none. */
function* beginningOf(line: string, isPlain: boolean): Work<Beginning | undefined> {
  for (let at = 0; at < line.length; at += A_PART) {
    const end = at + 2 * A_PART;
    const part = line.slice(at, end);
    const plain = isPlain || ASCII.test(part) ? part : part.normalize("NFKC").replaceAll(/\p{Cf}/gu, "");
    const before = beforeLetters(plain);
    // What begins near the end of a part is read with the next one.
    const long = plain.length - before.length >= BEGINNING || end >= line.length;
    if (before.length < plain.length && long)
      return { text: plain.slice(before.length, before.length + BEGINNING), tagged: OPENS.test(before) };
    yield 2 * A_PART;
  }
  return undefined;
}

const OPENS = /<\/?$/;

// Classes by their names are written where they are used: as constants they would make every start look up Unicode's tables.

function beforeLetters(text: string): string {
  return /^[^\p{L}\p{N}]+/u.exec(text)?.[0] ?? "";
}

/** The number or letter of an item of a list, or what is left of a tag, with what stands behind it. */
function beforeWords(text: string, isTagged: boolean): string | undefined {
  const begin = isTagged ? /^[a-z][^<>]{0,100}>[^\p{L}\p{N}]*/iu : /^(?:\d{1,3}|[a-z])[.):][^\p{L}\p{N}]*/iu;
  return begin.exec(text)?.[0];
}

function isOurs({ text, tagged }: Beginning, ours: RegExp): boolean {
  if (ours.test(text)) return true;
  let [rest, isTagged] = [text, tagged];
  for (;;) {
    const before = beforeWords(rest, isTagged);
    if (before === undefined) return rest !== text && SURE.test(rest);
    rest = rest.slice(before.length);
    isTagged = OPENS.test(before);
  }
}

function looksLikeOursAtOnce(text: string): boolean {
  return text.length > MOST_AT_ONCE || atOnce(looksLikeOurs(text));
}

/** What ends a line, before it is cleaned. */
const LINES = /[\n\r\v\f\u0085\u2028\u2029]/;

/** The first line of an error stands behind its server's name already. */
function saidBelow(message: string, text: (given: string) => string): string {
  if (!LINES.test(message)) return message;
  if (message.length > MOST_AT_ONCE) return text(message);
  const read = NOT_PLAIN.test(message) ? atOnce(withoutUnseen(message)) : message;
  const first = read.indexOf("\n");
  return first !== -1 && looksLikeOursAtOnce(read.slice(first + 1)) ? text(message) : message;
}

/** No sentence: a state, a name, Base64. */
const ONE_VALUE = /^[\w+/=-]*$/;
/** Elsewhere than in a block's `text` a single word without a sign at its end is a value, such as a state. */
const WORDS = /\S\s+\S/;
const ENDS = /[.!:\u2026]["'\u201d\u2019)\]*_]{0,4}$/;

/** Of what is not one value. */
function* isSentence(text: string): Work<boolean> {
  const read = NOT_PLAIN.test(text) ? yield* withoutUnseen(text) : text;
  return WORDS.test(read) || ENDS.test(read);
}

/** Characters of an answer of texts alone that are looked at while everybody waits. */
const FEW = 8_192;
const TEXTS_ALONE: ReadonlySet<string> = new Set(["content", "isError", "resultType"]);
const TEXT_ALONE: ReadonlySet<string> = new Set(["type", "text"]);

/** Whether an answer has nothing but short texts, none of which looks like ours: then it stays as it is. Most are so. */
function isPlain(answer: JsonObject): boolean {
  const { content, isError = false, resultType = "complete" } = answer;
  if (!Array.isArray(content) || typeof isError !== "boolean" || resultType !== "complete") return false;
  for (const name in answer) if (!TEXTS_ALONE.has(name)) return false;
  let left = FEW;
  for (const block of content as unknown[]) {
    if (typeof block !== "object" || block === null) return false;
    for (const name in block) if (!TEXT_ALONE.has(name)) return false;
    const { type, text } = block as { readonly type?: unknown; readonly text?: unknown };
    if (type !== "text" || typeof text !== "string" || (left -= text.length) < 0) return false;
    if (atOnce(looksLikeOurs(text))) return false;
  }
  return atOnce(posingTogether(content)).size === 0;
}

/** Which blocks of a list end in what looks like ours with the texts behind it: many readers put texts together. */
function* posingTogether(list: readonly unknown[]): Work<ReadonlySet<number>> {
  const found = new Set<number>();
  let behind = "";
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const text = textIn(list[at]);
    const last = text.slice(Math.max(...ENDS_OF_LINE.map((end) => text.lastIndexOf(end))) + 1);
    if (behind !== "" && last !== "" && beforeLetters(last).length < last.length) {
      yield A_LINE;
      if (yield* looksLikeOurs(last + behind)) found.add(at);
    }
    behind = (text + behind).slice(0, 2 * BEGINNING);
  }
  return found;
}

/** Before it is cleaned. */
const ENDS_OF_LINE = ["\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"];

/** What is shown of a block, of what is embedded in it, or of a message. */
function textIn(block: unknown): string {
  if (typeof block !== "object" || block === null) return "";
  const { text, content, resource } = block as Record<"text" | "content" | "resource", unknown>;
  return typeof text === "string" ? text : textIn(content ?? resource);
}

const HOLDS_TEXT: ReadonlySet<string> = new Set(["text", "content", "resource"]);
const NONE: ReadonlySet<number> = new Set();

interface Wording {
  readonly rules: LinkRules;
  /** The URI that was read, which its reader knows already. */
  readonly asked: string | undefined;
  readonly by: (given: string) => string;
}

function* worded(answer: JsonObject, { rules, asked, by }: Wording): Work<JsonObject> {
  const named = yield* wellNamed(answer, rules.policy.output.hiddenUnicode === "refuse");
  return yield* mapped(safeLinks(named, rules, asked), by);
}

/** Where names are the server's own. */
const OWN_NAMES: ReadonlySet<string> = new Set(["structuredContent", "_meta"]);

/** An answer without members that get a name of the protocol's only by being cleaned: nobody looks at those before. */
function* wellNamed<Value>(given: Value, refuses: boolean): Work<Value> {
  if (typeof given !== "object" || given === null || given instanceof ExactNumber) return given;
  const members: Member[] = [];
  for (const [name, member] of Object.entries(given)) {
    yield 1;
    if (NOT_PLAIN.test(name) && !(yield* isRefused(name, refuses)) && (yield* withoutUnseen(name)) !== name) continue;
    members.push([name, OWN_NAMES.has(name) ? member : yield* wellNamed(member as unknown, refuses)]);
  }
  return withMembers(given, members) as Value;
}

/** Whether the policy refuses all of an answer for this name: then it has to be there when it is cleaned. */
function* isRefused(name: string, refuses: boolean): Work<boolean> {
  if (!refuses) return false;
  try {
    yield* withoutUnseen(name, "refuse");
    return false;
  } catch (error) {
    if (error instanceof HiddenTextError) return true;
    throw error;
  }
}

/** Every text of an answer, names among them, attributed where it looks like ours, and no member of ours in any `_meta`. */
function* mapped(answer: JsonObject, by: (given: string) => string): Work<JsonObject> {
  const isMarked = function* (name: string): Work<boolean> {
    return (yield* isSentence(name)) && (yield* looksLikeOurs(name, SURE));
  };
  /** `poses`: what is shown of it looks like ours with what follows it. */
  const walked = function* (value: unknown, key: string, poses = false): Work<unknown> {
    if (typeof value === "string") {
      if (poses && key === "text") return by(value);
      if (key !== "text" && (ONE_VALUE.test(value) || !(yield* isSentence(value)))) return value;
      return (yield* looksLikeOurs(value)) ? by(value) : value;
    }
    if (typeof value !== "object" || value === null || value instanceof ExactNumber) return value;
    const isList = Array.isArray(value);
    const posing = isList && value.length > 1 ? yield* posingTogether(value) : NONE;
    const members: Member[] = [];
    for (const [name, member] of Object.entries(value)) {
      yield 1;
      const read = NOT_PLAIN.test(name) ? yield* withoutUnseen(name) : name;
      // Of two names that are read as one, the one that is written so counts.
      if (read !== name && Object.hasOwn(value, read)) continue;
      if (key === "_meta" && OUR_META.test(read)) continue;
      const now: unknown = isValue(member)
        ? member
        : yield* walked(member, isList ? key : read, isList ? posing.has(Number(name)) : poses && HOLDS_TEXT.has(read));
      members.push(!isList && !ONE_VALUE.test(name) && (yield* isMarked(name)) ? [by(name), now, name] : [name, now]);
    }
    return withMembers(value, members);
  };
  return (yield* walked(answer, "")) as JsonObject;
}

function isValue(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || value === null;
}

/** A member as it is now, and the name it had where that is another. */
type Member = readonly [name: string, member: unknown, before?: string];

/** The very same where all of it is as it was. */
function withMembers(value: object, members: readonly Member[]): object {
  const isSame = ([name, member, before = name]: Member): boolean =>
    name === before && Reflect.get(value, name) === member;
  if (members.length === Object.keys(value).length && members.every(isSame)) return value;
  // A copy keeps the digits of its numbers only where they were read from what it is a copy of.
  const exact = exactly(value) as Record<string, unknown>;
  const made = members.map(
    ([name, member, before = name]) => [name, typeof member === "number" ? exact[before] : member] as const,
  );
  return Array.isArray(value) ? made.map(([, member]) => member) : Object.fromEntries(made);
}
