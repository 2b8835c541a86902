// Writes one run of the HTTP bench as Markdown.
import { fixed, machine, millis, seconds, targetSection, thousands, workloadSection } from "../measure/markdown.mjs";
import { cpuSource } from "../measure/process-stats.mjs";

const BASE_NAMES = { floor: "÷ floor", "sdk-v2": "÷ SDK v2" };

function calls(workload, title, how) {
  return {
    title,
    note: (settings) =>
      `${settings[workload].calls.toLocaleString("en")} calls of echo and add over 32 keep-alive connections (a fifth of them for the SDKs and tmcp); ${how}.`,
    columns: [
      ["CPU s per 10k calls", (f, id) => seconds(f.value(workload, id, "cpuMicros"))],
      ["calls/s", (f, id) => thousands(f.value(workload, id, "perSecond"))],
    ],
    ratios: ["floor", "sdk-v2"],
  };
}

const WORKLOADS = {
  "w3-json": calls("w3-json", "W3: sessions of 2025-11-25, answers in JSON", "each connection has its session"),
  "w3-sse": calls("w3-sse", "W3: sessions of 2025-11-25, answers as streams", "each answer is a stream of one event"),
  "w3-alone": calls(
    "w3-alone",
    "W3: 2025-11-25 without sessions",
    "each message is served by itself, in JSON (SDK v2: as a stream)",
  ),
  w4: calls("w4", "W4: 2026-07-28", "stateless, with its headers, answers in JSON (tmcp: as streams)"),
  w6: {
    title: "W6: echo of 1 MB, session, JSON",
    note: (settings) => `${settings.w6.calls} calls, one at a time.`,
    columns: [["CPU ms a call", (f, id) => millis(f.value("w6", id, "cpuMicros"))]],
    ratios: ["floor"],
  },
  w7: {
    title: "W7: tools/list of 1,000 tools, session, JSON",
    note: (settings) => `${settings.w7.calls} lists; a list is all its pages.`,
    columns: [
      ["CPU ms a list", (f, id) => millis(f.value("w7", id, "cpuMicros"))],
      ["ms a list", (f, id) => millis(f.value("w7", id, "wallMicros"))],
      ["KB", (f, id) => fixed(f.value("w7", id, "bytes") / 1e3, 0)],
      ["pages", (f, id) => fixed(f.value("w7", id, "pages"), 0)],
    ],
    ratios: ["floor"],
  },
  w9: {
    title: "W9: memory of an open session",
    note: (settings) =>
      `Growth over ${settings.w9.sessions.toLocaleString("en")} sessions without an open stream, each used once, after full collections; 500 sessions were opened before the first reading.`,
    columns: [
      ["heap KB", (f, id) => fixed(f.value("w9", id, "heapKB"), 2)],
      ["resident KB", (f, id) => fixed(f.value("w9", id, "rssKB"), 1)],
    ],
    ratios: [],
  },
};

/** The whole report as Markdown. */
export function report(figures, { servers, settings, verdicts }) {
  const parts = ["# Bench: HTTP", machine(), method(settings)];
  for (const [workload, section] of Object.entries(WORKLOADS)) {
    if (!figures.has(workload)) continue;
    parts.push(workloadSection(workload, figures, { section, servers, settings, baseNames: BASE_NAMES }));
  }
  if (verdicts.length > 0) parts.push(targetSection(verdicts, "npm run bench -- http"));
  return `${parts.join("\n\n")}\n`;
}

function method({ repetitions, syncMicros }) {
  return (
    `Shown by \`npm run bench -- http\`. Server and load are processes of their own, started anew for every run and warmed up before the clock starts; ` +
    `each of the ${repetitions} repetitions runs every server once, in rotating order. Figures are medians; ratios are medians of the ratios within a ` +
    `repetition. CPU is that of the server alone, read from ${cpuSource()}: calls a second depend on the load process too. Every answer is checked ` +
    `after the clock has stopped. An append with fdatasync takes ${fixed(syncMicros, 0)} µs on this disk; a synced call waits for two.`
  );
}
