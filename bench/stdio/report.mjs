// Writes one run as Markdown: the machine, the figures of every server, and the verdict on every target.
import { fixed, machine, millis, seconds, targetSection, thousands, workloadSection } from "../measure/markdown.mjs";
import { cpuSource } from "../measure/process-stats.mjs";

const WORKLOADS = {
  w1: {
    title: "W1: many small calls, 64 in flight",
    note: (s) =>
      `${s.w1.calls.toLocaleString("en")} calls of echo and add (mcp-secure-local: calculate), CPU of the server from the operating system.`,
    columns: [
      ["CPU s per 10k calls", (f, id) => seconds(f.value("w1", id, "cpuMicros"))],
      ["calls/s", (f, id) => thousands(f.value("w1", id, "perSecond"))],
    ],
    ratios: ["floor-a", "floor-b", "sdk-v2"],
  },
  w2: {
    title: "W2: one call at a time",
    note: (s) =>
      `${s.w2.calls.toLocaleString("en")} calls, time from the write to the answer as the client sees it; ${s.w2.pinned ? "both on one core, so that no wake-up of an idle core is counted" : "client and server each where the system puts it"}. An append with fdatasync takes ${fixed(s.syncMicros, 0)} µs on this disk; a synced call waits for two.`,
    columns: [
      ["p50 µs", (f, id) => fixed(f.value("w2", id, "p50"), 1)],
      ["p99 µs", (f, id) => fixed(f.value("w2", id, "p99"), 0)],
    ],
    ratios: ["floor-a", "floor-b"],
  },
  w5: {
    title: "W5: start and idle memory",
    note: () =>
      "Milliseconds from spawn, and above an empty .mjs from spawn to exit, measured in the same rounds; memory 300 ms after the first call.",
    columns: [
      ["first answer, ms from spawn", (f, id) => fixed(f.value("w5", id, "ready"), 1)],
      ["÷ floor A", (f, id) => fixed(againstFloor(f, id), 2)],
      ["first answer, ms above empty", (f, id) => fixed(f.value("w5", id, "readyAbove"), 1)],
      ["first tool call answered, ms above empty", (f, id) => fixed(f.value("w5", id, "firstCallAbove"), 1)],
      ["idle MB", (f, id) => fixed(f.value("w5", id, "idleMB"), 1)],
    ],
    ratios: [],
  },
  w6: {
    title: "W6: echo of 1 MB",
    note: (s) => `${s.w6.calls} calls, one at a time.`,
    columns: [["CPU ms a call", (f, id) => millis(f.value("w6", id, "cpuMicros"))]],
    ratios: ["floor-a", "floor-b"],
  },
  w7: {
    title: "W7: tools/list of 1,000 tools",
    note: (s) => `${s.w7.calls} lists; a list is all its pages.`,
    columns: [
      ["CPU ms a list", (f, id) => millis(f.value("w7", id, "cpuMicros"))],
      ["ms a list", (f, id) => millis(f.value("w7", id, "wallMicros"))],
      ["KB", (f, id) => fixed(f.value("w7", id, "bytes") / 1e3, 0)],
      ["pages", (f, id) => fixed(f.value("w7", id, "pages"), 0)],
    ],
    ratios: ["floor-a", "floor-b"],
  },
};
/** How much later than the floor a server is ready, its own process included: what whoever starts it waits for. */
function againstFloor(figures, id) {
  const [ready, floor] = [id, "floor-a"].map((server) => figures.value("w5", server, "ready"));
  return ready === undefined || floor === undefined ? undefined : ready / floor;
}

const BASE_NAMES = { "floor-a": "÷ floor A", "floor-b": "÷ floor B", "sdk-v2": "÷ SDK v2" };

/** The whole report as Markdown. */
export function report(figures, { servers, settings, verdicts }) {
  const parts = ["# Bench: stdio", machine(), ...method(settings)];
  for (const workload of Object.keys(WORKLOADS)) {
    if (!figures.has(workload)) continue;
    const section = WORKLOADS[workload];
    parts.push(workloadSection(workload, figures, { section, servers, settings, baseNames: BASE_NAMES }));
  }
  if (verdicts.length > 0) parts.push(targetSection(verdicts, "npm run bench -- stdio"));
  return `${parts.join("\n\n")}\n`;
}

function method({ repetitions, starts }) {
  return [
    `Shown by \`npm run bench -- stdio\`. Each server is its own process, started anew for every run and warmed up before the clock starts; ` +
      `each of the ${repetitions} repetitions (W5: ${starts}) runs every server once, in rotating order. Figures are medians; ratios are medians of the ` +
      `ratios within a repetition. CPU is read from ${cpuSource()}. No process is given NODE_EXTRA_CA_CERTS.`,
  ];
}
