// What a server of the policy says on its way to the caller: who says it stands in it, nothing of it passes for ours, and its questions are recorded.
import type { RelayedQuestion, RelayedWords } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import type { AuditEvent } from "../audit/audit-event.js";
import { redactValue } from "../audit/redact.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import type { ServerGrant, ServerQuestion } from "../policy/policy.js";

/** Rejects where the record cannot be kept: then nothing is asked. */
export type RecordWords = (event: AuditEvent) => Promise<void>;

const INVALID_REQUEST = -32600;

const QUESTIONS: Readonly<Record<RelayedQuestion["method"], ServerQuestion>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** What our own refusals begin with, whatever stands before it: nobody else's text may be taken for one. */
const OURS =
  /(?:^|[\n\r\u2028\u2029])[^\p{L}\p{N}\n\r\u2028\u2029]*(?:denied\b|not run\b|not approved\b|too many\b|unknown (?:tool|prompt)\b|resource not found\b|the (?:result|call|tool|prompt|resource|policy)\b|no consent\b|nobody\b)/iu;
/** Members of `_meta` that are ours. */
const OUR_META = /^mcp-secure-local\//;

export function serverWords(grant: ServerGrant, record: RecordWords): RelayedWords {
  const { name } = grant;
  const attributed = (text: string): string => (looksLikeOurs(text) ? `[the server ${name} says] ${text}` : text);
  return {
    question: (question, pass) => passQuestion(grant, question, { pass, record }),
    answer: (answer) => mapped(answer, attributed),
    error: ({ code, message, data }) => new RpcError(code, `${name}: ${message}`, errorData(grant, code, data)),
    logger: (logger) => (logger === undefined ? name : `${name}: ${logger}`),
    progress: attributed,
  };
}

/** As a reader would see it: wide and styled letters are the plain ones. */
function looksLikeOurs(text: string): boolean {
  return OURS.test(text.normalize("NFKC").replaceAll(/\p{Cf}/gu, ""));
}

async function passQuestion(
  { name: server, mayAsk }: ServerGrant,
  { call, method, params }: RelayedQuestion,
  {
    pass,
    record,
  }: { readonly pass: (params: JsonObject) => Promise<JsonObject | undefined>; readonly record: RecordWords },
): Promise<JsonObject | undefined> {
  const what = QUESTIONS[method];
  const { principal } = call.carrier;
  const about = { id: call.id, principal, method, server };
  const asked = cleanValue(params);
  const detail = redactValue({ asked }) as JsonObject;
  if (!mayAsk.has(what)) {
    const decision = { allowed: false, rule: `servers.${server}.may_ask` };
    await record({ kind: "server.asked", ...about, decision, outcome: "denied", detail });
    throw new RpcError(INVALID_REQUEST, `Denied. The policy does not let ${server} ask for ${what}.`);
  }
  await record({
    kind: "server.asked",
    ...about,
    decision: { allowed: true, rule: `servers.${server}.may_ask` },
    detail,
  });
  try {
    const answer = await pass(named(server, method, asked));
    const action = answer?.["action"];
    const settled = answer === undefined ? "none" : "ok";
    await record({
      kind: "server.answered",
      ...about,
      outcome: typeof action === "string" ? action : settled,
    });
    return answer;
  } catch (error) {
    await record({ kind: "server.answered", ...about, outcome: "error" });
    throw error;
  }
}

/** The question with the name of who asks in the text that a person reads. */
function named(server: string, method: RelayedQuestion["method"], params: JsonObject): JsonObject {
  const by = (text: unknown): string => `The server ${server} asks: ${typeof text === "string" ? text : ""}`.trimEnd();
  if (method === "elicitation/create") return { ...params, message: by(params["message"]) };
  if (method === "sampling/createMessage") return { ...params, systemPrompt: by(params["systemPrompt"]) };
  return params;
}

/** Data of an error say whose they are; a page to log in at is a question, and the only thing that keeps its place. */
function errorData({ name, mayAsk }: ServerGrant, code: number, data: unknown): unknown {
  if (code !== McpErrorCode.UrlElicitationRequired || !mayAsk.has("elicitation"))
    return data === undefined ? undefined : { server: name, data };
  const { elicitations } = (data ?? {}) as { readonly elicitations?: unknown };
  if (!Array.isArray(elicitations)) return { server: name, data };
  return { elicitations: elicitations.map((each) => named(name, "elicitation/create", each as JsonObject)) };
}

/** The texts of an answer that a model reads as such, attributed where they look like ours, and no member of ours in `_meta`. */
function mapped(answer: JsonObject, text: (given: string) => string): JsonObject {
  const blocks = (list: unknown): unknown => (Array.isArray(list) ? list.map(block) : list);
  const block = (given: unknown): unknown => {
    if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
    const { text: words, resource, content } = given as JsonObject;
    return {
      ...given,
      ...(typeof words === "string" ? { text: text(words) } : {}),
      ...(resource === undefined ? {} : { resource: block(resource) }),
      ...(content === undefined ? {} : { content: Array.isArray(content) ? blocks(content) : block(content) }),
    };
  };
  const { content, contents, messages, _meta: meta } = answer;
  const theirs = Object.entries((meta ?? {}) as JsonObject).filter(([key]) => !OUR_META.test(key));
  return {
    ...answer,
    ...(content === undefined ? {} : { content: blocks(content) }),
    ...(contents === undefined ? {} : { contents: blocks(contents) }),
    ...(messages === undefined ? {} : { messages: blocks(messages) }),
    ...(meta === undefined ? {} : { _meta: Object.fromEntries(theirs) }),
  };
}
