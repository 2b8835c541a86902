// Writes one run of the client bench as Markdown.
import { machine, seconds, targetSection, thousands, workloadSection } from "../measure/markdown.mjs";
import { cpuSource } from "../measure/process-stats.mjs";

const BASE_NAMES = { raw: "÷ raw", "sdk-v2": "÷ SDK v2" };

function section(workload, title, how) {
  return {
    title,
    of: "client",
    note: (settings) => {
      const { calls, inFlight } = settings[workload];
      const flight = inFlight === 1 ? "one at a time" : `${inFlight} in flight`;
      return `${calls.toLocaleString("en")} calls of echo and add (three tenths of them for the SDKs), ${flight}; ${how}.`;
    },
    columns: [
      ["CPU s per 10k calls", (f, id) => seconds(f.value(workload, id, "cpuMicros"))],
      ["calls/s", (f, id) => thousands(f.value(workload, id, "perSecond"))],
    ],
    ratios: ["raw", "sdk-v2"],
  };
}

const WORKLOADS = {
  stdio: section("stdio", "W8: stdio", "the server is the client's child, written by hand"),
  "stdio-one": section("stdio-one", "W8: stdio, one call at a time", "the same server"),
  http: section(
    "http",
    "W8: HTTP, a session of 2025-11-25",
    "answers in JSON by a server written by hand on node:http",
  ),
  "http-one": section("http-one", "W8: HTTP, one call at a time", "the same server"),
  "http-modern": section("http-modern", "W8: HTTP, 2026-07-28", "answers in JSON by this library's server"),
};

/** The whole report as Markdown. */
export function report(figures, { servers, settings, verdicts }) {
  const parts = ["# Bench: client", machine(), method(settings)];
  for (const [workload, about] of Object.entries(WORKLOADS)) {
    if (!figures.has(workload)) continue;
    parts.push(workloadSection(workload, figures, { section: about, servers, settings, baseNames: BASE_NAMES }));
  }
  if (verdicts.length > 0) parts.push(targetSection(verdicts, "npm run bench -- client"));
  return `${parts.join("\n\n")}\n`;
}

function method({ repetitions }) {
  return (
    `Shown by \`npm run bench -- client\`. Each client is a process of its own, started anew for every run and warmed up by 5,000 calls; ` +
    `each of the ${repetitions} repetitions runs every client once, in rotating order, and looks at every answer. CPU is that of the client's ` +
    `process alone, read from ${cpuSource()}. Figures are medians; ratios are medians of the ratios within a repetition.`
  );
}
