// Joins authorization to an HTTP endpoint: tokens at the door, scopes once a message is read, and word of each refusal.
import type { Authenticator, AuthOutcome, Refusal } from "../auth/authenticator.js";
import { authRequest, gateRefusal, type RequestHead } from "../auth/resource-metadata.js";
import type { ScopeRules } from "../auth/scopes.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
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

/** The two hooks of an endpoint. `onError` is told of exceptions of `onRefused`. */
export interface AuthorizationHooks {
  readonly authenticate: Authenticate | undefined;
  readonly permits: Permits | undefined;
}

export function authorizationHooks(
  { authenticator, scopes, onRefused }: HttpAuthorization,
  onError: (error: unknown) => void,
): AuthorizationHooks {
  const refused = (refusal: Refusal, request: RefusedRequest): HttpRefusal => {
    try {
      onRefused?.(refusal, request);
    } catch (error) {
      onError(error);
    }
    return gateRefusal(refusal);
  };
  const entrance = (head: RequestHead, outcome: AuthOutcome): HttpAdmission | HttpRefusal =>
    outcome.ok
      ? outcome
      : refused(outcome, { path: head.path, principal: undefined, method: undefined, tool: undefined });
  const authenticate: Authenticate = (head) => {
    const outcome = authenticator.authenticate(authRequest(head));
    return outcome instanceof Promise ? outcome.then((later) => entrance(head, later)) : entrance(head, outcome);
  };
  const judge = (rules: ScopeRules, exchange: HttpExchange, message: unknown): HttpRefusal | undefined => {
    const { identity, path } = exchange;
    // What is no request or notification needs no scope: it is refused or matched to a question, and does nothing else.
    if (identity === undefined || !isJsonObject(message)) return undefined;
    const { method } = message;
    if (typeof method !== "string") return undefined;
    const tool = toolOf(message);
    const refusal = rules.check(identity, method, tool);
    return refusal && refused(refusal, { path, principal: identity.principal, method, tool });
  };
  const permits = (exchange: HttpExchange, value: unknown): HttpRefusal | undefined => {
    if (scopes === undefined || !Array.isArray(value)) return scopes && judge(scopes, exchange, value);
    for (const message of value) {
      const refusal = judge(scopes, exchange, message);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  return { authenticate, permits: scopes && permits };
}

function toolOf({ method, params }: JsonObject): string | undefined {
  const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
