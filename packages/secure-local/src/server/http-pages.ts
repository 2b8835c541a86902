// The pages beside the HTTP endpoint: health for supervisors, metrics for Prometheus.
import type { HttpPage, HttpPageReply } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { Load, Metrics } from "../observe/metrics.js";
import { PROMETHEUS_TYPE } from "../observe/prometheus-text.js";

export interface HttpPagesOptions {
  readonly audit: Pick<AuditSink, "failure">;
  readonly metrics: Metrics;
  readonly load: () => Load;
}

/** `/healthz` tells everybody, and no more than that; `/metrics` only whoever may call. */
export function httpPages({ audit, metrics, load }: HttpPagesOptions): Readonly<Record<string, HttpPage>> {
  const measured = { "content-type": PROMETHEUS_TYPE, "cache-control": "no-store" };
  return {
    "/healthz": { open: true, respond: () => (audit.failure === undefined ? HEALTHY : DEGRADED) },
    "/metrics": { respond: () => ({ status: 200, headers: measured, body: metrics.text(load(), audit) }) },
  };
}

const HEALTHY = health(200, { status: "ok" });
/** Calls are refused while they cannot be recorded; what is wrong with the log is told by the calls. */
const DEGRADED = health(503, { status: "degraded", reason: "the audit log cannot be written" });

function health(status: number, body: object): HttpPageReply {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}
