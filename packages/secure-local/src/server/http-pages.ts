// The pages beside the HTTP endpoint: health for supervisors, metrics for Prometheus.
import type { HttpPage, HttpPageReply } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { Load, Metrics } from "../observe/metrics.js";
import { PROMETHEUS_TYPE } from "../observe/prometheus-text.js";

export interface HttpPagesOptions {
  readonly audit: Pick<AuditSink, "failure">;
  readonly metrics: Metrics;
  readonly load: () => Load;
  readonly gate: { readonly short: boolean };
}

/** `/healthz` tells everybody, and no more than that; `/metrics` only whoever may call. */
export function httpPages({ audit, metrics, load, gate }: HttpPagesOptions): Readonly<Record<string, HttpPage>> {
  const measured = { "content-type": PROMETHEUS_TYPE, "cache-control": "no-store" };
  return {
    "/healthz": {
      open: true,
      respond: () => (audit.failure !== undefined ? NO_LOG : gate.short ? NO_MEMORY : HEALTHY),
    },
    "/metrics": { respond: () => ({ status: 200, headers: measured, body: metrics.text(load(), audit) }) },
  };
}

const HEALTHY = health(200, { status: "ok" });
/** Calls are refused while they cannot be recorded; what is wrong with the log is told by the calls. */
const NO_LOG = health(503, { status: "degraded", reason: "the audit log cannot be written" });
const NO_MEMORY = health(503, { status: "degraded", reason: "memory is short" });

function health(status: number, body: object): HttpPageReply {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}
