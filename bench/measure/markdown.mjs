// What every report is made of: tables, numbers, the machine, a workload's figures and the verdicts, as Markdown.
import { availableParallelism, cpus, totalmem } from "node:os";

/** The machine and the day, in one line. */
export function machine() {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node ${process.version}, ${process.platform} ${process.arch}, ${availableParallelism()} cores (${model}), ${memory} GB.`;
}

/**
 * A section on one workload: `title`, `note(settings)`, `columns` of `[head, (figures, server id) => text]` and `ratios`,
 * the ids of the servers the others are compared with, whose heads are in `baseNames`; `of` says what is compared, servers unless told.
 */
export function workloadSection(workload, figures, { section, servers, settings, baseNames }) {
  const { title, note, columns, ratios, of = "server" } = section;
  const heads = [of, ...columns.map(([head]) => head), ...ratios.map((base) => baseNames[base])];
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

/** Every verdict; `command` shows them again. */
export function targetSection(verdicts, command) {
  const rows = verdicts.map(({ what, limit, unit, measured, verdict }) => [
    what,
    `${fixed(limit, 2)} ${unit}`,
    measured === undefined ? "-" : `${fixed(measured, 2)} ${unit}`,
    verdict,
  ]);
  return `## Targets\n\nCommand: \`${command}\` (exit code 1 when one is missed).\n\n${table(["target", "at most", "measured", "verdict"], rows)}`;
}

export function table(heads, rows) {
  const rule = heads.map((_, index) => (index === 0 ? "---" : "--:"));
  return [heads, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A reason short enough for a cell and without what would end it. */
export function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ").slice(0, 160);
}

export function fixed(value, digits) {
  return value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

export function seconds(micros) {
  return micros === undefined ? "-" : (micros / 100).toFixed(4);
}

export function millis(micros) {
  return micros === undefined ? "-" : (micros / 1e3).toFixed(2);
}

export function thousands(value) {
  return value === undefined ? "-" : `${Math.round(value / 1e3)}k`;
}
