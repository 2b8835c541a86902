// What a server of the policy may ask whoever calls it: nothing else is declared to it, and each question is judged and recorded.
import type { ClientOptions } from "@secure-local/mcp/client";
import type { RelayedQuestion } from "@secure-local/mcp/gateway";
import { ExactNumber, type JsonObject } from "@secure-local/mcp/jsonrpc";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import type { AuditEvent } from "../audit/audit-event.js";
import { redactValue } from "../audit/event-text.js";
import { MOST_AT_ONCE, TooMuchWorkError } from "../audit/secret-shapes.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import type { ServerGrant, ServerQuestion } from "../policy/policy.js";
import { inwardPlace } from "./server-links.js";

/** Rejects where the record cannot be kept: then nothing is asked. */
export type RecordWords = (event: AuditEvent) => Promise<void>;

const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

const QUESTIONS: Readonly<Record<RelayedQuestion["method"], ServerQuestion>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Questions that one call may put to a person, as many as our own approvals may. */
const MOST_QUESTIONS = 8;

/** Of what a caller can be asked, that which its entry lets a server ask: what has no answerer is declared to nobody. */
export function askable({ mayAsk }: Pick<ServerGrant, "mayAsk">, options: ClientOptions): ClientOptions {
  const { elicit, sample, roots, capabilities = {}, ...rest } = options;
  const { elicitation, sampling, roots: declared, ...others } = capabilities;
  return {
    ...rest,
    ...(mayAsk.has("elicitation") && elicit !== undefined ? { elicit } : {}),
    ...(mayAsk.has("sampling") && sample !== undefined ? { sample } : {}),
    ...(mayAsk.has("roots") && roots !== undefined ? { roots } : {}),
    capabilities: {
      ...others,
      ...(mayAsk.has("elicitation") && elicitation !== undefined ? { elicitation } : {}),
      ...(mayAsk.has("sampling") && sampling !== undefined ? { sampling } : {}),
      ...(mayAsk.has("roots") && declared !== undefined ? { roots: declared } : {}),
    },
  };
}

/** What its entry lets a server ask, and this caller does not declare. */
export function undeclared({ mayAsk }: Pick<ServerGrant, "mayAsk">, { capabilities = {} }: ClientOptions): string[] {
  return [...mayAsk].filter((question) => capabilities[question] === undefined);
}

export async function passQuestion(
  { name: server, mayAsk }: ServerGrant,
  { call, among, method, number, params }: RelayedQuestion,
  {
    pass,
    record,
    mayOpen,
    said,
    attributed,
  }: Judges & { readonly pass: (params: JsonObject) => Promise<JsonObject | undefined> },
): Promise<JsonObject | undefined> {
  const what = QUESTIONS[method];
  const { principal } = call.carrier;
  // The record names no call that is not known to be the cause.
  const known = among.length === 1;
  const about = { id: known ? call.id : undefined, principal, method, server };
  const asked = shownOf(ownMembers(method, params));
  const isLong = asked === undefined;
  const calls = known ? {} : { calls: among.map(({ id }) => id) };
  const detail = redactValue({ asked: isLong ? TOO_LONG.rule : asked, ...calls }) as JsonObject;
  const isPage = what === "elicitation" && params["mode"] === "url";
  const page = isPage && !isLong ? pageOf(asked, mayOpen) : asked;
  const refused = isLong ? TOO_LONG : refusedQuestion({ name: server, mayAsk }, { what, number, page });
  if (refused !== undefined || page === undefined) {
    const { rule, text } = refused ?? NO_PAGE;
    await record({ kind: "server.asked", ...about, decision: { allowed: false, rule }, outcome: "denied", detail });
    throw new RpcError(INVALID_REQUEST, text);
  }
  await record({
    kind: "server.asked",
    ...about,
    decision: { allowed: true, rule: `servers.${server}.may_ask` },
    detail,
  });
  try {
    const answer = await pass(named(server, method, { params: page, said, attributed }));
    const action = answer?.["action"];
    const settled = answer === undefined ? "none" : "ok";
    await record({
      kind: "server.answered",
      ...about,
      outcome: typeof action === "string" ? action : settled,
    });
    return answer && withoutMeta(answer);
  } catch (error) {
    await record({ kind: "server.answered", ...about, outcome: "error" });
    throw error;
  }
}

