// What the project promises of its stdio server.
import { atMost } from "../measure/judge.mjs";

/** What a server's p50 adds to that of another: nothing measured is nothing known. */
function above(workload, server, base) {
  return (figures) => {
    const [value, least] = [server, base].map((id) => figures.value(workload, id, "p50"));
    return value === undefined || least === undefined ? undefined : value - least;
  };
}

/**
 * `read(figures)` gives the measured value, undefined when it was not measured. `figures.value(workload, server, field)` is a
 * median, `figures.ratio(workload, server, base)` a median of ratios taken pair by pair.
 */
export const TARGETS = [
  atMost("W1 library, CPU a call, against floor A", 1.3, "x", (f) => f.ratio("w1", "library", "floor-a")),
  atMost("W1 library, CPU a call, against floor B", 2, "x", (f) => f.ratio("w1", "library", "floor-b")),
  atMost("W1 library, CPU a call, against SDK v2", 1 / 6, "x", (f) => f.ratio("w1", "library", "sdk-v2")),
  atMost("W1 whole guard chain, audit not synced, against floor A", 4, "x", (f) => f.ratio("w1", "chain", "floor-a")),
  atMost("W2 library, p50, against floor A", 1.3, "x", (f) => f.ratio("w2", "library", "floor-a")),
  atMost("W2 whole guard chain, audit not synced, p50 above floor A", 300, "µs", above("w2", "chain", "floor-a")),
  atMost("W2 whole guard chain, audit synced, p50", 300, "µs", (f) => f.value("w2", "chain-synced", "p50")),
  atMost("W2 mcp-secure-local, p50", 300, "µs", (f) => f.value("w2", "command-policy", "p50")),
  atMost("W5 library ready, above an empty program", 20, "ms", (f) => f.value("w5", "library", "readyAbove")),
  atMost("W5 mcp-secure-local ready, built-in policy", 20, "ms", (f) => f.value("w5", "command", "readyAbove")),
  atMost("W5 mcp-secure-local ready, policy file", 45, "ms", (f) => f.value("w5", "command-policy", "readyAbove")),
  atMost("W5 library, idle memory", 50, "MB", (f) => f.value("w5", "library", "idleMB")),
  atMost("W5 mcp-secure-local, idle memory", 50, "MB", (f) => f.value("w5", "command", "idleMB")),
  atMost("W6 library, CPU a call, against floor A", 1.2, "x", (f) => f.ratio("w6", "library", "floor-a")),
  atMost("W7 library, CPU a list, against floor A", 0.6, "x", (f) => f.ratio("w7", "library", "floor-a")),
];
