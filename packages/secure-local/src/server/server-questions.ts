// What a server of the policy may ask whoever calls it: nothing else is declared to it, and each question is judged and recorded.
import type { ClientOptions } from "@secure-local/mcp/client";
import type { RelayedQuestion } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { McpErrorCode, RpcError } from "@secure-local/mcp/server";
import type { AuditEvent } from "../audit/audit-event.js";
import { redactValue } from "../audit/redact.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import type { ServerGrant, ServerQuestion } from "../policy/policy.js";

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

export async function passQuestion(
  { name: server, mayAsk }: ServerGrant,
  { call, among, method, number, params }: RelayedQuestion,
  {
    pass,
    record,
  }: { readonly pass: (params: JsonObject) => Promise<JsonObject | undefined>; readonly record: RecordWords },
): Promise<JsonObject | undefined> {
  const what = QUESTIONS[method];
  const { principal } = call.carrier;
  // The record names no call that is not known to be the cause.
  const known = among.length === 1;
  const about = { id: known ? call.id : undefined, principal, method, server };
  const asked = cleanValue(params);
  const calls = known ? {} : { calls: among.map(({ id }) => id) };
  const detail = redactValue({ asked, ...calls }) as JsonObject;
  if (!mayAsk.has(what)) {
    const decision = { allowed: false, rule: `servers.${server}.may_ask` };
    await record({ kind: "server.asked", ...about, decision, outcome: "denied", detail });
    throw new RpcError(INVALID_REQUEST, `Denied. The policy does not let ${server} ask for ${what}.`);
  }
  if (what === "elicitation" && number > MOST_QUESTIONS) {
    const decision = { allowed: false, rule: `at most ${MOST_QUESTIONS} questions a call` };
    await record({ kind: "server.asked", ...about, decision, outcome: "denied", detail });
    throw new RpcError(INVALID_REQUEST, `Denied. A call may put at most ${MOST_QUESTIONS} questions to a person.`);
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

/** Pages to open are questions: all of them may be asked, or none of the error is passed on. */
export async function pagesAsked(
  { name, mayAsk }: ServerGrant,
  { error, call }: { readonly error: RpcError; readonly call: RelayedQuestion["call"] },
  record: RecordWords,
): Promise<RpcError> {
  const { message, data } = error;
  const { elicitations } = (data ?? {}) as { readonly elicitations?: unknown };
  const pages = Array.isArray(elicitations) ? (elicitations as readonly unknown[]) : [];
  const allowed = mayAsk.has("elicitation");
  const fine = allowed && pages.length > 0 && pages.length <= MOST_QUESTIONS && pages.every(isPage);
  const event: AuditEvent = {
    kind: "server.asked",
    id: call.id,
    principal: call.carrier.principal,
    method: "elicitation/create",
    server: name,
    decision: { allowed: fine, rule: allowed && !fine ? "pages to open" : `servers.${name}.may_ask` },
    detail: redactValue({ asked: cleanValue({ elicitations: pages }) }) as JsonObject,
  };
  await record(fine ? event : { ...event, outcome: "denied" });
  if (fine) {
    const asked = pages.map((each) => named(name, "elicitation/create", each as JsonObject));
    return new RpcError(McpErrorCode.UrlElicitationRequired, `${name}: ${message}`, { elicitations: asked });
  }
  const text = allowed
    ? `Upstream violated the protocol: ${name} asks for pages that are none of the web`
    : `Denied. The policy does not let ${name} ask for elicitation.`;
  return new RpcError(INTERNAL_ERROR, text, { server: name });
}

function isPage(each: unknown): boolean {
  return typeof each === "object" && each !== null && isWebAddress((each as { readonly url?: unknown }).url);
}

function isWebAddress(url: unknown): boolean {
  return typeof url === "string" && /^https?:\/\//i.test(url) && URL.canParse(url);
}