/** What a person would be shown of it; undefined where that is more than anybody reads, or takes too long to be cleaned. */
function shownOf(given: JsonObject): JsonObject | undefined {
  if (JSON.stringify(given).length > MOST_SHOWN) return undefined;
  try {
    const asked = cleanValue(given, undefined, MOST_AT_ONCE);
    return JSON.stringify(asked).length > MOST_SHOWN ? undefined : asked;
  } catch (error) {
    if (error instanceof TooMuchWorkError) return undefined;
    throw error;
  }
}

/** What a question may consist of: a model is asked without the caller's tools and what it knows of others, and `_meta` is for one hop. */
function ownMembers(method: RelayedQuestion["method"], params: JsonObject): JsonObject {
  const rest = withoutMeta(params);
  if (method !== "sampling/createMessage") return rest;
  const { includeContext: _context, tools: _tools, toolChoice: _choice, ...own } = rest;
  return own;
}

function withoutMeta({ _meta, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** Why a question is not put; undefined where it may be. */
function refusedQuestion(
  { name, mayAsk }: Pick<ServerGrant, "name" | "mayAsk">,
  { what, number, page }: { readonly what: ServerQuestion; readonly number: number; readonly page: unknown },
): { readonly rule: string; readonly text: string } | undefined {
  if (!mayAsk.has(what))
    return { rule: `servers.${name}.may_ask`, text: `Denied. The policy does not let ${name} ask for ${what}.` };
  if (what === "elicitation" && number > MOST_QUESTIONS) return TOO_MANY;
  return page === undefined ? NO_PAGE : undefined;
}

/** What the texts and pages of a question are judged by. */
interface Judges {
  readonly record: RecordWords;
  /** Whether a client may open this page. */
  readonly mayOpen: (url: string) => boolean;
  /** A text behind the name of its server, marked where a line of it could be taken for ours. */
  readonly said: (text: string) => string;
  /** A text that stands elsewhere, marked where a line of it could be taken for ours. */
  readonly attributed: (text: string) => string;
}

/** The question with the name of who asks in the texts that a person reads. */
function named(
  server: string,
  method: RelayedQuestion["method"],
  { params, said, attributed }: { readonly params: JsonObject } & Pick<Judges, "said" | "attributed">,
): JsonObject {
  const by = (text: string): string => `The server ${server} asks:${text}`.trimEnd();
  if (method === "elicitation/create") {
    const message = by(quotedLines(textOf(params["message"]))) + aboutHost(params["url"]);
    const schema = params["requestedSchema"];
    return { ...params, message, ...(schema === undefined ? {} : { requestedSchema: labelled(schema, attributed) }) };
  }
  if (method === "sampling/createMessage")
    return { ...params, systemPrompt: by(` ${said(textOf(params["systemPrompt"]))}`) };
  return params;
}

function textOf(given: unknown): string {
  return typeof given === "string" ? given : "";
}

const LINE_BREAKS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
/** A row of blanks that a person would see as a new line, or as the end. */
const MANY_BLANKS = /[^\S\n\r\v\f\u0085\u2028\u2029]{17,}/gu;

/** Each line is marked as the server's: of a text that it may make longer, the beginning can be out of sight. */
function quotedLines(text: string): string {
  const lines = text.replace(MANY_BLANKS, " ").split(LINE_BREAKS);
  if (lines.length === 1) return ` ${lines[0]}`;
  const isBlank = (line = ""): boolean => line.trim() === "";
  const kept = lines.filter((line, at) => !isBlank(line) || !isBlank(lines[at - 1]));
  return kept.map((line) => `\n> ${line}`).join("");
}

/** A form whose labels pass for nothing of ours; its values are what the server gets back, and stay. What is as it was is no copy. */
function labelled<Value>(given: Value, attributed: Judges["attributed"], label = ""): Value {
  if (typeof given === "string") return (LABELS.has(label) ? attributed(given) : given) as Value;
  if (typeof given !== "object" || given === null || VALUES.has(label) || given instanceof ExactNumber) return given;
  const isList = Array.isArray(given);
  const entries = Object.entries(given).map(
    ([key, value]) => [key, labelled(value, attributed, isList ? "" : key)] as const,
  );
  if (entries.every(([key, value]) => Reflect.get(given, key) === value)) return given;
  return (isList ? entries.map(([, value]) => value) : Object.fromEntries(entries)) as Value;
}

const LABELS: ReadonlySet<string> = new Set(["title", "description"]);
const VALUES: ReadonlySet<string> = new Set(["enum", "default", "required"]);

/** A host with letters of other alphabets may be drawn like another one: it is named as machines write it. One that is not on the internet is said to be none. */
function aboutHost(url: unknown): string {
  const host = typeof url === "string" && URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "") return "";
  const place = inwardPlace(host);
  if (place !== undefined) return `\nCAREFUL: the host of this page is not on the internet. ${host} is ${place}`;
  if (!/(?:^|\.)xn--/i.test(host)) return "";
  return `\nCAREFUL: the host of this page has letters that may look like others. It is ${host}`;
}

/** What a question for a page consists of, and nothing else; undefined where it is none that may be asked. */
function pageOf(asked: unknown, mayOpen: Judges["mayOpen"]): JsonObject | undefined {
  if (typeof asked !== "object" || asked === null) return undefined;
  const { mode = "url", url, message = "", elicitationId } = asked as JsonObject;
  if (mode !== "url" || typeof message !== "string" || typeof url !== "string" || !mayOpen(url)) return undefined;
  if (elicitationId === undefined) return { mode, message, url };
  return typeof elicitationId === "string" ? { mode, message, url, elicitationId } : undefined;
}

interface AskedPages {
  /** As the caller reads it. */
  readonly message: string;
  readonly data: unknown;
  readonly call: RelayedQuestion["call"];
  /** Questions that the call put to a person before. */
  readonly asked: number;
}

/** Pages to open are questions: all of them may be asked, or none of the error is passed on. */
export async function pagesAsked(
  { name, mayAsk }: ServerGrant,
  { message, data, call, asked }: AskedPages,
  { record, mayOpen, said, attributed }: Judges,
): Promise<RpcError> {
  const { elicitations } = (data ?? {}) as { readonly elicitations?: unknown };
  const given = Array.isArray(elicitations) ? (elicitations as readonly unknown[]) : [];
  const shown = shownOf({ elicitations: given });
  const pages = ((shown?.["elicitations"] ?? []) as readonly unknown[]).flatMap((each): JsonObject[] => {
    const page = pageOf(each, mayOpen);
    return page === undefined ? [] : [page];
  });
  const refused = refusedPages({ name, mayAsk }, { call, asked, given: given.length, pages: pages.length });
  const event: AuditEvent = {
    kind: "server.asked",
    id: call.id,
    principal: call.carrier.principal,
    method: "elicitation/create",
    server: name,
    decision: { allowed: refused === undefined, rule: refused?.rule ?? `servers.${name}.may_ask` },
    detail: redactValue({ asked: shown ?? TOO_LONG.rule }) as JsonObject,
  };
  await record(refused === undefined ? event : { ...event, outcome: "denied" });
  if (refused !== undefined) return new RpcError(INTERNAL_ERROR, refused.text, { server: name });
  const questions = pages.map((params) => named(name, "elicitation/create", { params, said, attributed }));
  return new RpcError(McpErrorCode.UrlElicitationRequired, message, { elicitations: questions });
}

/** Why none of these pages is asked for; undefined where all may be. */
function refusedPages(
  { name, mayAsk }: Pick<ServerGrant, "name" | "mayAsk">,
  {
    call,
    asked,
    given,
    pages,
  }: Pick<AskedPages, "call" | "asked"> & { readonly given: number; readonly pages: number },
): { readonly rule: string; readonly text: string } | undefined {
  if (!mayAsk.has("elicitation"))
    return {
      rule: `servers.${name}.may_ask`,
      text: `Denied. The policy does not let ${name} ask for elicitation.`,
    };
  if (given === 0 || pages !== given)
    return { rule: PAGES, text: `Upstream violated the protocol: ${name} asks for pages that may not be opened` };
  if (asked + pages > MOST_QUESTIONS) return TOO_MANY;
  if (call.caller.capabilities.elicitation?.url !== undefined) return undefined;
  const text = `${name} wants a page to be opened first, and this client did not declare that it opens any (elicitation.url)`;
  return { rule: "what the client declared", text };
}

const PAGES = "pages to open";
const NO_PAGE = { rule: PAGES, text: "Denied. The page to open is none that a client may open." };
const MOST_SHOWN = 64 * 1024;
const TOO_LONG = {
  rule: "at most 64 KiB a question",
  text: "Denied. A question may have at most 64 KiB: nobody reads a longer one.",
};
const TOO_MANY = {
  rule: `at most ${MOST_QUESTIONS} questions a call`,
  text: `Denied. A call may put at most ${MOST_QUESTIONS} questions to a person.`,
};
