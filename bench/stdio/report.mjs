// Writes one run as Markdown: the machine, the figures of every server, and the verdict on every target.
import { availableParallelism, cpus, totalmem } from "node:os";
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
      "Milliseconds above an empty .mjs from spawn to exit, measured in the same rounds; memory 300 ms after the first call.",
    columns: [
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
const BASE_NAMES = { "floor-a": "÷ floor A", "floor-b": "÷ floor B", "sdk-v2": "÷ SDK v2" };

/** The whole report as Markdown. */
export function report(figures, { servers, settings, verdicts }) {
  const parts = ["# Bench: stdio", machine(), ...method(settings)];
  for (const workload of Object.keys(WORKLOADS)) {
    if (figures.has(workload)) parts.push(workloadSection(workload, figures, { servers, settings }));
  }
  if (verdicts.length > 0) parts.push(targetSection(verdicts));
  return `${parts.join("\n\n")}\n`;
}

function machine() {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node ${process.version}, ${process.platform} ${process.arch}, ${availableParallelism()} cores (${model}), ${memory} GB.`;
}

function method({ repetitions, starts }) {
  return [
    `Shown by \`npm run bench -- stdio\`. Each server is its own process, started anew for every run and warmed up before the clock starts; ` +
      `each of the ${repetitions} repetitions (W5: ${starts}) runs every server once, in rotating order. Figures are medians; ratios are medians of the ` +
      `ratios within a repetition. CPU is read from ${cpuSource()}.`,
  ];
}

function workloadSection(workload, figures, { servers, settings }) {
  const { title, note, columns, ratios } = WORKLOADS[workload];
  const heads = ["server", ...columns.map(([head]) => head), ...ratios.map((base) => BASE_NAMES[base])];
  const rows = servers
    .filter((server) => server.workloads.includes(workload))
    .map((server) => {
      const failed = figures.failure(workload, server.id);
      if (failed !== undefined) return [server.label, `failed: ${cell(failed)}`, ...heads.slice(2).map(() => "")];
      return [
        server.label,
        ...columns.map(([, read]) => read(figures, server.id)),
        ...ratios.map((base) => fixed(figures.ratio(workload, server.id, base), 2)),
      ];
    });
  return `## ${title}\n\n${note(settings)}\n\n${table(heads, rows)}`;
}

function targetSection(verdicts) {
  const rows = verdicts.map(({ what, limit, unit, measured, verdict }) => [
    what,
    `${fixed(limit, 2)} ${unit}`,
    measured === undefined ? "-" : `${fixed(measured, 2)} ${unit}`,
    verdict,
  ]);
  return `## Targets\n\nCommand: \`npm run bench -- stdio\` (exit code 1 when one is missed).\n\n${table(["target", "at most", "measured", "verdict"], rows)}`;
}

function table(heads, rows) {
  const rule = heads.map((_, index) => (index === 0 ? "---" : "--:"));
  return [heads, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A reason short enough for a cell and without what would end it. */
function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ").slice(0, 160);
}

function fixed(value, digits) {
  return value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

function seconds(micros) {
  return micros === undefined ? "-" : (micros / 100).toFixed(4);
}

function millis(micros) {
  return micros === undefined ? "-" : (micros / 1e3).toFixed(2);
}

function thousands(value) {
  return value === undefined ? "-" : `${Math.round(value / 1e3)}k`;
}
