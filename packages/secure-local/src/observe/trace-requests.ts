// Makes an OpenTelemetry span of every request, by the semantic conventions for MCP.
import type { Context, Link, Span, TextMapGetter, Tracer } from "@opentelemetry/api";
import { type Answer, type Call, type Middleware, type Next, RpcError } from "@secure-local/mcp/server";
import { redactString } from "../audit/redact.js";
import { spanAttributes, spanName } from "./span-attributes.js";

export type OpenTelemetry = typeof import("@opentelemetry/api");

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

/** Add it as the outermost middleware, so that what others refuse is traced too. */
export function traceRequests(api: OpenTelemetry, version: string): Middleware {
  const tracer = api.trace.getTracer("mcp-secure-local", version);
  return (call, next) => {
    const { parent, links } = origin(api, call);
    const span = begin(api, tracer, { call, parent, links });
    const context = api.trace.setSpan(parent, span);
    // Whatever the client is asked for this call belongs to the span as well.
    call.questionMeta = injected(api, context);
    return api.context.with(context, () => follow(api, span, { call, next }));
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
  api: OpenTelemetry,
  span: Span,
  { call, next }: { readonly call: Call; readonly next: Next },
): Promise<Answer> {
  try {
    const answer = await next();
    if ((answer as { readonly isError?: unknown }).isError === true) fail(api, span, "tool_error");
    else if (call.cancellation !== undefined) fail(api, span, "cancelled");
    return answer;
  } catch (error) {
    // Only the words of an `RpcError` are made for others.
    if (error instanceof RpcError) {
      span.setAttribute("rpc.response.status_code", String(error.code));
      fail(api, span, String(error.code), redactString(error.message));
    } else {
      fail(api, span, "_OTHER");
    }
    throw error;
  } finally {
    span.end();
  }
}

function fail({ SpanStatusCode }: OpenTelemetry, span: Span, type: string, message?: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

function metaOf({ params }: Call): Readonly<Record<string, unknown>> {
  return (params["_meta"] as Readonly<Record<string, unknown>> | undefined) ?? {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
