// Everything this program measures of itself, and its text for Prometheus.
import type { AuditSink } from "../audit/audit-event.js";
import { CallMeter, metered } from "./call-meter.js";
import { BOUNDS } from "./duration-histogram.js";
import { ProcessWatch } from "./process-watch.js";
import { PrometheusText } from "./prometheus-text.js";

/** What the listener tells of itself. */
export interface Load {
  readonly sessions: number;
  readonly streams: number;
  readonly connections: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

const PREFIX = "mcp_secure_local";

export class Metrics {
  readonly #meter = new CallMeter();
  readonly #watch = new ProcessWatch();
  readonly #version: string;
  /** Requests that came without a token or with a wrong one. */
  unauthorized = 0;
  /** Calls that were refused because memory was short. */
  shed = 0;
  /** How plugins are, asked when the text is. Names are the policy's. */
  plugins: () => readonly { readonly name: string; readonly state: string }[] = () => [];

  constructor(version: string) {
    this.#version = version;
  }

  /** The sink to give to the guard: what passes it is counted. */
  listenTo(sink: AuditSink): AuditSink {
    return metered(sink, this.#meter);
  }

  text(load: Load, audit: Pick<AuditSink, "failure">): string {
    const text = new PrometheusText();
    text.metric(`${PREFIX}_info`, "gauge", "The version that runs.").sample(1, { version: this.#version });
    text.metric(
      `${PREFIX}_audit_up`,
      "gauge",
      "1 while the audit log can be written; calls are refused while it cannot.",
    );
    text.sample(audit.failure === undefined ? 1 : 0);
    this.#calls(text);
    text.metric(`${PREFIX}_unauthorized_total`, "counter", "Requests without a valid token.").sample(this.unauthorized);
    text.metric(`${PREFIX}_shed_total`, "counter", "Calls refused for now because memory was short.").sample(this.shed);
    writeLoad(text, load);
    text.metric(`${PREFIX}_plugin_up`, "gauge", "1 while a plugin is ready and gives signs of life.");
    for (const { name, state } of this.plugins()) text.sample(state === "ready" ? 1 : 0, { plugin: name });
    this.#watch.write(text);
    return text.toString();
  }

  close(): void {
    this.#watch.stop();
  }

  #calls(text: PrometheusText): void {
    const counts = [...this.#meter.counts()];
    text.metric(`${PREFIX}_calls_total`, "counter", "Calls by what was called and how it ended.");
    for (const { method, name, outcomes } of counts) {
      for (const [outcome, count] of outcomes) text.sample(count, { method, name, outcome });
    }
    text.metric(`${PREFIX}_call_duration_seconds`, "histogram", "How long the calls that were run took.");
    for (const { method, name, durations } of counts) {
      const cumulative = durations.cumulative();
      if (cumulative.at(-1) === 0) continue;
      text.histogram(BOUNDS, { cumulative, sum: durations.sum }, { method, name });
    }
    text.metric(`${PREFIX}_denials_total`, "counter", "Calls that were refused, by the kind of rule.");
    for (const [rule, count] of this.#meter.denials) text.sample(count, { rule });
  }
}

function writeLoad(text: PrometheusText, load: Load): void {
  text.metric(`${PREFIX}_sessions`, "gauge", "Sessions open.").sample(load.sessions);
  text.metric(`${PREFIX}_streams`, "gauge", "Event streams open.").sample(load.streams);
  text.metric(`${PREFIX}_connections`, "gauge", "Connections open.").sample(load.connections);
  text.metric(`${PREFIX}_received_bytes_total`, "counter", "Bytes received.").sample(load.bytesIn);
  text.metric(`${PREFIX}_sent_bytes_total`, "counter", "Bytes sent.").sample(load.bytesOut);
}
