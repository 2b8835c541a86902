// Joins authorization to an HTTP endpoint: tokens at the door, scopes once a message is read, and word of each refusal.
import type { Authenticator, Refusal } from "../auth/authenticator.js";
import { authRequest, gateRefusal, type RequestHead } from "../auth/request-gate.js";
import type { ScopeRules } from "../auth/scopes.js";
import { isJsonObject } from "../jsonrpc/message.js";
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
  const authenticate = async (head: RequestHead): Promise<HttpAdmission | HttpRefusal> => {
    const outcome = await authenticator.authenticate(authRequest(head));
    if (outcome.ok) return outcome;
    return refused(outcome, { path: head.path, principal: undefined, method: undefined, tool: undefined });
  };
  const permits = (exchange: HttpExchange, value: unknown): HttpRefusal | undefined => {
    for (const message of Array.isArray(value) ? value : [value]) {
      const refusal = scopes && scopeRefusal(scopes, exchange, message);
      if (refusal !== undefined) return refused(refusal.refusal, refusal.request);
    }
    return undefined;
  };
  return { authenticate, permits: scopes && permits };
}

interface ScopeRefusal {
  readonly refusal: Refusal;
  readonly request: RefusedRequest;
}

/** What is no request or notification needs no scope: it gets no further than being refused or matched to a question. */
function scopeRefusal(scopes: ScopeRules, exchange: HttpExchange, message: unknown): ScopeRefusal | undefined {
  const { identity, path } = exchange;
  if (identity === undefined || !isJsonObject(message)) return undefined;
  const { method, params } = message;
  if (typeof method !== "string") return undefined;
  const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
  const tool = typeof name === "string" ? name : undefined;
  const refusal = scopes.check(identity, method, tool);
  return refusal && { refusal, request: { path, principal: identity.principal, method, tool } };
}
