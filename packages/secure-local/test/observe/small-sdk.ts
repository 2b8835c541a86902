// The least an OpenTelemetry SDK can be: spans kept in a list, W3C trace context, and a context that follows async calls.
import type { AsyncLocalStorage } from "node:async_hooks";
import type * as Api from "@opentelemetry/api";

/** What became of a span. */
export interface MadeSpan {
  readonly name: string;
  readonly kind: Api.SpanKind | undefined;
  readonly parent: Api.SpanContext | undefined;
  readonly links: readonly Api.Link[];
  readonly attributes: Api.Attributes;
  status: Api.SpanStatus | undefined;
  ended: boolean;
}

/** A duration that was recorded. */
export interface Measured {
  readonly name: string;
  readonly unit: string | undefined;
  readonly bounds: readonly number[] | undefined;
  readonly value: number;
  readonly attributes: Api.Attributes;
}

/** Registers metrics alone. The list grows as durations are recorded. */
export function smallMetrics(api: typeof Api): Measured[] {
  const measured: Measured[] = [];
  const createHistogram = (name: string, options: Api.MetricOptions = {}) => ({
    record: (value: number, attributes: Api.Attributes) =>
      measured.push({ name, unit: options.unit, bounds: options.advice?.explicitBucketBoundaries, value, attributes }),
  });
  api.metrics.setGlobalMeterProvider({ getMeter: () => ({ createHistogram }) as unknown as Api.Meter });
  return measured;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Registers the SDK. The list grows as spans are begun. */
export function smallSdk(api: typeof Api, storage: AsyncLocalStorage<Api.Context>): MadeSpan[] {
  const spans: MadeSpan[] = [];
  api.context.setGlobalContextManager(contextManager(api, storage));
  api.propagation.setGlobalPropagator(propagator(api));
  api.trace.setGlobalTracerProvider({ getTracer: () => tracer(api, spans) });
  return spans;
}

function tracer(api: typeof Api, spans: MadeSpan[]): Api.Tracer {
  const startSpan: Api.Tracer["startSpan"] = (name, options = {}, context = api.context.active()) => {
    const parent = api.trace.getSpanContext(context);
    const made: MadeSpan = {
      name,
      kind: options.kind,
      parent,
      links: options.links ?? [],
      attributes: { ...options.attributes },
      status: undefined,
      ended: false,
    };
    spans.push(made);
    return span(made, { traceId: parent?.traceId ?? "3".repeat(32), spanId: String(spans.length).padStart(16, "0") });
  };
  return { startSpan, startActiveSpan: () => undefined as never };
}

function span(made: MadeSpan, ids: { traceId: string; spanId: string }): Api.Span {
  const self: Partial<Api.Span> = {
    spanContext: () => ({ ...ids, traceFlags: 1 }),
    setAttribute: (key, value) => ((made.attributes[key] = value), self as Api.Span),
    setStatus: (status) => ((made.status = status), self as Api.Span),
    end: () => void (made.ended = true),
  };
  return self as Api.Span;
}

function propagator(api: typeof Api): Api.TextMapPropagator {
  return {
    inject(context, carrier, setter) {
      const { traceId = "", spanId = "" } = api.trace.getSpanContext(context) ?? {};
      setter.set(carrier, "traceparent", `00-${traceId}-${spanId}-01`);
    },
    fields: () => ["traceparent"],
    extract(context, carrier, getter) {
      const match = TRACEPARENT.exec(String(getter.get(carrier, "traceparent")));
      if (match === null) return context;
      const [, traceId = "", spanId = "", flags = ""] = match;
      return api.trace.setSpanContext(context, {
        traceId,
        spanId,
        traceFlags: Number.parseInt(flags, 16),
        isRemote: true,
      });
    },
  };
}

function contextManager(api: typeof Api, storage: AsyncLocalStorage<Api.Context>): Api.ContextManager {
  const manager: Api.ContextManager = {
    active: () => storage.getStore() ?? api.ROOT_CONTEXT,
    with: (context, run, self, ...args) => storage.run(context, () => run.apply(self as never, args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}
