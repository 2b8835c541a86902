// What the project promises of its client.
import { atMost } from "../measure/judge.mjs";

/** `figures.ratio(workload, client, base)` is a median of ratios taken pair by pair. */
export const TARGETS = [
  atMost("stdio, CPU a call, against the raw client", 1.6, "x", (f) => f.ratio("stdio", "ours", "raw")),
  atMost("stdio, one call at a time, against the raw client", 1.6, "x", (f) => f.ratio("stdio-one", "ours", "raw")),
  atMost("HTTP, CPU a call, against the raw client", 2, "x", (f) => f.ratio("http", "ours", "raw")),
  atMost("HTTP, one call at a time, against the raw client", 2, "x", (f) => f.ratio("http-one", "ours", "raw")),
  atMost("HTTP of 2026-07-28, against the raw client", 2, "x", (f) => f.ratio("http-modern", "ours", "raw")),
  atMost("HTTP, CPU a call, against SDK v2", 1 / 5, "x", (f) => f.ratio("http", "ours", "sdk-v2")),
];
