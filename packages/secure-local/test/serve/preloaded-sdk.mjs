// Loaded with --import before the command, as an OpenTelemetry SDK is: writes the name of each span to stderr.
import { trace } from "@opentelemetry/api";

const span = {
  spanContext: () => ({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 }),
  setAttribute: () => span,
  setStatus: () => span,
  end: () => undefined,
};
const startSpan = (name) => {
  process.stderr.write(`span: ${name}\n`);
  return span;
};
trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) });
