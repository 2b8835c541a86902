// What the project promises of its HTTP server.
import { atMost } from "../measure/judge.mjs";

const against = (what, limit, workload, server, base) =>
  atMost(what, limit, "x", (figures) => figures.ratio(workload, server, base));

export const TARGETS = [
  against("W3 session JSON, library, CPU a call, against the floor", 1.4, "w3-json", "library", "floor"),
  against("W3 session JSON, library, CPU a call, against SDK v2", 0.1, "w3-json", "library", "sdk-v2"),
  against("W3 session SSE, library, CPU a call, against the floor", 1.6, "w3-sse", "library", "floor"),
  against("W3 stateless, library, CPU a call, against the floor", 1.5, "w3-alone", "library", "floor"),
  against("W4 library, CPU a call, against the floor", 1.4, "w4", "library", "floor"),
  against("W4 library, CPU a call, against SDK v2", 0.1, "w4", "library", "sdk-v2"),
  against("W7 library, CPU a list, against the floor", 0.6, "w7", "library", "floor"),
  atMost("W9 library, heap a session", 2, "KB", (figures) => figures.value("w9", "library", "heapKB")),
  atMost("W9 library, memory a session", 7, "KB", (figures) => figures.value("w9", "library", "rssKB")),
  against("W3 session JSON, guard chain and token, not synced, against the floor", 2.5, "w3-json", "chain", "floor"),
  against("W4 guard chain and token, not synced, against the floor", 2.5, "w4", "chain", "floor"),
];
