// Everything this program measures of itself, and its text for Prometheus.
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";

// Writes the Prometheus text exposition format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

const NO_LABELS: Labels = Object.freeze({});

/** Metrics one after the other, each with its samples at once. */
export class PrometheusText {
  #text = "";
  #name = "";

  /** Begins a metric; the samples that follow are its own. `help` is one line without backslashes. */
  metric(name: string, type: "counter" | "gauge" | "histogram", help: string): this {
    this.#name = name;
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    return this;
  }

  sample(value: number, labels: Labels = NO_LABELS): this {
    return this.#line(this.#name, value, labels);
  }

  /** The samples of one histogram. `cumulative` has one count more than there are bounds. */
  histogram(
    bounds: readonly number[],
    counted: { readonly cumulative: readonly number[]; readonly sum: number },
    labels: Labels,
  ): this {
    const { cumulative, sum } = counted;
    for (const [index, count] of cumulative.entries()) {
      const le = index < bounds.length ? String(bounds[index]) : "+Inf";
      this.#line(`${this.#name}_bucket`, count, { ...labels, le });
    }
    this.#line(`${this.#name}_sum`, sum, labels);
    return this.#line(`${this.#name}_count`, cumulative.at(-1) ?? 0, labels);
  }

  toString(): string {
    return this.#text;
  }

