// Joins authorization to an HTTP endpoint: tokens at the door, scopes once a message is read, and word of each refusal.
import type { Authenticator, AuthOutcome, Refusal } from "../auth/authenticator.js";
import { authRequest, gateRefusal, type RequestHead } from "../auth/resource-metadata.js";
import { type ScopeRules, scopeRules } from "../auth/scopes.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Identity } from "../jsonrpc/transport.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { ServerCore } from "../server/core.js";
import { isJsonObject, isThenable, type JsonObject } from "../jsonrpc/message.js";
import type { HttpExchange } from "../transport/http/exchange.js";
import type { Authenticate, HttpAdmission, Permits } from "../transport/http/http-site.js";
import type { HttpRefusal } from "../transport/http/replies.js";

/** A request that was refused, as far as it had been read. Holds nothing of its token. */
export interface RefusedRequest {
  readonly path: string;
  /** Undefined when nobody knows whose the request is. */
  readonly principal: string | undefined;
  /** The MCP method that needs more scopes; undefined when the request was refused at the door. */
  readonly method: string | undefined;
  /** The tool, where it is the call of one. */
  readonly tool: string | undefined;
}

/** Who may call, and what. */
export interface HttpAuthorization {
  /** Decides who sent a request. Handlers find the outcome in `ctx.identity`, middleware in `call.identity`. */
  readonly authenticator: Authenticator;
  /** Scopes by method and tool, checked for every message. A batch is refused as a whole. Default: nothing more is needed. */
  readonly scopes?: ScopeRules;
  /** Told once of every refused request, for an audit record: bound what you keep, since anybody can cause it. */
  readonly onRefused?: (refusal: Refusal, request: RefusedRequest) => void;
}

/** The two hooks of an endpoint. */
export interface AuthorizationHooks {
  readonly authenticate: Authenticate | undefined;
  readonly permits: Permits;
}

interface Gate {
  readonly authorization: HttpAuthorization | undefined;
  readonly authenticate: Authenticate | undefined;
  readonly core: ServerCore;
}

/** Nobody of whom scopes are known. */
const STRANGER: Identity = { principal: "", scopes: [] };

/** The hooks of an endpoint. Throws BAD_SCOPES for rules of what is not there, and scopes that nobody could have. */
export function authorizationHooks({ authorization, authenticate, core }: Gate): AuthorizationHooks {
  const { scopes: rules = scopeRules({}), onRefused, authenticator } = authorization ?? {};
  checkNames(rules, core);
  if (authorization === undefined && authenticate === undefined) checkReachable(core);
  const refused = (refusal: Refusal, request: RefusedRequest): HttpRefusal => {
    try {
      onRefused?.(refusal, request);
    } catch (error) {
      core.report("error", "onRefused failed", { error });
    }
    return gateRefusal(refusal);
  };
  const judge = (exchange: HttpExchange, message: unknown): HttpRefusal | undefined => {
    // What is no request or notification needs no scope: it is refused or matched to a question, and does nothing else.
    if (!isJsonObject(message)) return undefined;
    const { method, params } = message;
    if (typeof method !== "string") return undefined;
    const { identity, path } = exchange;
    const more = isJsonObject(params) ? core.scopesFor(method, params) : undefined;
    if (more === undefined && identity === undefined) return undefined;
    const tool = toolOf(message);
    const refusal = rules.check(identity ?? STRANGER, method, tool, more);
    return refusal && refused(refusal, { path, principal: exchange.principal, method, tool });
  };
  const permits = (exchange: HttpExchange, value: unknown): HttpRefusal | undefined => {
    if (!Array.isArray(value)) return judge(exchange, value);
    for (const message of value) {
      const refusal = judge(exchange, message);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  if (authenticator === undefined) return { authenticate, permits };
  const entrance = (head: RequestHead, outcome: AuthOutcome): HttpAdmission | HttpRefusal =>
    outcome.ok
      ? outcome
      : refused(outcome, { path: head.path, principal: undefined, method: undefined, tool: undefined });
  const admit: Authenticate = (head) => {
    const outcome = authenticator.authenticate(authRequest(head));
    return isThenable(outcome)
      ? Promise.resolve(outcome).then((later) => entrance(head, later))
      : entrance(head, outcome);
  };
  return { authenticate: admit, permits };
}

/** A name nobody registered is misspelt, and the tool it was meant for would stand open. */
function checkNames({ named }: ScopeRules, { tools, custom }: ServerCore): void {
  if (named === undefined) return;
  const isMethod = (name: string): boolean =>
    custom.has(name) || name.startsWith("notifications/") || REVISIONS.some(({ methods }) => methods.has(name));
  const unknown =
    named.tools.find((name) => tools.get(name) === undefined) ?? named.methods.find((name) => !isMethod(name));
  if (unknown === undefined) return;
  const what = `The scope rules name ${JSON.stringify(unknown)}, which this server does not have`;
  throw new LocalError("BAD_SCOPES", `${what}: mend the name, or say { later: true } if it is registered later`);
}

function checkReachable({ tools, prompts, resources, templates }: ServerCore): void {
  for (const registry of [tools, prompts, resources, templates]) {
    for (const key of registry.keys()) {
      if (registry.get(key)?.scopes === undefined) continue;
      const what = `${JSON.stringify(key)} needs scopes, but nobody says who is asking over HTTP`;
      throw new LocalError(
        "BAD_SCOPES",
        `${what}: give "authorization", or an "authenticate" that returns an identity`,
      );
    }
  }
}

function toolOf({ method, params }: JsonObject): string | undefined {
  const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
