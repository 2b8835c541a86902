// Watches this process: delay of its event loop, memory, processor time.
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { PrometheusText } from "./prometheus-text.js";

/** How often the loop is asked for a sign of life: fifty wake-ups a second cost nothing one can measure. */
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

export class ProcessWatch {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#delay.enable();
  }

  /** Adds the metrics of the process, under the names that dashboards for Node know. */
  write(text: PrometheusText): void {
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    text.metric("nodejs_eventloop_lag_mean_seconds", "gauge", "Mean delay of the event loop since the start.");
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
