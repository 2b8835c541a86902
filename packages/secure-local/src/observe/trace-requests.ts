// Makes an OpenTelemetry span of every request, by the semantic conventions for MCP.
import type { Context, Link, Span, TextMapGetter, Tracer } from "@opentelemetry/api";
import type { Answer, Call, Middleware, Next } from "@secure-local/mcp/server";
import type { Durations } from "./measure-durations.js";
import {
  type OpenTelemetry,
  type RequestFailure,
  failureIn,
  failureOf,
  spanAttributes,
  spanName,
} from "./span-attributes.js";

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
