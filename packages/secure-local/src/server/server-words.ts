// What a server of the policy says on its way to the caller: who says it stands in it, nothing of it passes for ours.
import type { RelayedQuestion, RelayedWords, RelayFailure } from "@secure-local/mcp/gateway";
import { ExactNumber, exactly, type JsonObject } from "@secure-local/mcp/jsonrpc";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import { foldLetters } from "@secure-local/inspection/names";
import type { Work } from "../audit/encoded-secrets.js";
import { atOnce, inTurns } from "../audit/secret-shapes.js";
import { callerMeta } from "../guard/caller-meta.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { filesHint, networkHint } from "./sandbox-hints.js";
import { isPage, type LinkRules, safeLinks } from "./server-links.js";
import { pagesAsked, passQuestion, type RecordWords } from "./server-questions.js";

/** What our own refusals, and the marks of who says something, begin with: nobody else's text may be taken for one. */
const OURS =
  /^(?:denied\b|not run\b|not approved\b|too many\b|unknown (?:tool|prompt)\b|resource not found\b|the (?:result|call|tool|prompt|resource|policy|sandbox)\b|no consent\b|nobody\b|allow this one\b|careful:|mcp-secure-local\b|type the code\b|an unexpected error\b|the server .{1,80}? says\b)/iu;
/** No longer beginning of a line is looked at: it says whose words follow. */
const BEGINNING = 200;
const LINES = /[\n\r\v\f\u0085\u2028\u2029]/;
const EVERY_LINE = /[\n\r\v\f\u0085\u2028\u2029]|$/g;
/** The shortest of those words; no sign stands for more than three of their letters. */
const FEWEST = 2;
/** Characters of a line that are read at a time, until a letter is among them. */
const A_PART = 1_024;
/** What a line costs, as characters are counted that secrets are looked for in. */
const A_LINE = 64;
/** Characters of a message that are read while everybody waits; of a longer one it is said who says it, whatever it says. */
const MOST_AT_ONCE = 65_536;
/** Members of `_meta` that are ours. */
const OUR_META = /^mcp-secure-local\//i;

interface WordsOptions {
  readonly record: RecordWords;
  /** Resolves once what was read for the call is known wherever it has to be; rejects where a question must not be passed on. */
  readonly mayAsk: (call: RelayedQuestion["call"]) => Promise<void>;
  /** Told of each request that failed, with what only the operator may read of it. */
  readonly failed: (failure: RelayFailure) => void;
  /** What URIs are judged by, as things stand. */
  readonly links: () => LinkRules;
}

export function serverWords(grant: ServerGrant, { record, mayAsk, failed, links }: WordsOptions): RelayedWords {
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
      const linked = safeLinks(answer, links(), kind === "resource" ? shown : undefined);
      // A long one in turns with whatever else there is to do.
      const said = inTurns(mapped(linked, by), Number.POSITIVE_INFINITY);
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
    logger: (logger) => (logger === undefined ? name : `${name}: ${logger}`),
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

/** As a reader would see it: styled letters, and those of other alphabets, are the plain ones they look like. */
function* looksLikeOurs(text: string): Work<boolean> {
  let from = 0;
  for (const { index } of text.matchAll(EVERY_LINE)) {
    const line = index - from > FEWEST ? text.slice(from, index) : "";
    yield A_LINE;
    const begins = line === "" ? "" : yield* beginningOf(line);
    if (begins !== "" && (OURS.test(begins) || (!ASCII.test(begins) && OURS.test(foldLetters(begins))))) return true;
    from = index + 1;
  }
  return false;
}

/** Where the first letter is, in plain letters. */
function* beginningOf(line: string): Work<string> {
  for (let at = 0; at < line.length; at += A_PART) {
    const part = line.slice(at, at + 2 * A_PART);
    const plain = ASCII.test(part) ? part : part.normalize("NFKC").replaceAll(/\p{Cf}/gu, "");
    const begins = plain.replace(/^[^\p{L}\p{N}]+/u, "");
    if (begins !== "") return begins.slice(0, BEGINNING);
    yield 2 * A_PART;
  }
  return "";
}

function looksLikeOursAtOnce(text: string): boolean {
  return text.length > MOST_AT_ONCE || atOnce(looksLikeOurs(text));
}

/** The first line of an error stands behind its server's name already. */
function saidBelow(message: string, text: (given: string) => string): string {
  const [first = "", ...below] = message.split(LINES);
  return looksLikeOursAtOnce(below.join("\n")) ? text(message) : first.length === message.length ? first : message;
}

/** Members that are no text for a reader. */
const NO_TEXT: ReadonlySet<string> = new Set(["data", "blob", "mimeType", "uri", "url", "src", "type", "role"]);
/** Elsewhere than in a block's `text` a single word is a value, such as a state. */
const WORDS = /\S\s+\S/;

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
  return true;
}

/** Every text of an answer, attributed where it looks like ours, and no member of ours in any `_meta`. */
function* mapped(answer: JsonObject, by: (given: string) => string): Work<JsonObject> {
  const walked = function* (value: unknown, key: string): Work<unknown> {
    if (typeof value === "string") {
      const isText = !NO_TEXT.has(key) && (key === "text" || WORDS.test(value));
      return isText && (yield* looksLikeOurs(value)) ? by(value) : value;
    }
    if (typeof value !== "object" || value === null || value instanceof ExactNumber) return value;
    const kept = Object.entries(value).filter(([name]) => key !== "_meta" || !OUR_META.test(name));
    const now: (readonly [string, unknown])[] = [];
    for (const [name, member] of kept) {
      yield 1;
      now.push([name, yield* walked(member, Array.isArray(value) ? key : name)]);
    }
    const same =
      now.length === Object.keys(value).length && now.every(([name, member]) => Reflect.get(value, name) === member);
    if (same) return value;
    // A copy keeps the digits of its numbers only where they were read from what it is a copy of.
    const exact = exactly(value) as Record<string, unknown>;
    const made = now.map(([name, member]) => [name, typeof member === "number" ? exact[name] : member] as const);
    return Array.isArray(value) ? made.map(([, member]) => member) : Object.fromEntries(made);
  };
  return (yield* walked(answer, "")) as JsonObject;
}