  #line(name: string, value: number, labels: Labels): this {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
    this.#text += `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
    return this;
  }
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

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

  /** Whether what processes share can be reached, and how many of them only through it; undefined where nothing is shared. */
  shared: { isUp(): boolean; byRedis(): number } | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  /** The sink to give to the guard: what passes it is counted. */
  listenTo(sink: AuditSink): AuditSink {
    return metered(sink, this.#meter);
  }

  text(load: Load, audit: Pick<AuditSink, "failure" | "checkpoints">): string {
    const text = new PrometheusText();
    text.metric(`${PREFIX}_info`, "gauge", "The version that runs.").sample(1, { version: this.#version });
    text.metric(
      `${PREFIX}_audit_up`,
      "gauge",
      "1 while the audit log can be written; calls are refused while it cannot.",
    );
    text.sample(audit.failure === undefined ? 1 : 0);
    if (audit.checkpoints !== undefined)
      text
        .metric(`${PREFIX}_checkpoints_up`, "gauge", "1 while signed checkpoints of the audit log can be written.")
        .sample(audit.checkpoints.fault === undefined ? 1 : 0);
    if (this.shared !== undefined) {
      text.metric(`${PREFIX}_redis_up`, "gauge", "1 while Redis can be reached.").sample(this.shared.isUp() ? 1 : 0);
      text
        .metric(
          `${PREFIX}_peers_by_redis`,
          "gauge",
          "Processes that cannot be connected to and are reached through Redis.",
        )
        .sample(this.shared.byRedis());
    }
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
    for (const { method, name, server, outcomes } of counts) {
      const labels = { method, name, ...ofServer(server) };
      for (const [outcome, count] of outcomes) text.sample(count, { ...labels, outcome });
    }
    text.metric(`${PREFIX}_call_duration_seconds`, "histogram", "How long the calls that were run took.");
    for (const { method, name, server, durations } of counts) {
      const cumulative = durations.cumulative();
      if (cumulative.at(-1) === 0) continue;
      text.histogram(BOUNDS, { cumulative, sum: durations.sum }, { method, name, ...ofServer(server) });
    }
    text.metric(`${PREFIX}_denials_total`, "counter", "Calls that were refused, by the kind of rule.");
    for (const [rule, count] of this.#meter.denials) text.sample(count, { rule });
  }
}

/** As the semantic conventions call it, in the letters a label may have. */
function ofServer(server: string | undefined): Readonly<Record<string, string>> {
  return server === undefined ? {} : { mcp_server: server };
}

function writeLoad(text: PrometheusText, load: Load): void {
  text.metric(`${PREFIX}_sessions`, "gauge", "Sessions open.").sample(load.sessions);
  text.metric(`${PREFIX}_streams`, "gauge", "Event streams open.").sample(load.streams);
  text.metric(`${PREFIX}_connections`, "gauge", "Connections open.").sample(load.connections);
  text.metric(`${PREFIX}_received_bytes_total`, "counter", "Bytes received.").sample(load.bytesIn);
  text.metric(`${PREFIX}_sent_bytes_total`, "counter", "Bytes sent.").sample(load.bytesOut);
}

// Counts calls, their durations and denials as the audit trail tells of them: each guarded request passes there, whatever its end.

/** Tools and prompts counted by name. The names are ours, not a caller's, and more than anybody has. */
const MAX_NAMES = 200;
/** Rules counted by kind; the policy has a dozen sections. */
const MAX_RULES = 64;
/** Stands for the names beyond those. */
const OTHER = "other";

/** What was counted of one method and name. */
interface CallCount {
  readonly method: string;
  /** Empty where names are not counted: resources, and what does not exist. */
  readonly name: string;
  /** The server of the policy that has it. */
  readonly server: string | undefined;
  readonly outcomes: ReadonlyMap<string, number>;
  /** Of the calls that were run. */
  readonly durations: DurationHistogram;
}

interface Count extends CallCount {
  readonly outcomes: Map<string, number>;
}

/**
 * Adding costs a few map look-ups and no allocation. What a policy leaves out of its records (`audit.include`) is not
 * told apart here either.
 */
export class CallMeter {
  readonly #counts = new Map<string, Map<string, Count>>();
  readonly #denials = new Map<string, number>();
  #names = 0;

  /** Counts what an event says of a call; other events are nothing to count. */
  add(event: AuditEvent): void {
    if (event.kind === "call.result") {
      const count = this.#count(event);
      increase(count.outcomes, event.outcome ?? "");
      if (event.duration_ms !== undefined) count.durations.add(event.duration_ms / 1_000);
    } else if (event.kind === "denied") {
      increase(this.#count(event).outcomes, event.outcome ?? "");
      this.#denied(event);
    }
  }

  *counts(): Iterable<CallCount> {
    for (const byName of this.#counts.values()) yield* byName.values();
  }

  /** Denials by the kind of rule: `tools.denied`, `default deny`, `rate limit`, … */
  get denials(): ReadonlyMap<string, number> {
    return this.#denials;
  }

  #count(event: AuditEvent): Count {
    const method = event.method ?? "";
    let byName = this.#counts.get(method);
    if (byName === undefined) this.#counts.set(method, (byName = new Map()));
    const name = nameOf(event);
    return byName.get(name) ?? this.#newCount(byName, event, name);
  }

  #newCount(byName: Map<string, Count>, { method = "", server: owner }: AuditEvent, wanted: string): Count {
    const name = wanted === "" || this.#names < MAX_NAMES ? wanted : OTHER;
    const known = byName.get(name);
    if (known !== undefined) return known;
    this.#names += 1;
    const server = name === wanted && wanted !== "" ? owner : undefined;
    const count: Count = { method, name, server, outcomes: new Map(), durations: new DurationHistogram() };
    byName.set(name, count);
    return count;
  }

  #denied({ decision, outcome }: AuditEvent): void {
    const text = decision?.rule ?? "";
    const colon = text.indexOf(":");
    const kind = outcome === "unknown" ? outcome : colon < 0 ? text : text.slice(0, colon);
    increase(this.#denials, this.#denials.has(kind) || this.#denials.size < MAX_RULES ? kind : OTHER);
  }
}

/** The sink, with everything it is given counted by the meter as well. */
export function metered(sink: AuditSink, meter: CallMeter): AuditSink {
  return {
    record(event) {
      meter.add(event);
      return sink.record(event);
    },
    close: () => sink.close(),
    get failure() {
      return sink.failure;
    },
  };
}

/** Names a caller made up, and URIs, would be labels without end. */
function nameOf({ method, tool, outcome }: AuditEvent): string {
  const named = method === "tools/call" || method === "prompts/get";
  return named && tool !== undefined && outcome !== undefined && outcome !== "unknown" ? tool : "";
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

// Counts durations in buckets whose bounds never change, so that adding one is a few comparisons.

/** Seconds. From 10 ms on those of the OpenTelemetry conventions for MCP; below, what local tools take. */
export const BOUNDS: readonly number[] = [
  0.000_1, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

export class DurationHistogram {
  readonly #buckets = new Float64Array(BOUNDS.length + 1);
  #sum = 0;

  add(seconds: number): void {
    let index = 0;
    while (index < BOUNDS.length && seconds > BOUNDS[index]!) index += 1;
    this.#buckets[index]! += 1;
    this.#sum += seconds;
  }

  /** Seconds of all durations together. */
  get sum(): number {
    return this.#sum;
  }

  /** How many durations were at most each bound, and at last how many there were. */
  cumulative(): number[] {
    let total = 0;
    return Array.from(this.#buckets, (count) => (total += count));
  }
}

// Watches this process: delay of its event loop, memory, processor time.

/** How often the loop is asked for a sign of life once somebody reads the metrics. Until then a process that idles is not woken. */
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

class ProcessWatch {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  /** Adds the metrics of the process, under the names that dashboards for Node know. The first time begins to watch the loop. */
  write(text: PrometheusText): void {
    this.#delay.enable();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    text.metric(
      "nodejs_eventloop_lag_mean_seconds",
      "gauge",
      "Mean delay of the event loop since the metrics were first read.",
    );
    text.sample(seconds(this.#delay.mean));
    text.metric("nodejs_eventloop_lag_p99_seconds", "gauge", "99th percentile of the delay of the event loop.");
    text.sample(seconds(this.#delay.percentile(99)));
    text.metric("nodejs_eventloop_lag_max_seconds", "gauge", "Longest delay of the event loop.");
    text.sample(seconds(this.#delay.max));
    text.metric("process_resident_memory_bytes", "gauge", "Memory of the process.").sample(rss);
    text.metric("nodejs_heap_size_total_bytes", "gauge", "Size of the heap.").sample(heapTotal);
    text.metric("nodejs_heap_size_used_bytes", "gauge", "Part of the heap in use.").sample(heapUsed);
    text.metric("nodejs_external_memory_bytes", "gauge", "Memory outside the heap that it holds.").sample(external);
    text.metric("process_cpu_seconds_total", "counter", "Processor time used.").sample((user + system) / 1e6);
    text.metric("process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.");
    text.sample(performance.timeOrigin / 1_000);
  }

  stop(): void {
    this.#delay.disable();
  }
}

/** The histogram holds the whole interval between two signs of life, and nothing while there was none. */
function seconds(interval: number): number {
  const delay = interval / NANOSECONDS - RESOLUTION_MS / 1_000;
  return delay > 0 && delay < Number.MAX_SAFE_INTEGER ? Number(delay.toFixed(6)) : 0;
}
