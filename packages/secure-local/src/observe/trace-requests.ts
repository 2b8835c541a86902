// Makes an OpenTelemetry span of every request and measures it, by the semantic conventions for MCP.
import type { Attributes, Context, Histogram, Link, Span, TextMapGetter, Tracer } from "@opentelemetry/api";
import {
  type Answer,
  type Call,
  type EndedSession,
  type Middleware,
  type Next,
  RpcError,
} from "@secure-local/mcp/server";
import { redactString } from "../audit/event-text.js";

/** Reads the W3C fields a client put into `_meta`, unprefixed as the protocol has them. */
const META_GETTER: TextMapGetter<Call> = {
  keys: (call) => Object.keys(metaOf(call)),
  get: (call, key) => textOf(metaOf(call)[key]),
};
/** Reads the same fields from the headers of the request that brought the message. */
const HEADER_GETTER: TextMapGetter<Call> = {
  keys: () => ["traceparent", "tracestate", "baggage"],
  get: (call, key) => call.carrier.header(key),
};

/** Add it as the outermost middleware, so that what others refuse is traced and measured too. */
export function traceRequests(api: OpenTelemetry, version: string, durations: Durations): Middleware {
  const tracer = api.trace.getTracer("mcp-secure-local", version);
  return (call, next) => {
    const { parent, links } = origin(api, call);
    const span = begin(api, tracer, { call, parent, links });
    const context = api.trace.setSpan(parent, span);
    // Whatever the client is asked for this call belongs to the span as well.
    call.addQuestionMeta(injected(api, context));
    const ended = (failure: RequestFailure | undefined, ms: number): void => {
      if (failure !== undefined) fail(api, span, failure);
      span.end();
      durations.operation(call, ms, failure);
    };
    return api.context.with(context, () => follow(call, next, ended));
  };
}

/** The message's own context is the parent and that of its transport a link; without the first the second is the parent. */
function origin(api: OpenTelemetry, call: Call): { readonly parent: Context; readonly links: Link[] } {
  const { trace, propagation, ROOT_CONTEXT } = api;
  const active = api.context.active();
  const ambient = trace.getSpanContext(active) ? active : propagation.extract(active, call, HEADER_GETTER);
  const parent = propagation.extract(ROOT_CONTEXT, call, META_GETTER);
  if (trace.getSpanContext(parent) === undefined) return { parent: ambient, links: [] };
  const context = trace.getSpanContext(ambient);
  return { parent, links: context === undefined ? [] : [{ context }] };
}

function injected(api: OpenTelemetry, context: Context): Record<string, unknown> | undefined {
  const fields: Record<string, unknown> = {};
  api.propagation.inject(context, fields);
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function begin(
  { SpanKind }: OpenTelemetry,
  tracer: Tracer,
  { call, parent, links }: { readonly call: Call; readonly parent: Context; readonly links: Link[] },
): Span {
  const options = { kind: SpanKind.SERVER, attributes: spanAttributes(call), links };
  return tracer.startSpan(spanName(call), options, parent);
}

async function follow(
  call: Call,
  next: Next,
  ended: (failure: RequestFailure | undefined, ms: number) => void,
): Promise<Answer> {
  const started = performance.now();
  try {
    const answer = await next();
    ended(failureIn(answer, call), performance.now() - started);
    return answer;
  } catch (error) {
    ended(failureOf(error), performance.now() - started);
    throw error;
  }
}

function fail({ SpanStatusCode }: OpenTelemetry, span: Span, { type, code, message }: RequestFailure): void {
  if (code !== undefined) span.setAttribute("rpc.response.status_code", code);
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

function metaOf({ params }: Call): Readonly<Record<string, unknown>> {
  return (params["_meta"] as Readonly<Record<string, unknown>> | undefined) ?? {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

// Says of a request and its failure what the semantic conventions for MCP want said in OpenTelemetry, and nothing a
// secret could hide in.

export type OpenTelemetry = typeof import("@opentelemetry/api");

/** Why a request counts as failed. */
interface RequestFailure {
  /** `tool_error`, `cancelled`, a JSON-RPC code, or `_OTHER` for an exception nobody expected. */
  readonly type: string;
  /** The JSON-RPC code its caller was answered with. */
  readonly code?: string;
  /** What its caller was told. */
  readonly message?: string;
}

/** How an answered request failed; undefined for one that did not. */
function failureIn(answer: Answer, call: Call): RequestFailure | undefined {
  if ((answer as { readonly isError?: unknown }).isError === true) return { type: "tool_error" };
  return call.cancellation === undefined ? undefined : { type: "cancelled" };
}

/** Only the words of an `RpcError` are made for others. */
function failureOf(error: unknown): RequestFailure {
  if (!(error instanceof RpcError)) return { type: "_OTHER" };
  const code = String(error.code);
  return { type: code, code, message: redactString(error.message) };
}

/** Characters of a name or URI that are kept: callers choose them. */
const MAX_NAME = 256;

/** The method, and the name of the tool or prompt. */
function spanName(call: Call): string {
  const target = targetOf(call);
  return target === undefined ? call.method : `${call.method} ${target}`;
}

function spanAttributes(call: Call): Record<string, string> {
  const { method, id, params, caller, carrier } = call;
  const attributes: Record<string, string> = {
    "mcp.method.name": method,
    "jsonrpc.request.id": redactString(String(id).slice(0, MAX_NAME)),
    "mcp.protocol.version": caller.codec.revision.date,
    ...transportAttributes(carrier.kind),
    ...targetAttributes(call),
  };
  const session = sessionOf(call);
  if (session !== undefined) attributes["mcp.session.id"] = session;
  if (method.startsWith("resources/") && typeof params["uri"] === "string") {
    attributes["mcp.resource.uri"] = redactString(params["uri"].slice(0, MAX_NAME));
  }
  return attributes;
}

/** What is known of the way by the kind of a carrier. */
function transportAttributes(kind: string): Record<string, string> {
  if (kind === "stdio") return { "network.transport": "pipe" };
  return { "network.transport": "tcp", "network.protocol.name": "http" };
}

/** The tool or prompt by its name. */
function targetAttributes(call: Call): Record<string, string> {
  const isTool = call.method === "tools/call";
  const target = targetOf(call);
  return {
    ...(isTool ? { "gen_ai.operation.name": "execute_tool" } : {}),
    ...(target === undefined ? {} : { [isTool ? "gen_ai.tool.name" : "gen_ai.prompt.name"]: target }),
  };
}

/** A request of a revision without sessions may bring the header too, where it means nothing. */
function sessionOf({ caller, carrier }: Call): string | undefined {
  if (!caller.codec.revision.methods.has("initialize")) return undefined;
  return carrier.header("mcp-session-id")?.slice(0, MAX_NAME);
}

function targetOf({ method, params }: Call): string | undefined {
  if (method !== "tools/call" && method !== "prompts/get") return undefined;
  return typeof params["name"] === "string" ? redactString(params["name"].slice(0, MAX_NAME)) : undefined;
}

// Measures requests and sessions in OpenTelemetry histograms, by the semantic conventions for MCP.

/** Seconds, as the conventions list them for both histograms. */
export const BUCKETS: readonly number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Names of tools and prompts told apart. They are ours, not a caller's, and more than anybody has. */
const MAX_NAMES = 200;

/** How a caller is told that what it named does not exist. */
const INVALID_PARAMS = "-32602";

export class Durations {
  readonly #operations: Histogram;
  readonly #sessions: Histogram;
  readonly #names = new Set<string>();

  constructor({ metrics }: OpenTelemetry, version: string) {
    const meter = metrics.getMeter("mcp-secure-local", version);
    const histogram = (name: string, description: string): Histogram =>
      meter.createHistogram(name, {
        unit: "s",
        description,
        advice: { explicitBucketBoundaries: [...BUCKETS] },
      });
    this.#operations = histogram("mcp.server.operation.duration", "How long requests took.");
    this.#sessions = histogram("mcp.server.session.duration", "How long sessions lasted.");
  }

  operation(call: Call, ms: number, failure: RequestFailure | undefined): void {
    const attributes: Attributes = {
      "mcp.method.name": call.method,
      "mcp.protocol.version": call.caller.codec.revision.date,
      ...transportAttributes(call.carrier.kind),
      ...this.#target(call, failure),
    };
    if (failure !== undefined) attributes["error.type"] = failure.type;
    if (failure?.code !== undefined) attributes["rpc.response.status_code"] = failure.code;
    this.#operations.record(ms / 1_000, attributes);
  }

  session({ revision, transport, durationMs }: EndedSession): void {
    const attributes = { "mcp.protocol.version": revision, ...transportAttributes(transport) };
    this.#sessions.record(durationMs / 1_000, attributes);
  }

  /** Nothing for a name that does not exist, or comes after too many others: an attribute must not grow without end. */
  #target(call: Call, failure: RequestFailure | undefined): Attributes {
    if (failure?.code === INVALID_PARAMS) return {};
    const name = String(call.params["name"]);
    if (!this.#names.has(name) && this.#names.size >= MAX_NAMES) return {};
    const target = targetAttributes(call);
    if (Object.keys(target).length > 0) this.#names.add(name);
    return target;
  }
}
